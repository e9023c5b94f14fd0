"""Unpacks a tar into one folder and nowhere else, whatever it says.

Python's own filters for this are not in every version that Danlu runs on.
"""

from __future__ import annotations

import os
import tarfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

PIECE = 1 << 20
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Tree:
    """A folder that is filled. Below it no link is followed."""

    def __init__(self, top: str) -> None:
        os.makedirs(top, exist_ok=True)
        self._way: list[bytes] = []
        self._fds = [os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)

    def take(
        self,
        member: tarfile.TarInfo,
        parts: list[bytes],
        source: IO[bytes] | None,
        overwrite: bool,
    ) -> bool:
        """False: it was there already, or is nothing that can be made here safely."""
        if b".." in parts or any(b"/" in part or b"\0" in part for part in parts):
            return False
        if member.isdir():
            self._enter(parts)
            return True
        folder = self._enter(parts[:-1])
        name = parts[-1]
        if self._exists(folder, name):
            if not overwrite:
                return False
            os.unlink(name, dir_fd=folder)
        if member.issym():
            return self._link(member, folder, parts)
        if source is None:
            return False
        self._file(member, folder, name, source)
        return True

    def _exists(self, folder: int, name: bytes) -> bool:
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _enter(self, parts: list[bytes]) -> int:
        same = 0
        while same < min(len(parts), len(self._way)) and parts[same] == self._way[same]:
            same += 1
        while len(self._way) > same:
            os.close(self._fds.pop())
            self._way.pop()
        for name in parts[same:]:
            try:  # noqa: SIM105 - contextlib is slow to import
                os.mkdir(name, dir_fd=self._fds[-1])
            except FileExistsError:
                pass
            self._fds.append(os.open(name, FOLDER, dir_fd=self._fds[-1]))
            self._way.append(name)
        return self._fds[-1]

    def _link(self, member: tarfile.TarInfo, folder: int, parts: list[bytes]) -> bool:
        target = os.fsencode(member.linkname)
        depth = len(parts) - 1
        for step in target.split(b"/"):
            depth += {b"..": -1, b".": 0, b"": 0}.get(step, 1)
            if depth < 0 or target.startswith(b"/"):
                return False
        os.symlink(target, parts[-1], dir_fd=folder)
        return True

    def _file(self, member: tarfile.TarInfo, folder: int, name: bytes, source: IO[bytes]) -> None:
        out = os.open(name, NEW, 0o777 if member.mode & 0o100 else 0o666, dir_fd=folder)
        try:
            while piece := source.read(PIECE):
                view = memoryview(piece)
                while view:
                    view = view[os.write(out, view) :]
            os.utime(out, (member.mtime, member.mtime))
        finally:
            os.close(out)
