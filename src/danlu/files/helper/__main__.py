"""`python -m danlu.files.helper FD NAME UID GID GROUPS UMASK`: started by the server."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable

from danlu.files.helper import (
    archives,
    bins,
    changes,
    contents,
    listing,
    measuring,
    previews,
    restoring,
    rights,
    uploads,
    wire,
)
from danlu.files.helper.beneath import Root, locate
from danlu.files.helper.entries import entry_at, room
from danlu.files.helper.faults import Cancelled, Fault, fault_of
from danlu.files.helper.names import split
from danlu.files.helper.request import Request

MOST_ROOTS = 200
MOST_AT_ONCE = 64


def _stat(request: Request) -> None:
    request.answer(entry=entry_at(request.place()))


def _room(request: Request) -> None:
    root = request.roots[0]
    writable = not root.read_only and os.access(".", os.W_OK, dir_fd=root.fd, effective_ids=True)
    request.answer(**room(root), bin=writable)


OPERATIONS: dict[str, Callable[[Request], None]] = {
    "room": _room,
    "list": listing.list_folder,
    "stat": _stat,
    "preview": previews.preview,
    "content": contents.content,
    "archive": archives.archive,
    "mkdir": changes.make_folder,
    "move": changes.move,
    "copy": changes.copy,
    "delete": changes.delete,
    "bin": bins.list_bin,
    "restore": restoring.restore,
    "empty": restoring.empty,
    "upload-create": uploads.create,
    "upload-look": uploads.look,
    "upload-append": uploads.append,
    "upload-forget": uploads.forget,
    "unpack": uploads.unpack_bundle,
    "usage": measuring.usage,
    "search": measuring.search,
}


def serve(control: socket.socket) -> None:
    """A message is one request: its socket, the roots it is about, and a pipe if it needs one."""
    busy = threading.BoundedSemaphore(MOST_AT_ONCE)
    while True:
        data, fds, _, _ = socket.recv_fds(control, 16, MOST_ROOTS + 2)
        if not data:
            os._exit(0)  # the server has gone; threads that hang must not keep us
        if not fds:
            continue
        busy.acquire()
        threading.Thread(target=_handle, args=(fds, busy), daemon=True).start()


def _handle(fds: list[int], busy: threading.BoundedSemaphore) -> None:
    sock = socket.socket(fileno=fds.pop(0))
    try:
        with sock:
            _answer(sock, fds)
    finally:
        for fd in fds:
            os.close(fd)
        busy.release()


def _inner(root: int, prefix: str, path: str) -> int:
    """A folder beneath a root in its place: found as the user, through no link that leads out."""
    fd = locate(root, split(prefix))
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise Fault("not_a_folder", path)
    os.close(root)
    return fd


def _answer(sock: socket.socket, fds: list[int]) -> None:
    request = None
    try:
        values = wire.receive(sock)
        told = values["roots"]
        piped = 1 if values.get("pipe") else 0
        if len(told) + piped != len(fds):
            raise wire.Ended
        for index, each in enumerate(told):
            if each["prefix"]:
                fds[index] = _inner(fds[index], each["prefix"], each["path"])
        request = Request(
            sock,
            values,
            [
                Root(fd, each["path"], each["volume"], each["read_only"])
                for fd, each in zip(fds, told, strict=False)
            ],
            fds[-1] if piped else None,
        )
        OPERATIONS[values["op"]](request)
    except (wire.Ended, Cancelled):
        return
    except Exception as error:
        fault = fault_of(error)
        if fault.code == "failed" and not isinstance(error, OSError | Fault):
            fault.detail = f"{type(error).__name__}: {error}"[:300]
        if not fault.path and request is not None:
            with contextlib.suppress(Exception):
                fault.path = request.place().shown
        with contextlib.suppress(wire.Ended):
            wire.send(sock, fault.values())


def main() -> None:
    number, name, uid, gid, groups, umask = sys.argv[1:]
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # Ctrl-C is for the server
    _load()
    threading.stack_size(512 << 10)
    os.chdir("/")
    rights.become(
        name,
        int(uid) if uid else None,
        int(gid) if gid else None,
        [int(each) for each in groups.split(",") if each],
        int(umask, 8),
    )
    control = socket.socket(fileno=int(number))
    control.send(b"ready")
    serve(control)


def _load() -> None:
    """What would be imported at its first use: afterwards it may not be readable."""
    for encoding in ("gb18030", "utf-16", "utf-8-sig", "latin-1", "idna", "cp437"):
        b"".decode(encoding)
    import zlib  # noqa: F401

    with contextlib.suppress(KeyError):
        import pwd

        pwd.getpwuid(0)


if __name__ == "__main__":
    main()
