"""A name for the task's uid: /etc/passwd and /etc/group as the user's tasks see them.

Copies of the machine's files with the user's lines prepended, kept in the data folder and bind
mounted in the task's mount namespace. `whoami`, `ls -l` and getpass work, and the machine's own
files are never written.
"""

from __future__ import annotations

import os
from pathlib import Path

from danlu.engines.api import HostMount, Identity

_FILES = tuple(path for path in ("/etc/passwd", "/etc/group") if os.path.exists(path))
_SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def mounts_of(data: Path, identity: Identity) -> list[HostMount]:
    if identity.uid is None:
        return []
    return [HostMount("names", str(_copy(data, identity.uid, path)), path) for path in _FILES]


def _copy(data: Path, uid: int, path: str) -> Path:
    return data / "names" / f"{uid}.{os.path.basename(path)}"


class Names:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._written: dict[int, object] = {}

    def write(self, identity: Identity) -> None:
        """Makes sure, before a launch, that the user's copies are up to date."""
        if identity.uid is None:
            return
        state = (identity, *(os.stat(path).st_mtime_ns for path in _FILES))
        if self._written.get(identity.uid) == state:
            return
        (self._data / "names").mkdir(mode=0o700, exist_ok=True)
        for path in _FILES:
            theirs = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
            make = passwd_text if path == "/etc/passwd" else group_text
            _replace(_copy(self._data, identity.uid, path), make(identity, theirs))
        self._written[identity.uid] = state


def passwd_text(identity: Identity, theirs: str) -> str:
    """Leaves out the machine's lines that conflict with this name or number."""
    user, uid = _plain(identity.user), str(identity.uid)
    gid = identity.gid if identity.gid is not None else identity.uid
    kept = [
        line
        for line in theirs.splitlines()
        if (fields := line.split(":")) and fields[0] != user and fields[2:3] != [uid]
    ]
    return "\n".join([f"{user}:x:{uid}:{gid}::/userhome:{_SHELL}", *kept, ""])


def group_text(identity: Identity, theirs: str) -> str:
    """A number that already has a name on the machine keeps it."""
    lines = theirs.splitlines()
    taken = {line.split(":")[2] for line in lines if line.count(":") >= 2}
    user = _plain(identity.user)
    gid = identity.gid if identity.gid is not None else identity.uid
    mine = {str(gid): f"{user}:x:{gid}:"}
    for name, number in identity.names:
        mine.setdefault(str(number), f"{_plain(name)}:x:{number}:{user}")
    added = [line for number, line in mine.items() if number not in taken]
    names = {line.split(":")[0] for line in added}
    kept = [line for line in lines if line.split(":")[0] not in names]
    return "\n".join([*added, *kept, ""])


def _plain(name: str) -> str:
    return "".join(c if c.isprintable() and c not in ":/," else "_" for c in name)


def _replace(path: Path, text: str) -> None:
    # Never in place: running tasks have the old file mounted.
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        os.fchmod(fd, 0o644)  # regardless of umask: read by the user's programs
        file.write(text)
    os.replace(draft, path)
