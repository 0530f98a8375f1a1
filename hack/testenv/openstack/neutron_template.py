"""Write an empty Neutron database, to be copied for every server: neutron_template.py FILE

Neutron's migrations do not run on sqlite; its models can create the schema directly.
"""

import sys

import sqlalchemy

from neutron.db.migration.models import head


def main():
    engine = sqlalchemy.create_engine("sqlite:///" + sys.argv[1])
    head.get_metadata().create_all(engine)


if __name__ == "__main__":
    main()
