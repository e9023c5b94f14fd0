"""Terminal output of the server, in the reader's language."""

from __future__ import annotations

import os

from danlu.spec.text import Text


def chinese() -> bool:
    for name in ("DANLU_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return value.lower().startswith("zh")
    return False


def say(text: Text) -> str:
    return text.zh if chinese() else text.en
