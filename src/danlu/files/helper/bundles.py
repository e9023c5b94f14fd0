"""Unpacking a tar that somebody has uploaded. Nothing in it is believed.

Every folder on the way is opened through no link. Hard links, devices and absolute or climbing
names are refused one by one; a link is made only if it stays below the target.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tarfile

from danlu.files.helper.beneath import FOLDER, Place, folder_at
from danlu.files.helper.changes import numbered
from danlu.files.helper.entries import UPLOAD, ours
from danlu.files.helper.faults import Fault
from danlu.files.helper.names import LONGEST, to_text
from danlu.files.helper.request import Request

MOST_ENTRIES = 1_000_000
DEEPEST = 500
PIECE = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack(request: Request, part: int, where: Place, conflict: str) -> None:
    size = os.fstat(part).st_size
    request.bytes_total = size
    with os.fdopen(os.dup(part), "rb") as file, folder_at(where) as top:
        file.seek(0)
        target = _Target(request, where, top, conflict)
        try:
            with tarfile.open(fileobj=file, mode="r:", bufsize=PIECE) as tar:
                count = 0
                while (member := tar.next()) is not None:
                    tar.members = []  # type: ignore[attr-defined]  # it would keep them all
                    count += 1
                    if count > MOST_ENTRIES:
                        raise Fault("too_many_entries", where.shown)
                    target.take(tar, member)
        except tarfile.TarError as error:
            raise Fault("bad_bundle", where.shown, str(error)[:200]) from None
        finally:
            target.close()


class _Target:
    def __init__(self, request: Request, where: Place, top: int, conflict: str) -> None:
        self._request = request
        self._where = where
        self._conflict = conflict
        self._way: list[bytes] = []
        self._fds = [os.dup(top)]

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = member.name.encode("utf-8", "surrogateescape")
        try:
            parts = _parts(name)
            if not parts:
                return
            if member.isdir():
                self._enter(parts)
                self._request.tick(1)
            elif member.isreg() and not member.issparse():
                self._file(tar, member, self._enter(parts[:-1]), parts)
            elif member.issym():
                self._link(member, self._enter(parts[:-1]), parts)
            else:
                raise Fault("not_a_file")
        except (OSError, Fault) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            shown = name[:4096].decode("utf-8", "backslashreplace")
            self._request.problem(error, f"{self._where.shown}/{shown}")

    def _enter(self, parts: list[bytes]) -> int:
        """The folder, made if need be. Files of one folder come together, so the last is kept."""
        same = 0
        while same < min(len(parts), len(self._way)) and parts[same] == self._way[same]:
            same += 1
        while len(self._way) > same:
            os.close(self._fds.pop())
            self._way.pop()
        for name in parts[same:]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=self._fds[-1])
            self._fds.append(os.open(name, FOLDER, dir_fd=self._fds[-1]))
            self._way.append(name)
        return self._fds[-1]

    def _file(
        self, tar: tarfile.TarFile, member: tarfile.TarInfo, folder: int, parts: list[bytes]
    ) -> None:
        mode = 0o777 if member.mode & 0o100 else 0o666
        fd, draft, name = self._create(folder, parts[-1], mode)
        try:
            source = tar.extractfile(member)
            assert source is not None
            try:
                while piece := source.read(PIECE):
                    os.write(fd, piece)
                    self._request.tick(0, len(piece))
                if os.lseek(fd, 0, os.SEEK_CUR) != member.size:
                    raise Fault("bad_bundle")
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    os.utime(fd, (float(member.mtime), float(member.mtime)))
                if draft:
                    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(draft or name, dir_fd=folder)
                raise
        finally:
            os.close(fd)
        self._request.tick(1)

    def _create(self, folder: int, name: bytes, mode: int) -> tuple[int, bytes, bytes]:
        """Descriptor, draft's name if it replaces a file, final name."""
        try:
            return os.open(name, _NEW, mode, dir_fd=folder), b"", name
        except FileExistsError:
            if self._conflict == "refuse":
                raise
        if self._conflict == "rename":
            for new in numbered(name):
                with contextlib.suppress(FileExistsError):
                    return os.open(new, _NEW, mode, dir_fd=folder), b"", new
            raise Fault("exists")
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Fault("is_a_folder")
        draft = UPLOAD + secrets.token_hex(16).encode()
        return os.open(draft, _NEW, mode, dir_fd=folder), draft, name

    def _link(self, member: tarfile.TarInfo, folder: int, parts: list[bytes]) -> None:
        target = member.linkname.encode("utf-8", "surrogateescape")
        depth = len(parts) - 1
        for step in target.split(b"/"):
            depth += {b"..": -1, b".": 0, b"": 0}.get(step, 1)
            if depth < 0 or target.startswith(b"/"):
                raise Fault("link_leads_out", detail=to_text(target))
        try:
            os.symlink(target, parts[-1], dir_fd=folder)
        except FileExistsError:
            if os.readlink(parts[-1], dir_fd=folder) != target:
                raise
        self._request.tick(1)


def _parts(name: bytes) -> list[bytes]:
    if name.startswith(b"/") or b"\0" in name:
        raise Fault("bad_name")
    parts = [part for part in name.split(b"/") if part and part != b"."]
    if b".." in parts or len(parts) > DEEPEST:
        raise Fault("bad_name")
    for part in parts:
        if len(part) > LONGEST:
            raise Fault("name_too_long")
        if ours(part):
            raise Fault("bad_name")
    return parts
