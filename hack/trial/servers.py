"""Processes that end with the trial, and a control plane of etcd and kube-apiserver on the loopback interface."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
TOKEN = "trial"
READY_WITHIN = 90
# The kernel then kills the process when this one has ended, however it ended.
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


class Process:
    """A program that can be killed, paused and started again."""

    def __init__(self, command, log, environment=None):
        self.command = [*WITH_PARENT, *map(str, command)]
        self.log = Path(log)
        self.environment = environment or {}
        self.process = None

    async def start(self):
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | self.environment, start_new_session=True)

    def runs(self):
        return self.process is not None and self.process.returncode is None

    def signal(self, number):
        if self.runs():
            self.process.send_signal(number)

    async def kill(self):
        self.signal(signal.SIGKILL)
        if self.process:
            await self.process.wait()


class ControlPlane:
    """One etcd and one kube-apiserver. Their data and ports survive a restart."""

    def __init__(self, assets, folder):
        etcd, peer, self.port = free_ports(3)
        pki, tokens = folder / "pki", folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        # The API server writes a self-signed certificate and its key when it first starts.
        self.certificate, key = pki / "apiserver.crt", pki / "apiserver.key"
        self.url = f"https://{HOST}:{self.port}"
        self.etcd = Process([
            assets / "etcd", "--name=trial", f"--data-dir={folder / 'etcd'}", "--log-level=warn",
            f"--listen-client-urls=http://{HOST}:{etcd}", f"--advertise-client-urls=http://{HOST}:{etcd}",
            f"--listen-peer-urls=http://{HOST}:{peer}", f"--initial-advertise-peer-urls=http://{HOST}:{peer}",
            f"--initial-cluster=trial=http://{HOST}:{peer}",
            # A killed etcd loses nothing without it, and a slow disk is not what the trial is about.
            "--unsafe-no-fsync=true",
        ], folder / "etcd.log")
        self.apiserver = Process([
            assets / "kube-apiserver", f"--bind-address={HOST}", f"--advertise-address={HOST}",
            f"--secure-port={self.port}", f"--cert-dir={pki}", f"--etcd-servers=http://{HOST}:{etcd}",
            f"--token-auth-file={tokens}", "--authorization-mode=AlwaysAllow",
            f"--service-account-issuer={self.url}", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24",
            # An endpoint must not be a loopback address.
            "--endpoint-reconciler-type=none",
        ], folder / "kube-apiserver.log")

    async def start(self):
        await self.etcd.start()
        await self.apiserver.start()
        await asyncio.wait_for(self.ready(), READY_WITHIN)

    async def stop(self):
        await self.apiserver.kill()
        await self.etcd.kill()

    async def ready(self):
        while not await asyncio.to_thread(self.answers, "/api/v1/namespaces/default"):
            if not (self.apiserver.runs() and self.etcd.runs()):
                raise RuntimeError(f"a server has ended; see the logs in {self.apiserver.log.parent}")
            await asyncio.sleep(0.2)

    def answers(self, path):
        try:
            context = ssl.create_default_context(cafile=self.certificate)
            request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
            return urllib.request.urlopen(request, timeout=2, context=context).status == 200
        except (OSError, urllib.error.URLError):
            return False

    def kubeconfig(self, file, port):
        """Writes the kubeconfig of a client that reaches the API server through another port."""
        cluster = {"server": f"https://{HOST}:{port}", "certificate-authority": str(self.certificate)}
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "trial",
            "clusters": [{"name": "trial", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "trial", "context": {"cluster": "trial", "user": "admin"}}],
        }))
        return file


def free_ports(count):
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports
