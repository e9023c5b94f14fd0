"""A server of Danlu with two engines: this machine, and a real Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.gateway.client import PASSWORD, Client, SshServer, make_key
from tests.gateway.web import free_ports
from tests.real.slurm.harness import lend_programs
from tests.support.accounts import Account
from tests.support.slurm import PARTITION, Slurm

QUEUE = PARTITION


class SlurmServer(SshServer):
    def __init__(self, slurm: Slurm, base: Path, **more: Any) -> None:
        self.slurm = slurm
        shared = base / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        lend_programs(slurm, shared)
        people = "".join(
            f"[users.{each.name}]\nuid = {each.uid}\ngid = {each.gid}\n"
            f"groups = {list(each.groups)}\n"
            for each in slurm.people.values()
        )
        self.first = free_ports(16)
        config = (
            f'web = "127.0.0.1:{self.first}-{self.first + 15}"\n'
            f'{people}[uids]\nrange = "40000-49999"\n[engine]\n'
            '[[nodes]]\nname = "here"\nengine = "local"\ncpus = 24\nmemory = "200G"\n'
            f'[engines.cluster]\nkind = "slurm"\nshared = "{shared}"\nconf = "{slurm.conf}"\n'
            f'bin = "{slurm.folder}/bin"\ncycle = 0.2\nlost_after = 0.5\ndeadline = 5\n'
            f'[queues.default]\n[queues.{QUEUE}]\nengine = "cluster"\n'
        )
        super().__init__(base / "data", config, **more)

    def start(self, timeout: float = 180.0) -> SlurmServer:
        super().start(timeout)
        return self

    def member(self, account: Account) -> Client:
        """A user of Danlu who is this account on the machines, with an SSH key."""
        self.folder.mkdir(exist_ok=True)
        code = self.post("/invites", {})["code"]
        self.post("/sign-up", {"name": account.name, "password": PASSWORD, "code": code})
        token = self.post("/login", {"user": account.name, "password": PASSWORD})["token"]
        client = Client(self, account.name, token, self.folder / account.name)
        make_key(client.key)
        client.call("POST", "/ssh-keys", {"key": client.key.with_suffix(".pub").read_text()})
        return client
