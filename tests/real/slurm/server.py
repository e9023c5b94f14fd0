"""A server of Danlu with two engines: this machine, and a real Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.gateway.client import PASSWORD, Client, make_key
from tests.gateway.web import WebServer
from tests.real.slurm.harness import lend_programs
from tests.support.accounts import Account
from tests.support.slurm import PARTITION, Slurm

QUEUE = PARTITION


class SlurmServer(WebServer):
    def __init__(self, slurm: Slurm, base: Path, **more: Any) -> None:
        self.slurm = slurm
        shared = base / "shared"
        homes = base / "homes"
        for folder in (shared, homes):
            folder.mkdir()
        shared.chmod(0o1777)
        homes.chmod(0o755)
        lend_programs(slurm, shared)
        people = "".join(
            f"[users.{each.name}]\nuid = {each.uid}\ngid = {each.gid}\n"
            f"groups = {list(each.groups)}\n"
            for each in slurm.people.values()
        )
        config = (
            f"{people}[engine]\n"
            f'[engines.cluster]\nkind = "slurm"\nshared = "{shared}"\nconf = "{slurm.conf}"\n'
            f'bin = "{slurm.folder}/bin"\ncycle = 0.2\nlost_after = 0.5\ndeadline = 5\n'
            f'[queues.default]\n[queues.{QUEUE}]\nengine = "cluster"\n'
            f'[volumes.user]\npath = "{homes}"\n'
        )
        super().__init__(base / "data", config=config, **more)

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
