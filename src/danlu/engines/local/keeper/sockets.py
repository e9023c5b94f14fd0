"""Sockets made inside a task, as its user, and handed out to whoever asked.

A path or a port means the task's own: its file system, its network, its user's permissions. Only
the finished descriptor leaves the task, so no link or mount in there can lead anybody astray.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct

from danlu.engines.local.keeper import cgroup, command, frames, own_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONNECT_PATIENCE = 10.0  # seconds
_LONGEST_PATH = 107
_BACKLOG = 128
_LOOPBACK = (b"127.0.0.1", b"::1")


def serve(
    kind: bytes, conn: socket.socket, ask: dict[str, Any], task: dict[str, Any],
    group: cgroup.Group | None,
) -> None:  # fmt: skip
    """In a child of the keeper. A listening socket exists until the one who asked hangs up."""
    made = ""
    try:
        command.Starter(task, group).become()
        if kind == frames.CONNECT:
            opened = _connected(ask, task)
        else:
            opened, made = _listening(ask, task)
        address = opened.getsockname() if kind == frames.LISTEN else ""
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        conn.sendall(frames.pack(frames.EXIT, json.dumps({"error": words}).encode()))
        return
    answer = frames.pack(frames.OPENED, json.dumps({"address": address}).encode())
    right = struct.pack("i", opened.fileno())
    conn.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, right)])
    opened.close()
    if kind == frames.LISTEN:  # its end is the task's end, for the one who asked
        _wait_for_end(conn)
    if made:
        with contextlib.suppress(OSError):
            os.unlink(made)
            if ask.get("path") is None:
                os.rmdir(os.path.dirname(made))


def _connected(ask: dict[str, Any], task: dict[str, Any]) -> socket.socket:
    if ask.get("path") is not None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(_path(ask, task))
        return link
    hosts = _LOOPBACK if ask["host"] == "localhost" else (str(ask["host"]).encode(),)
    trouble: OSError = ConnectionRefusedError(111, os.strerror(111))
    for host in hosts:
        # The name as bytes: as text it would be looked up through a module that is not loaded.
        for family, kind, number, _, address in socket.getaddrinfo(
            host, int(ask["port"]), type=socket.SOCK_STREAM
        ):
            try:
                link = socket.socket(family, kind, number)
                link.settimeout(_CONNECT_PATIENCE)
                link.connect(address)
            except OSError as error:
                trouble = error
                continue
            link.settimeout(None)
            return link
    raise trouble


def _listening(ask: dict[str, Any], task: dict[str, Any]) -> tuple[socket.socket, str]:
    """And the path to remove at the end."""
    if ask.get("port") is not None:
        host = "127.0.0.1" if ask["host"] == "localhost" else str(ask["host"])
        link = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        link.bind((host, int(ask["port"])))
        link.listen(_BACKLOG)
        return link, ""
    if ask.get("path") is not None:
        path = _path(ask, task)
    else:
        folder = f"/tmp/danlu-{os.urandom(8).hex()}"  # noqa: S108 - created here, for us only
        os.mkdir(folder, 0o700)
        path = f"{folder}/socket"
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)
    link.bind(path)
    link.listen(_BACKLOG)
    return link, path


def _path(ask: dict[str, Any], task: dict[str, Any]) -> str:
    path = own_folder.seen_from(str(ask["path"]), task)
    if not path.startswith("/"):
        raise ValueError(f"{path}: the path of a socket must begin with /")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise ValueError(f"the path of a socket has at most {_LONGEST_PATH} bytes")
    return path


def _wait_for_end(conn: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while conn.recv(4096):
            pass
