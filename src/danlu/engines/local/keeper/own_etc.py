"""An /etc of the task's own: links to the machine's entries, and files that name its user.

A file that is mounted over the machine's own /etc/passwd is unmounted by the kernel, in all mount
namespaces, as soon as the machine replaces that file, as `useradd` does. Links of ours are no
entries of the machine's, so what is mounted beside them stays.
"""

from __future__ import annotations

import contextlib
import os

from danlu.engines.local.keeper import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT = ".etc"
"""Where the machine's own is, in the task's root."""
_FOLDER = "/etc"


def is_in(mount: dict[str, Any]) -> bool:
    """Whether it belongs directly in /etc; volumes of users never do."""
    return os.path.dirname(str(mount["target"])) == _FOLDER


def link_ahead() -> None:
    """Before the machine's is mounted on `etc`, which hides the links until `make`."""
    for name in os.listdir(_FOLDER):
        os.symlink(f"/{AT}/{name}", f"etc/{name}")


def make(sources: dict[str, int]) -> None:
    """In the root being built, where `etc` is the machine's. `sources`: descriptors by name."""
    os.mkdir(AT)
    linux.mount("etc", AT, "", linux.MS_MOVE)
    for name, source in sources.items():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"etc/{name}")
        os.close(os.open(f"etc/{name}", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        linux.mount(linux.by_number(source), f"etc/{name}", "", linux.MS_BIND)
        os.close(source)


def shown(parts: list[str]) -> list[str]:
    """A path as the task knows it."""
    return ["etc", *parts[1:]] if parts[:1] == [AT] else parts
