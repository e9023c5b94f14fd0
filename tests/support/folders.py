"""Folders of a test that tasks can reach: as root they run as their users, not as the tester."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def let_in(folder: Path) -> Path:
    """Everybody may pass the tester's own folders on the way, and use this one."""
    if os.geteuid() == 0:
        folder.chmod(0o777)
        for path in folder.parents:
            found = path.stat()
            if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_ISVTX | 0o011):
                path.chmod(stat.S_IMODE(found.st_mode) | 0o011)
    return folder
