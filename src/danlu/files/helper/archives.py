"""Folders as one file.

A tar is laid out before it is sent: every byte of it follows from names, sizes and times, so that
any part can be sent again. A zip is written as it goes, for small folders.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import os
import stat
import tarfile
import time
import zipfile
from typing import Any

from danlu.files.helper import wire
from danlu.files.helper.beneath import FOLDER, Place, locate, located, open_regular
from danlu.files.helper.contents import send_part, write_all
from danlu.files.helper.entries import ours
from danlu.files.helper.faults import Fault
from danlu.files.helper.request import Request
from danlu.files.helper.trees import Step, walk

MOST_FILES = 500_000
MOST_ZIPPED, MOST_ZIPPED_BYTES = 20_000, 2 << 30
BLOCK = 512
SKIPPED = b"not-included.txt"


def archive(request: Request) -> None:
    if request.text("format") == "zip":
        _zip(request)
        return
    layout = Layout(request)
    request.answer(size=layout.size, etag=layout.etag, modified_at=time.time(), files=len(layout))
    part = wire.receive(request.sock)
    layout.send(request.outlet(part), int(part["start"]), int(part["stop"]))


class _Member:
    __slots__ = ("at", "found", "name", "tail", "top")

    def __init__(self, top: int, name: bytes, found: os.stat_result, at: int, tail: bytes) -> None:
        self.top = top  # index of the path it was asked by
        self.name = name  # below that path's folder
        self.found = (found.st_mode, found.st_size, found.st_mtime_ns)
        self.at = at
        self.tail = tail  # a link's target, or a text

    def header(self) -> bytes:
        mode, size, modified = self.found
        info = tarfile.TarInfo(self.name.decode("utf-8", "surrogateescape"))
        info.mode, info.mtime = stat.S_IMODE(mode) & 0o777, modified // 1_000_000_000
        if stat.S_ISDIR(mode):
            info.type = tarfile.DIRTYPE
        elif stat.S_ISLNK(mode):
            info.type = tarfile.SYMTYPE
            info.linkname = self.tail.decode("utf-8", "surrogateescape")
        else:
            info.size = size
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")

    @property
    def size(self) -> int:
        return self.found[1] if stat.S_ISREG(self.found[0]) else 0


class Layout:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._tops = request.places()
        self._members: list[_Member] = []
        self._end = 0
        self._digest = hashlib.sha256()
        for index, top in enumerate(self._tops):
            self._add_top(index, top)
        self._members.sort(key=lambda member: (member.top, member.name))
        if request.problems:
            self._add_skipped()
        for member in self._members:
            self._place(member)
        self._starts = [member.at for member in self._members]
        self.size = self._end + 2 * BLOCK
        self.etag = self._digest.hexdigest()[:32]

    def __len__(self) -> int:
        return len(self._members)

    def _add_top(self, index: int, top: Place) -> None:
        with located(top, last=not top.parts) as (fd, found):
            name = top.name if top.parts else top.root.path.rpartition("/")[2].encode()
            link = stat.S_ISLNK(found.st_mode)
            self._add(index, name, found, os.readlink(b"", dir_fd=fd) if link else b"")
            if not stat.S_ISDIR(found.st_mode):
                return
            folder = os.open(b".", FOLDER, dir_fd=fd)
        try:
            for step in walk(folder, self._request):
                self._request.tick()
                if not any(map(ours, step.parts)):
                    self._step(index, name, step)
        finally:
            os.close(folder)

    def _step(self, index: int, name: bytes, step: Step) -> None:
        mode, tail = step.found.st_mode, b""
        path = b"/".join([name, *step.parts])
        try:
            if stat.S_ISLNK(mode):
                tail = os.readlink(step.name, dir_fd=step.folder)
            elif stat.S_ISREG(mode):
                if not os.access(step.name, os.R_OK, dir_fd=step.folder, effective_ids=True):
                    raise PermissionError(13, os.strerror(13))
            elif not stat.S_ISDIR(mode):
                raise Fault("not_a_file")
        except (OSError, Fault) as error:
            self._request.problem(error, path.decode("utf-8", "backslashreplace"))
            return
        self._add(index, path, step.found, tail)

    def _add(self, index: int, name: bytes, found: os.stat_result, tail: bytes) -> None:
        if len(self._members) >= MOST_FILES:
            raise Fault("too_many_entries", self._tops[index].shown)
        self._members.append(_Member(index, name, found, 0, tail))

    def _add_skipped(self) -> None:
        """What could not be read is named, in a file at the end."""
        lines = [f"{problem['path']}: {problem['error']}\n" for problem in self._request.problems]
        more = self._request.problem_count - len(lines)
        text = "".join([*lines, f"... {more}\n" if more else ""]).encode("utf-8", "replace")
        found = os.stat_result((0o100644, 0, 0, 1, 0, 0, len(text), 0, 0, 0))
        member = _Member(-1, SKIPPED, found, 0, text)
        member.found = (0o100644, len(text), 0)
        self._members.append(member)

    def _place(self, member: _Member) -> None:
        head = member.header()
        member.at = self._end
        self._digest.update(head)
        self._digest.update(str(member.found).encode())
        self._end += len(head) + _padded(member.size)

    # -- sending ------------------------------------------------------------------------------

    def send(self, target: int, start: int, stop: int) -> None:
        index = max(0, bisect.bisect_right(self._starts, start) - 1)
        out = _Out(target)
        while start < stop and index < len(self._members):
            member = self._members[index]
            index += 1
            head = member.header()
            inner = member.at + len(head)
            if start < inner:
                piece = head[start - member.at : stop - member.at]
                out.write(piece)
                start += len(piece)
            begin, end = start - inner, min(member.size, stop - inner)
            if start < stop and begin < end:
                self._send_data(out, member, begin, end)
                start += end - begin
            pad = min(stop, inner + _padded(member.size)) - start
            if pad > 0:
                out.write(bytes(pad))
                start += pad
        if start < stop:
            out.write(bytes(stop - start))
        out.flush()

    def _send_data(self, out: _Out, member: _Member, begin: int, end: int) -> None:
        if member.top < 0:
            out.write(member.tail[begin:end])
            return
        fd = self._open(member)
        try:
            # A file that grows is sent as long as it was; one that was cut or replaced ends it.
            if os.fstat(fd).st_size < member.size:
                raise Fault("changed")
            if end - begin < 1 << 16:
                data = os.pread(fd, end - begin, begin)
                if len(data) < end - begin:
                    raise Fault("changed")
                out.write(data)
            else:
                out.flush()
                send_part(out.target, fd, begin, end)
        finally:
            os.close(fd)

    def _open(self, member: _Member) -> int:
        top = self._tops[member.top]
        names = [*top.parts, *member.name.split(b"/")[1:]]
        folder = locate(top.root.fd, top.parts[:-1])
        try:
            # Below what was asked for, no link is followed.
            below = names[max(0, len(top.parts) - 1) :]
            inner = locate(folder, below[:-1], links=False)
        finally:
            os.close(folder)
        try:
            return open_regular(inner, below[-1])
        finally:
            os.close(inner)


def _padded(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK


class _Out(io.RawIOBase):
    """Gathers small pieces."""

    def __init__(self, target: int) -> None:
        self.target = target
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        if len(self._held) >= 1 << 18:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._held:
            write_all(self.target, self._held)
            self._held = bytearray()


def _zip(request: Request) -> None:
    layout = Layout(request)
    members = layout._members
    if len(members) > MOST_ZIPPED or sum(each.size for each in members) > MOST_ZIPPED_BYTES:
        raise Fault("too_large_to_zip", layout._tops[0].shown)
    request.answer(size=None, etag=None, modified_at=time.time(), files=len(members))
    wire.receive(request.sock)
    framed = _Framed(request)
    with zipfile.ZipFile(framed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for member in members:
            _zip_one(layout, member, out)
    framed.finish()


def _zip_one(layout: Layout, member: _Member, out: zipfile.ZipFile) -> None:
    mode, size, modified = member.found
    if stat.S_ISLNK(mode):
        return  # a zip has no links that every program understands
    name = member.name.decode("utf-8", "backslashreplace")
    times = time.localtime(max(modified // 1_000_000_000, 315_619_200))[:6]
    info = zipfile.ZipInfo(name + ("/" if stat.S_ISDIR(mode) else ""), times)
    info.external_attr = (mode & 0xFFFF) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    if stat.S_ISDIR(mode) or member.top < 0:
        out.writestr(info, b"" if member.top >= 0 else member.tail)
        return
    fd = layout._open(member)
    try:
        with out.open(info, "w", force_zip64=size > 1 << 30) as target:
            at = 0
            while at < size and (piece := os.pread(fd, min(1 << 20, size - at), at)):
                target.write(piece)
                at += len(piece)
    finally:
        os.close(fd)


class _Framed(io.RawIOBase):
    """Pieces with their length before them, since nobody knows how many there will be."""

    def __init__(self, request: Request) -> None:
        self._sock = request.sock
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        while len(self._held) >= 1 << 18:
            self._send(self._held[: 1 << 18])
            del self._held[: 1 << 18]
        return len(data)

    def finish(self) -> None:
        if self._held:
            self._send(self._held)
        self._send(b"")

    def _send(self, data: bytes | bytearray) -> None:
        try:
            self._sock.sendall(wire.HEAD.pack(len(data)) + data)
        except OSError as error:
            raise wire.Ended from error
