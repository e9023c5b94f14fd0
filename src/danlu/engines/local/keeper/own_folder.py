"""A task's own folder ($DANLU_RUN) where it has no view of its own: in /tmp, for its user only.

Not in the data folder: other users may not enter that, and the path of a socket has at most 107
bytes.
"""

from __future__ import annotations

import contextlib
import os

from danlu.engines.local.keeper import command, record
from danlu.engines.local.keeper.folders import RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def make(task: dict[str, Any]) -> str:
    path = f"/tmp/danlu-{os.urandom(8).hex()}"  # noqa: S108 - created here, or it fails
    os.mkdir(path, 0o700)
    if task["uid"] not in (None, os.getuid()):
        os.chown(path, task["uid"], task["gid"], follow_symlinks=False)
    for env in task["processes"]:
        env["DANLU_RUN"] = path
    return path


def remove(path: str, task: dict[str, Any]) -> None:
    """As its user, who may have put anything into it."""
    if task["uid"] in (None, os.getuid()):
        with contextlib.suppress(OSError):
            record.remove(path)
        return
    pid = os.fork()
    if pid == 0:
        try:
            command.Starter(task, None).become()
            record.remove(path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def seen_from(path: str, task: dict[str, Any]) -> str:
    """Where a path in the usual folder is in this task."""
    own = task["processes"][0].get("DANLU_RUN", RUN)
    return own + path[len(RUN) :] if path.startswith(f"{RUN}/") else path
