"""Put the URLs of a running environment into Keystone's catalogue.

    keystone_endpoints.py DATABASE SERVICE_TYPE=URL...
"""

import sqlite3
import sys


def main():
    with sqlite3.connect(sys.argv[1]) as database:
        for pair in sys.argv[2:]:
            service_type, url = pair.split("=", 1)
            changed = database.execute(
                "UPDATE endpoint SET url = ? WHERE service_id IN (SELECT id FROM service WHERE type = ?)",
                (url, service_type),
            )
            if changed.rowcount < 1:
                raise SystemExit(f"the catalogue has no service of type {service_type}")


if __name__ == "__main__":
    main()
