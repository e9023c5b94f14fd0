"""Fills one folder and nothing outside of it, whatever a server says.

Python's own filters for tar files are not in every version that Danlu runs on.
"""

from __future__ import annotations

import os
import stat
import tarfile

from danlu.cli.drafts import LARGE, draft_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

PIECE = 1 << 20
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MADE, THERE, UNSAFE, OTHER = "made", "there", "unsafe", "other"


class Tree:
    """A folder that is filled. Below it no link is followed."""

    def __init__(self, top: str) -> None:
        os.makedirs(top, exist_ok=True)
        self._way: list[bytes] = []
        self._fds = [os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)

    def look(self, parts: list[bytes]) -> os.stat_result | None:
        """What has this name; the folder it would be in is made."""
        try:
            return os.stat(parts[-1], dir_fd=self.enter(parts[:-1]), follow_symlinks=False)
        except FileNotFoundError:
            return None

    def target_of(self, parts: list[bytes]) -> bytes:
        return os.readlink(parts[-1], dir_fd=self.enter(parts[:-1]))

    def take(
        self,
        member: tarfile.TarInfo,
        parts: list[bytes],
        source: IO[bytes] | None,
        overwrite: bool,
        begun: Callable[[], None],
    ) -> str:
        """`begun`: what remembers that a large file was begun, so that its draft is worth keeping.

        Returns MADE, THERE (and is not to be overwritten), UNSAFE (a link that leads out), or OTHER
        (neither file, folder nor link).
        """
        if b".." in parts or any(b"/" in part or b"\0" in part for part in parts):
            return UNSAFE
        if member.isdir():
            self.enter(parts)
            return MADE
        found = self.look(parts)
        if found is not None and not overwrite:
            return THERE
        folder = self.enter(parts[:-1])
        if member.issym():
            if not _stays(os.fsencode(member.linkname), len(parts) - 1):
                return UNSAFE
            if found is not None:
                os.unlink(parts[-1], dir_fd=folder)
            os.symlink(os.fsencode(member.linkname), parts[-1], dir_fd=folder)
            return MADE
        if source is None:
            return OTHER
        self._file(member, folder, parts[-1], source, begun)
        return MADE

    def enter(self, parts: list[bytes]) -> int:
        """The descriptor of a folder below, which is made. Valid until the next call."""
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

    def _file(
        self,
        member: tarfile.TarInfo,
        folder: int,
        name: bytes,
        source: IO[bytes],
        begun: Callable[[], None],
    ) -> None:
        """Under a draft's name until it is whole. Only a large draft is kept if this breaks off."""
        draft = draft_name(name)
        drop(folder, draft)
        out = os.open(draft, NEW, 0o777 if member.mode & 0o100 else 0o666, dir_fd=folder)
        keep = member.size >= LARGE
        if keep:
            begun()
        try:
            while piece := source.read(PIECE):
                view = memoryview(piece)
                while view:
                    view = view[os.write(out, view) :]
            os.utime(out, (member.mtime, member.mtime))
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            if not keep:
                drop(folder, draft)
            raise
        finally:
            os.close(out)


def is_same(found: os.stat_result | None, size: int, modified: float) -> bool:
    """By size and time, as rsync does."""
    if found is None or not stat.S_ISREG(found.st_mode):
        return False
    return found.st_size == size and int(found.st_mtime) == int(modified)


def drop(folder: int, name: bytes) -> None:
    try:  # noqa: SIM105
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _stays(target: bytes, depth: int) -> bool:
    """Whether a link this deep in the folder leads to something in it."""
    if target.startswith(b"/"):
        return False
    for step in target.split(b"/"):
        depth += {b"..": -1, b".": 0, b"": 0}.get(step, 1)
        if depth < 0:
            return False
    return True
