"""Folders of users and groups, created on first use with the right owner."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import struct
from collections.abc import Collection, Iterator

from danlu.access.identities import Person, Uids
from danlu.engines.api import Refused
from danlu.files.settings import FileSettings
from danlu.files.volumes import Volumes
from danlu.files.walking import FOLDER, walk

_ACL = struct.Struct("<HHI")
_NOBODY = 0xFFFFFFFF
_GROUP_MAY_WRITE = struct.pack("<I", 2) + b"".join(
    _ACL.pack(tag, rights, _NOBODY) for tag, rights in ((0x01, 7), (0x04, 7), (0x20, 0))
)
"""A default ACL: new files are accessible to owner and group, whatever the umask."""


class Folders:
    def __init__(self, settings: FileSettings, volumes: Volumes, uids: Uids | None) -> None:
        self._settings = settings
        self._uids = uids
        self._volumes = volumes
        self._moving: dict[str, asyncio.Task[None]] = {}

    async def ready(self, person: Person) -> None:
        """Creates and checks all folders of a person. Raises Refused or OSError."""
        if self._uids is not None and person.uid is None:
            raise Refused(f"{person.name} has no uid on this machine; an admin can give one")
        home = str(self._settings.home_of(person.name))
        if self._make_private(home, person):
            # Created by an earlier version, or before the uid changed: may be large.
            await self._hand_over(home, person)
        if self._volumes.user_root is not None:
            path = f"{self._volumes.user_root}/{person.name}"
            if self._make_private(path, person):
                await self._hand_over(path, person)
        for group, gid in person.groups.items():
            make_shared(f"{self._volumes.share_root}/{group}", gid)

    def _make_private(self, path: str, person: Person) -> bool:
        """True: it exists and still belongs to the person's former uid."""
        uid = os.geteuid() if person.uid is None else person.uid
        gid = os.getegid() if person.gid is None else person.gid
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            _make(path, 0o700, uid, gid)
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise Refused(f"{path} should be the folder of {person.name}, but is not a folder")
        if found.st_uid == uid or os.geteuid() != 0:
            return False
        if found.st_uid in (0, *person.numbers):
            return True
        raise Refused(
            f"{path} belongs to uid {found.st_uid}, not to {person.name} (uid {uid}); an admin can "
            f"fix it: chown -R --no-dereference {uid}:{gid} {path}"
        )

    async def _hand_over(self, path: str, person: Person) -> None:
        moving = self._moving.get(path)
        if moving is None:
            uid = os.geteuid() if person.uid is None else person.uid
            gid = os.getegid() if person.gid is None else person.gid
            work = asyncio.to_thread(hand_over, path, {0, *person.numbers}, uid, gid)
            moving = self._moving[path] = asyncio.create_task(work)
            moving.add_done_callback(lambda _: self._moving.pop(path, None))
        await asyncio.shield(moving)


def _make(path: str, mode: int, uid: int, gid: int) -> None:
    os.makedirs(os.path.dirname(path), mode=0o711, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if os.geteuid() == 0:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchown(fd, uid, gid)
            os.fchmod(fd, mode)
        finally:
            os.close(fd)


def make_shared(path: str, gid: int | None) -> None:
    """A group's folder: files created in it belong to the group, and all members may write."""
    if os.path.lexists(path):
        return
    if gid is None or os.geteuid() != 0:
        _make(path, 0o700, os.geteuid(), os.getegid())
        return
    draft = f"{path}.{os.getpid()}.new"
    _make(draft, 0o2770, 0, gid)
    with contextlib.suppress(
        OSError
    ):  # Not every file system has ACLs; the umask covers the usual case.
        os.setxattr(draft, "system.posix_acl_default", _GROUP_MAY_WRITE)
    with contextlib.suppress(OSError):
        os.rename(draft, path)
        return
    os.rmdir(draft)  # created concurrently


def hand_over(root: str, before: Collection[int], uid: int, gid: int) -> None:
    """Changes the owner of everything below `root` that belonged to `before`. `root` itself comes
    last, so that an interrupted run is repeated.

    Links are changed, not followed. A file with several hard links is changed only if all of them
    are below `root`: another could be /etc/shadow.
    """
    names: dict[tuple[int, int], int] = {}
    for _, found in _walk(root):
        if _has_more_names(found):
            key = (found.st_dev, found.st_ino)
            names[key] = names.get(key, 0) + 1
    for fd, found in _walk(root):
        here = names.get((found.st_dev, found.st_ino))
        if found.st_uid in before and (not _has_more_names(found) or here == found.st_nlink):
            # Through the descriptor: what was checked is what is changed.
            os.chown(f"/proc/self/fd/{fd}", uid, gid)
    os.chown(root, uid, gid, follow_symlinks=False)


def _has_more_names(found: os.stat_result) -> bool:
    return not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1


def _walk(root: str) -> Iterator[tuple[int, os.stat_result]]:
    """Everything below a folder, by descriptors; no link is followed."""
    top = os.open(root, FOLDER)
    try:
        for step in walk(top):
            flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
            with contextlib.suppress(FileNotFoundError):
                fd = os.open(step.name, flags, dir_fd=step.folder)
                try:
                    yield fd, os.fstat(fd)
                finally:
                    os.close(fd)
    finally:
        os.close(top)
