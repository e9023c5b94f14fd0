"""The bytes of a file: first what it is, then whichever part the server asks for."""

from __future__ import annotations

import errno
import os

from danlu.files.helper import wire
from danlu.files.helper.beneath import open_file
from danlu.files.helper.faults import Fault
from danlu.files.helper.names import to_text
from danlu.files.helper.previews import image_type
from danlu.files.helper.request import Request

PIECE = 1 << 20


def content(request: Request) -> None:
    where = request.place()
    fd = open_file(where)
    try:
        found = os.fstat(fd)
        request.answer(
            size=found.st_size,
            modified_at=found.st_mtime,
            etag=f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}",
            image=image_type(os.pread(fd, 16, 0)),
            name=to_text(where.name),
        )
        part = wire.receive(request.sock)
        send_part(request.outlet(part), fd, int(part["start"]), int(part["stop"]))
    finally:
        os.close(fd)


def send_part(out: int, fd: int, start: int, stop: int) -> None:
    """Raises Fault if the file has become shorter: what was promised cannot be sent any more."""
    while start < stop:
        try:
            sent = os.sendfile(out, fd, start, min(PIECE, stop - start))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS):
                raise wire.Ended from error
            sent = _copy(out, fd, start, stop)
        if not sent:
            raise Fault("changed")
        start += sent


def _copy(out: int, fd: int, start: int, stop: int) -> int:
    """For file systems that know no sendfile."""
    data = os.pread(fd, min(PIECE, stop - start), start)
    write_all(out, data)
    return len(data)


def write_all(out: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(out, view) :]
    except OSError as error:
        raise wire.Ended from error
