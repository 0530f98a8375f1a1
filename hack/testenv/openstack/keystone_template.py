"""Write a bootstrapped Keystone, to be copied for every server: keystone_template.py FOLDER

FOLDER receives `keystone.sqlite` and the keys. The database has an administrator, Neutron's own user, a project
with an ordinary member, and a service catalogue whose URLs `keystone_endpoints.py` replaces by those of a running
environment. The passwords protect nothing: the servers listen on the loopback interface of a test machine.
"""

import base64
import os
import sys
import uuid

ADMIN_PASSWORD = "admin-secret"
NEUTRON_PASSWORD = "neutron-secret"
MEMBER_PASSWORD = "genclient-secret"
REGION = "RegionOne"


def write_keys(folder):
    """Write a primary and a staged Fernet key; keystone-manage would need to know the user who owns them."""
    os.mkdir(folder, 0o700)
    for name in ("0", "1"):
        with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as key:
            key.write(base64.urlsafe_b64encode(os.urandom(32)))


def keystone_manage(*arguments):
    """Run keystone-manage in a process of its own, because oslo.config keeps its state in globals."""
    child = os.fork()
    if child == 0:
        from keystone.cmd import manage

        sys.argv = ["keystone-manage", *arguments]
        manage.main()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"keystone-manage {' '.join(arguments)} failed with status {status}")


def add_users_and_catalogue(drivers):
    """Add the users that are no administrators, and Neutron's entry in the catalogue."""
    roles = {role["name"]: role["id"] for role in drivers["role_api"].list_roles()}

    def project(name):
        ref = {"id": uuid.uuid4().hex, "name": name, "domain_id": "default", "parent_id": "default",
               "description": "", "enabled": True, "is_domain": False}
        return drivers["resource_api"].create_project(ref["id"], ref)["id"]

    def user(name, password, project_id, *role_names):
        ref = {"name": name, "password": password, "domain_id": "default", "enabled": True,
               "default_project_id": project_id}
        user_id = drivers["identity_api"].create_user(ref)["id"]
        for role in role_names:
            drivers["assignment_api"].add_role_to_user_and_project(user_id, project_id, roles[role])

    user("neutron", NEUTRON_PASSWORD, project("service"), "admin", "service")
    user("genclient", MEMBER_PASSWORD, project("genclient"), "member")

    catalogue = drivers["catalog_api"]
    service = uuid.uuid4().hex
    catalogue.create_service(service, {"id": service, "type": "network", "name": "neutron", "enabled": True})
    for interface in ("public", "internal", "admin"):
        endpoint = uuid.uuid4().hex
        catalogue.create_endpoint(endpoint, {
            "id": endpoint, "service_id": service, "region_id": REGION, "interface": interface,
            "url": "http://network.invalid", "enabled": True,
        })


def main():
    folder = os.path.abspath(sys.argv[1])
    del sys.argv[1:]
    conf = os.path.join(folder, "keystone.conf")
    with open(conf, "w", encoding="utf-8") as out:
        out.write(f"[database]\nconnection = sqlite:///{folder}/keystone.sqlite\n"
                  f"[fernet_tokens]\nkey_repository = {folder}/fernet-keys\n"
                  f"[fernet_receipts]\nkey_repository = {folder}/fernet-keys\n"
                  # The fewest rounds that bcrypt knows: a token then takes milliseconds.
                  "[identity]\npassword_hash_rounds = 4\n"
                  f"[credential]\nkey_repository = {folder}/credential-keys\n")
    write_keys(os.path.join(folder, "fernet-keys"))
    write_keys(os.path.join(folder, "credential-keys"))

    keystone_manage("--config-file", conf, "db_sync")
    identity_urls = [word for interface in ("admin", "internal", "public")
                     for word in (f"--bootstrap-{interface}-url", "http://identity.invalid")]
    keystone_manage("--config-file", conf, "bootstrap", "--bootstrap-password", ADMIN_PASSWORD,
                    "--bootstrap-region-id", REGION, *identity_urls)

    from keystone import server

    server.configure(config_files=[conf])
    drivers, _ = server.setup_backends()
    add_users_and_catalogue(drivers)
    os.remove(conf)


if __name__ == "__main__":
    main()
