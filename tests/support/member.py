"""Somebody with an account and no rights, at the command line."""

from __future__ import annotations

import itertools
import subprocess

from danlu.sdk.client import Client
from tests.support.server import DanluServer

NUMBERS = itertools.count()
PASSWORD = "a password of many words"


class Person:
    def __init__(self, server: DanluServer) -> None:
        self._server = server
        self.name = f"somebody{next(NUMBERS)}"
        made = server.post("/users", {"name": self.name})
        first = server.post("/login", {"user": self.name, "password": made["password"]})
        with Client(server.url, first["token"]) as client:
            client.change_password(made["password"], PASSWORD)
        signed_in = server.post("/login", {"user": self.name, "password": PASSWORD})
        self._token = signed_in["token"]

    def cli(self, *words: str, **more: bytes) -> subprocess.CompletedProcess[bytes]:
        return self._server.cli(*words, env={"DANLU_TOKEN": self._token}, **more)
