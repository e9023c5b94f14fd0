"""The server's own files: the lock on its data folder, and how the command line finds it."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from pathlib import Path
from typing import Any


class AlreadyRunning(Exception):
    def __init__(self, info: dict[str, Any]) -> None:
        super().__init__("another server uses this data folder")
        self.info = info


def make_data_folder(data: Path) -> None:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("run", "logs", "home", "gdata", "volumes"):
        (data / name).mkdir(mode=0o700, exist_ok=True)


def open_to_users(data: Path) -> None:
    """Where tasks run as their users: what is theirs can be reached, nothing else be listed."""
    (data / "gdata").chmod(0o755)
    for name in ("home", "volumes"):
        (data / name).chmod(0o711)


def lock(data: Path) -> int:
    """Held for the life of the process; the kernel lets go of it, however the process ends."""
    handle = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AlreadyRunning(read_json(data / "server.json")) from None
    return handle


def write_private(path: Path, values: dict[str, Any]) -> None:
    """Whole or not at all, and for nobody else's eyes."""
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


def write_context(url: str, token: str) -> None:
    """So that `danlu` on this machine reaches this server without being told."""
    path = context_path()
    values = read_json(path)
    contexts = values.get("contexts")
    contexts = contexts if isinstance(contexts, dict) else {}
    contexts["local"] = {"server": url, "token": token}
    write_private(path, {"current": "local", "contexts": contexts})
