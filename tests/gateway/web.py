"""Browsers, as far as their connections go: cookies, origins, raw bytes."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gateway.client import PATIENCE, Client, SshServer, eventually
from tests.support.folders import open_python
from tests.support.server import free_port

APP = Path(__file__).with_name("app.py")
TRIES = 5
NODES = '[[nodes]]\nname = "n1"\ncpus = 24\nmemory = "200G"\n'


class WebServer(SshServer):
    """With web doors on a few ports."""

    def __init__(self, data: Path, web: str = "", config: str = "", **more: Any) -> None:
        """`web`: further lines of [server]; `config`: further tables."""
        self.first = free_ports(16)
        lines = f'web = "127.0.0.1:{self.first}-{self.first + 15}"\n{web}'
        super().__init__(data, f"{lines}{NODES}{config}", **more)
        self.app = data.parent / "app.py"
        shutil.copy(APP, self.app)
        self.app.chmod(0o644)

    def start(self, timeout: float = 180.0) -> WebServer:
        super().start(timeout)
        return self

    def program(self, person: Client, name: str = "site") -> tuple[str, int]:
        """A job of theirs with the program in it, and the port where it listens."""
        port = free_port()
        ref = person.run([open_python(), str(self.app), str(port)], name=name)
        eventually(lambda: "ready" in self.bytes_of(f"/jobs/{person.name}~{ref}/logs").decode())
        return ref, port


def free_ports(count: int) -> int:
    """The first of so many that follow each other."""
    while True:
        first = free_port() + 5000
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


@dataclass
class Answer:
    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key.lower() == name]

    def field(self, name: str) -> str:
        return ", ".join(self.all(name))

    @property
    def told(self) -> Any:
        return json.loads(self.body)

    def told_field(self, name: str) -> list[str]:
        """Of the request, as it reached the program."""
        return [value for key, value in self.told["fields"] if key.lower() == name]


@dataclass
class Door:
    """As one browser sees it."""

    port: int
    path: str  # with the ticket
    host: str = "127.0.0.1"
    tls: bool = False
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.authority}"

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def connect(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        if not self.tls:
            return link
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(link, server_hostname=self.host)

    def ask(self, path: str = "/", fields: Mapping[str, str] | None = None, **how: Any) -> Answer:
        """One request on a connection of its own."""
        with self.kept() as ask:
            return ask(path, fields, **how)

    def started(self, path: str = "/", fields: Mapping[str, str] | None = None) -> Answer:
        """Asks again while a tool starts, as the page does by itself that says so."""
        for _ in range(TRIES):
            with contextlib.suppress(TimeoutError):
                answer = self.ask(path, fields)
                if answer.status != 503:
                    return answer
        raise AssertionError("it does not start")

    @contextlib.contextmanager
    def kept(self) -> Iterator[Any]:
        """Many on the same."""
        link = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        link.sock = self.connect()

        def ask(
            path: str = "/",
            fields: Mapping[str, str] | None = None,
            method: str = "GET",
            body: Any = None,
        ) -> Answer:
            sent = {"Host": self.authority, **({"Cookie": self.cookie} if self.cookies else {})}
            sent |= fields or {}
            link.request(method, path, body, {k: v for k, v in sent.items() if v})
            answer = link.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())

        with contextlib.closing(link):
            yield ask

    def status(self) -> int:
        """0: the connection was ended."""
        try:
            return self.ask("/").status
        except (OSError, http.client.HTTPException):
            return 0

    def enter(self) -> Answer:
        answer = self.ask(self.path)
        for each in answer.all("set-cookie"):
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def raw(self, data: bytes) -> bytes:
        """What comes back for these bytes, until the other side ends the connection."""
        with self.connect() as link:
            link.sendall(data)
            return rest_of(link)


def rest_of(link: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionError):
        while piece := link.recv(1 << 16):
            got += piece
    return got


def opened(client: Client, ref: str, order: Mapping[str, Any], **how: Any) -> Door:
    found = client.call("POST", f"/jobs/{ref.replace('/', '~')}/doors", dict(order))
    return Door(found["port"], found["path"], **how)


def entered(client: Client, ref: str, order: Mapping[str, Any], **how: Any) -> Door:
    door = opened(client, ref, order, **how)
    answer = door.enter()
    assert answer.status == 303, answer
    return door
