"""The server's own files: the lock on its data folder, and the context for the command line."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from pathlib import Path
from typing import Any

LOCAL, DEMO = "local", "demo"
"""The context of the server on this machine."""


class AlreadyRunning(Exception):
    def __init__(self, info: dict[str, Any]) -> None:
        super().__init__("another server uses this data folder")
        self.info = info


def make_data_folder(data: Path) -> None:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("run", "logs", "home", "gdata", "volumes"):
        (data / name).mkdir(mode=0o700, exist_ok=True)


def open_to_users(data: Path) -> None:
    """When tasks run as their users, they may enter the folder but not list it."""
    (data / "gdata").chmod(0o755)
    for name in ("home", "volumes"):
        (data / name).chmod(0o711)


def lock(data: Path, make: bool = True) -> int:
    """Held for the life of the process; the kernel releases it, however the process ends."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0)
    handle = os.open(data / "server.lock", flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AlreadyRunning(read_json(data / "server.json")) from None
    return handle


def write_private(path: Path, values: dict[str, Any]) -> None:
    """Atomic, and readable by the owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(values, file, indent=1)
            file.write("\n")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def context_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "danlu" / "context.json"


def write_context(data: Path, url: str, token: str, demo: bool = False) -> tuple[str, str]:
    """Lets `danlu` on this machine find this server without configuration; returns its context and
    the current one.

    A second server does not take over the context of one that still runs, nor does a demo; nor is
    a server that the user has logged in to given up for this one.
    """
    path = context_path()
    values = read_json(path)
    contexts = values.get("contexts")
    contexts = contexts if isinstance(contexts, dict) else {}
    name = DEMO if demo else LOCAL
    if _runs_elsewhere(contexts.get(name), data):
        name = f"{name}-{url.rpartition(':')[2].strip('/')}"
    contexts[name] = {"server": url, "token": token, "data": str(data)}
    current = values.get("current")
    if not _serves(contexts.get(current), data):
        current = name if demo or name == LOCAL else None
    write_private(path, {"current": current, "contexts": contexts})
    return name, current or name


def _serves(context: object, data: Path) -> bool:
    """Whether it is of another server: one logged in to, or one that runs on this machine."""
    if not isinstance(context, dict):
        return False
    return "data" not in context or _runs_elsewhere(context, data)


def _runs_elsewhere(context: object, data: Path) -> bool:
    """Whether it belongs to another data folder, which a server holds."""
    other = context.get("data") if isinstance(context, dict) else None
    if not isinstance(other, str) or other == str(data):
        return False
    try:
        os.close(lock(Path(other), make=False))
    except AlreadyRunning:
        return True
    except OSError:
        return False
    return False
