"""An /etc of the task's own: links to the machine's entries, and files that name its user.

A file that is mounted over the machine's own /etc/passwd is unmounted by the kernel, in all mount
namespaces, as soon as the machine replaces that file, as `useradd` does. Links of ours are no
entries of the machine's, so what is mounted beside them stays.

The folder of links is the same for all tasks, and read-only in each; a task that has something
mounted further below gets one of its own.
"""

from __future__ import annotations

import os
import zlib

from danlu.engines.local.keeper import linux, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT = ".etc"
"""Where the machine's own is, in the task's root."""
OWN = ("passwd", "group")
"""What is a file of the task's own there."""
_FOLDER = "/etc"


class Links:
    """In the spawner: folders of links, one for each list of names that /etc has had."""

    def __init__(self, folder: str, *, in_use: bool) -> None:
        self._folder = folder
        self._listed = -1
        self._path = ""
        if not in_use and os.path.isdir(folder):
            record.remove(folder)

    def path(self) -> str:
        """The folder for /etc as it is now; empty if it cannot be made, as on a full disk."""
        try:
            changed = os.stat(_FOLDER).st_mtime_ns
            if changed != self._listed:
                self._path = self._made(sorted(os.listdir(_FOLDER)))
                self._listed = changed
        except OSError:
            return ""
        return self._path

    def _made(self, names: list[str]) -> str:
        listed = zlib.crc32(os.fsencode("/".join(names)))
        path = f"{self._folder}/{listed:08x}.{len(names)}"
        if os.path.isdir(path):
            return path
        os.makedirs(self._folder, mode=0o755, exist_ok=True)
        draft = f"{path}.{os.getpid()}"
        os.mkdir(draft)
        os.chmod(draft, 0o755)  # noqa: S103 - tasks of all users look into it
        _fill(draft, names)
        os.rename(draft, path)
        return path


def _fill(folder: str, names: list[str]) -> None:
    for name in names:
        if name not in OWN:
            os.symlink(f"/{AT}/{name}", f"{folder}/{name}")
    for name in OWN:
        fd = os.open(f"{folder}/{name}", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
        os.fchmod(fd, 0o644)
        os.close(fd)


def is_in(mount: dict[str, Any]) -> bool:
    """Whether it belongs directly in /etc; volumes of users never do."""
    return os.path.dirname(str(mount["target"])) == _FOLDER


def has_more_below(mounts: list[dict[str, Any]]) -> bool:
    """Whether a mount point may have to be made in there."""
    return any(str(m["target"]).startswith(f"{_FOLDER}/") and not is_in(m) for m in mounts)


def make(links: str, sources: dict[str, int]) -> None:
    """In the root being built, where `etc` is the machine's. `sources`: descriptors by name.
    `links`: the folder; empty for one of its own.
    """
    os.mkdir(AT)
    linux.mount("etc", AT, "", linux.MS_MOVE)
    if links:
        linux.mount(links, "etc", "", linux.MS_BIND)
        folder = os.open("etc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        linux.restrict(folder, read_only=True, recursive=False)
        os.close(folder)
    else:
        _fill("etc", os.listdir(_FOLDER))
    for name, source in sources.items():
        linux.mount(linux.by_number(source), f"etc/{name}", "", linux.MS_BIND)
        os.close(source)


def shown(parts: list[str]) -> list[str]:
    """A path as the task knows it."""
    return ["etc", *parts[1:]] if parts[:1] == [AT] else parts
