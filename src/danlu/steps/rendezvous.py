"""How srun finds the waiting nodes: each writes its address and a key to the user's folder.

Only the user can read it, so only the user's own tasks know the keys.
"""

from __future__ import annotations

import os
import time

from danlu.steps.main import Trouble

PATIENCE = 60.0


def folder() -> str:
    home = os.environ.get("DANLU_USERHOME") or os.environ.get("HOME") or "/tmp"  # noqa: S108
    attempt = os.environ.get("DANLU_ATTEMPT_ID", "none")
    return os.path.join(home, ".danlu", "steps", attempt)


def announce(index: int, address: str, key: str) -> str:
    """Publishes where this node listens; returns the file name."""
    where = folder()
    os.makedirs(where, mode=0o700, exist_ok=True)
    path = os.path.join(where, str(index))
    draft = f"{path}.{os.getpid()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(f"{address} {key}\n")
    os.replace(draft, path)
    return path


def find(index: int) -> tuple[str, int, str]:
    """Waits for a node's host, port and key. Raises Trouble."""
    path = os.path.join(folder(), str(index))
    end = time.monotonic() + PATIENCE
    pause = 0.02
    while True:
        try:
            with open(path) as file:
                address, key = file.read().split()
            host, _, port = address.rpartition(":")
            return host, int(port), key
        except (OSError, ValueError):
            if time.monotonic() > end:
                raise Trouble(
                    f"node {index} of this job does not respond ({path} is missing)"
                ) from None
        time.sleep(pause)
        pause = min(pause * 2, 0.5)
