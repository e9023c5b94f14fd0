"""Opening a folder for a worker that reads it as root: the one that was checked, and no other.

Whoever can write a volume can replace a folder in it by a link between the check of its path and
its use. A path without a link in it cannot lead out of what it is below.
"""

from __future__ import annotations

import os

from danlu.files.helper.beneath import FOLDER, locate


def open_folder(path: str) -> int:
    """A descriptor of the folder at a path. OSError (ELOOP): a part of the path is a link.

    For a thread.
    """
    top = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        parts = [part for part in os.fsencode(path).split(b"/") if part]
        found = locate(top, parts, links=False)
    finally:
        os.close(top)
    try:
        return os.open(b".", FOLDER, dir_fd=found)
    finally:
        os.close(found)
