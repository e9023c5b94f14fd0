"""Counts what is in a folder. Started by file name, with nothing but the standard library.

Nothing but folders is opened, no link is followed, no other disk is entered.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 500


class Count:
    def __init__(self) -> None:
        self.bytes = 0  # contents
        self.blocks = 0  # bytes on the disk; hard links count once
        self.files = 0
        self.newest = 0
        self._linked: set[int] = set()

    def folder(self, fd: int, device: int, depth: int = 0) -> None:
        with os.scandir(fd) as listed:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listed]
        for name, is_folder in names:
            with contextlib.suppress(OSError):
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                self._take(found)
                if is_folder and found.st_dev == device and depth < _DEEPEST:
                    inner = os.open(name, _FOLDER, dir_fd=fd)
                    try:
                        self.folder(inner, device, depth + 1)
                    finally:
                        os.close(inner)

    def _take(self, found: os.stat_result) -> None:
        self.newest = max(self.newest, found.st_mtime_ns)
        if stat.S_ISDIR(found.st_mode):
            self.blocks += found.st_blocks * 512
            return
        self.files += 1
        self.bytes += found.st_size
        if found.st_nlink > 1:
            if found.st_ino in self._linked:
                return
            self._linked.add(found.st_ino)
        self.blocks += found.st_blocks * 512

    @property
    def fingerprint(self) -> str:
        """Another one when the files are others."""
        return hashlib.sha256(f"{self.files} {self.bytes} {self.newest}".encode()).hexdigest()[:16]


def main(root: int) -> dict[str, object]:
    """`root`: the folder's descriptor. A path could have become a link to another folder."""
    os.nice(19)
    sys.setrecursionlimit(_DEEPEST * 3)
    count = Count()
    try:
        count.folder(root, os.fstat(root).st_dev)
    except OSError as error:
        return {"error": error.strerror or str(error)}
    return {
        "bytes": count.bytes,
        "blocks": count.blocks,
        "files": count.files,
        "fingerprint": count.fingerprint,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))) + "\n")
