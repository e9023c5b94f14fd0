"""What the server says on a terminal, in the reader's language."""

from __future__ import annotations

import os


def chinese() -> bool:
    for name in ("DANLU_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return value.lower().startswith("zh")
    return False


def say(en: str, zh: str) -> str:
    return zh if chinese() else en
