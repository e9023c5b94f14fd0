"""Names for the task's user and groups in a container: many programs ask who they run as."""

from __future__ import annotations

import contextlib
import os

_GROUP = tuple[str, int]


def add_account(uid: int, gid: int, name: str, groups: list[_GROUP]) -> None:
    """Only in the container's own files: not through a link, not on a volume."""
    with contextlib.suppress(OSError):
        if os.stat("/etc", follow_symlinks=False).st_dev == os.stat("/").st_dev:
            _append("/etc/passwd", [(uid, f"{name}:x:{uid}:{gid}::/userhome:/bin/sh")])
            lines = [(number, f"{group}:x:{number}:{name}") for group, number in groups]
            _append("/etc/group", [(gid, f"{name}:x:{gid}:"), *lines])


def _append(path: str, lines: list[tuple[int, str]]) -> None:
    """Unless the image has the number or the name."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with open(fd, "r+", encoding="utf-8", errors="surrogateescape") as file:
        if os.fstat(fd).st_dev != os.stat("/").st_dev:
            return
        os.fchmod(fd, 0o644)
        text = file.read()
        fields = [line.split(":") for line in text.splitlines()]
        numbers = {entry[2] for entry in fields if len(entry) > 2}
        names = {entry[0] for entry in fields}
        if text and not text.endswith("\n"):
            file.write("\n")
        for number, line in lines:
            name = line.partition(":")[0]
            if str(number) not in numbers and name not in names:
                file.write(line + "\n")
                numbers.add(str(number))
                names.add(name)
