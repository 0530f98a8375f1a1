"""Serve one OpenStack WSGI application on a loopback port.

    serve.py MODULE:ATTRIBUTE PORT READY_FILE

The port is bound before the application is loaded, so that a port that is taken is known at once. READY_FILE is
written when requests can be answered: a test that waits for it cannot mistake another server on the port for this one.
"""

import importlib
import os
import sys

from cheroot import wsgi


def main():
    target, port, ready_file = sys.argv[1:4]
    # oslo.config reads the arguments of whatever program imports it.
    del sys.argv[1:]

    # One thread: with sqlite underneath, two writers at once would answer 500.
    server = wsgi.Server(("127.0.0.1", int(port)), None, numthreads=1, request_queue_size=128)
    server.prepare()

    module, attribute = target.split(":")
    try:
        server.wsgi_app = getattr(importlib.import_module(module), attribute)
    except BaseException:
        # The server's threads would keep the process alive.
        server.stop()
        raise

    with open(ready_file + ".new", "w", encoding="ascii") as ready:
        ready.write(str(os.getpid()))
    os.rename(ready_file + ".new", ready_file)
    server.serve()


if __name__ == "__main__":
    main()
