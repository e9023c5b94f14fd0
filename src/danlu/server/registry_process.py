"""`python -m danlu.server.registry_process`: the image registry, started by the server.

Its orders come as JSON through standard input, since they hold a key. What needs root is done
first: the database and the socket for the server are in a folder that only root may enter, and the
key of the certificate may be root's. Then it becomes its own user, in the folder with the blobs.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import time
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any

import uvicorn.lifespan.off
import uvicorn.loops.uvloop  # noqa: F401
import uvloop

from danlu.registry.database import Database
from danlu.registry.process import Process
from danlu.registry.settings import (
    CONTENT,
    DATABASE,
    LOCK,
    SOCKET,
    RegistrySettings,
    read_settings,
)
from danlu.registry.store import Store

_LINES = 30  # of the log, a minute


@dataclass(frozen=True, slots=True)
class Orders:
    run: Path  # lock and socket
    folder: Path  # database and blobs
    listeners: list[int]
    version: str
    key: bytes
    user: int | None  # None: stay who we are
    cert: str
    cert_key: str
    settings: RegistrySettings


def read_orders(values: dict[str, Any]) -> Orders:
    return Orders(
        Path(values["run"]),
        Path(values["folder"]),
        values["listeners"],
        values["version"],
        bytes.fromhex(values["key"]),
        values["user"],
        values["cert"],
        values["cert_key"],
        read_settings(values["settings"]),
    )


class _NotTooMany(logging.Filter):
    """Whoever pushes must not be able to fill the disk with our log."""

    def __init__(self) -> None:
        super().__init__()
        self._minute, self._count = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(time.monotonic() // 60)
        self._count = self._count + 1 if minute == self._minute else 1
        self._minute = minute
        return self._count <= _LINES


def main() -> None:
    orders = read_orders(loads(sys.stdin.buffer.read()))
    handler = logging.StreamHandler()
    handler.addFilter(_NotTooMany())
    form = "%(asctime)s %(name)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    os.umask(0o077)
    _lock(orders.run / LOCK)
    tls = None
    if orders.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(orders.cert, orders.cert_key)
    database = Database(orders.folder / DATABASE)
    control = _listen_for_server(orders.run)
    listeners = [socket.socket(fileno=number) for number in orders.listeners]
    os.chdir(orders.folder / CONTENT)
    "x".encode("idna")  # loads what names of other registries need
    if orders.user is not None:
        _become(orders.user)
    store = Store(orders.settings, database, Path())
    process = Process(store, orders.key, orders.version)
    uvloop.run(process.run(listeners, control, tls))


def _lock(path: Path) -> None:
    """Held to the end; one that is leaving may have it for some seconds."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.truncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())


def _listen_for_server(run: Path) -> socket.socket:
    """The path of a socket has at most 108 bytes."""
    os.chdir(run)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(SOCKET)
    os.chmod(SOCKET, 0o600)
    control.listen(8)
    control.setblocking(False)
    return control


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


if __name__ == "__main__":
    main()
