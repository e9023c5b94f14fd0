"""The users' guides this platform is measured by: their printed commands and files.

The guides are not part of this repository. DANLU_GUIDES names their folder; without it they are
looked for beside the repository, and where they are not there, what needs them is skipped.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import pytest

_FENCE = re.compile(r"^( *)```[^\n`]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


class Guide:
    """One guide: its blocks of commands and files, as they are printed."""

    def __init__(self, number: str) -> None:
        folder = _folder()
        found = sorted(folder.glob(f"{number}_*.txt"))
        if not found:
            pytest.skip(f"guide {number} is not in {folder}; DANLU_GUIDES names the guides' folder")
        self.text = found[0].read_text()
        self.blocks = [textwrap.dedent(match[2]) for match in _FENCE.finditer(self.text)]

    def block(self, *parts: str) -> str:
        """The one block that holds all these words."""
        (found,) = self.all(*parts)
        return found

    def all(self, *parts: str) -> list[str]:
        return [block for block in self.blocks if all(part in block for part in parts)]


def _folder() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "seeds"
    return Path(os.environ.get("DANLU_GUIDES") or beside)


def value_of(key: str, block: str) -> str:
    """What stands after `key` and its sign, whichever of them the file uses."""
    found = re.search(rf'^\s*(?:- )?"?{key}"?\s*[:=]\s*"?([^",\n]+)', block, re.MULTILINE)
    assert found is not None, key
    return found[1].strip()


def commands(block: str) -> list[str]:
    """The lines of a block that are typed, without the remarks between them."""
    lines = block.splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
