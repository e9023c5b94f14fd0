"""Public keys that people keep in their home: `~/.ssh/authorized_keys`, as for any other machine.

The home is in its owner's hands, and the server may be root: the file is opened with the owner's
permissions, by descriptors, and no link in there is followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from danlu.access.errors import Unfit
from danlu.access.identities import Identities, Person
from danlu.access.ssh_keys import parse
from danlu.files.as_person import as_person

_FOLDER, _FILE = ".ssh", "authorized_keys"
_LARGEST = 64 * 1024
_AT_ONCE = 4
_FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HomeKeys:
    def __init__(self, identities: Identities, home_of: Callable[[str], Path]) -> None:
        self._identities = identities
        self._home_of = home_of
        self._turns = asyncio.Semaphore(_AT_ONCE)  # strangers ask, too

    async def knows(self, name: str, fingerprint: str) -> bool:
        """`name`: of somebody who has an account."""
        person = await self._identities.person(name)
        if self._identities.uids is not None and person.uid is None:
            return False
        async with self._turns:
            text = await asyncio.to_thread(_read, str(self._home_of(name)), person)
        return fingerprint in _fingerprints(text)


def _fingerprints(text: bytes) -> Iterator[str]:
    """A line with options is left out: they would be promises that nobody keeps here."""
    for line in text.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(Unfit):
            yield parse(line).fingerprint


def _read(home: str, person: Person) -> bytes:
    """The whole lines of its first part; nothing if it is not the owner's alone."""
    try:
        root = os.open(home, _FOLDER_FLAGS)
    except OSError:
        return b""
    try:
        with as_person(person):
            return _read_below(root, person)
    except OSError:
        return b""
    finally:
        os.close(root)


def _read_below(root: int, person: Person) -> bytes:
    folder = os.open(_FOLDER, _FOLDER_FLAGS, dir_fd=root)
    try:
        file = os.open(_FILE, _FILE_FLAGS, dir_fd=folder)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or not all(
                _is_private(each, person) for each in (os.fstat(root), os.fstat(folder), found)
            ):
                return b""
            text = os.read(file, _LARGEST)
        finally:
            os.close(file)
    finally:
        os.close(folder)
    return text if len(text) < _LARGEST else text[: text.rfind(b"\n") + 1]


def _is_private(found: os.stat_result, person: Person) -> bool:
    """Nobody else may write it, as with sshd. A group of one's own is nobody else."""
    uid = os.geteuid() if person.uid is None else person.uid
    own_group = person.gid == person.uid == found.st_gid
    others = stat.S_IWOTH if own_group or person.uid is None else stat.S_IWOTH | stat.S_IWGRP
    return found.st_uid == uid and not found.st_mode & others
