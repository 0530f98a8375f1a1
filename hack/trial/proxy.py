"""The network between one candidate and the API server."""

import asyncio

from servers import HOST


class Proxy:
    """Forwards TCP connections, unless it delays, holds or cuts them.

    A held connection stays open, and what was sent meanwhile arrives afterwards: TCP sends it again. This is how an old
    request arrives late.
    """

    def __init__(self, target):
        self.target = target
        self.delay = 0.0
        self.flows = asyncio.Event()
        self.flows.set()
        self.is_cut = False
        self.writers = set()

    async def start(self):
        self.server = await asyncio.start_server(self.connect, HOST, 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def stop(self):
        self.server.close()
        self.reset()

    def hold(self):
        self.flows.clear()

    def slow_down(self, delay):
        self.delay = delay

    def cut(self):
        self.is_cut = True
        self.reset()

    def heal(self):
        self.delay = 0.0
        self.is_cut = False
        self.flows.set()

    def reset(self):
        for writer in self.writers:
            writer.transport.abort()

    async def connect(self, reader, writer):
        self.writers.add(writer)
        upstream = None
        try:
            await self.flows.wait()
            if self.is_cut:
                return
            from_server, upstream = await asyncio.open_connection(HOST, self.target)
            self.writers.add(upstream)
            await asyncio.gather(self.forward(reader, upstream), self.forward(from_server, writer))
        except OSError:
            pass
        finally:
            for end in filter(None, (writer, upstream)):
                self.writers.discard(end)
                end.transport.abort()

    async def forward(self, reader, writer):
        while data := await reader.read(1 << 16):
            await asyncio.sleep(self.delay)
            await self.flows.wait()
            writer.write(data)
            await writer.drain()
        writer.close()
