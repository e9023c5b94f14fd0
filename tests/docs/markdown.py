"""Just enough of Markdown to hold the guides against the code."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) +(.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text."""

    place: str
    language: str
    text: str


@dataclass(frozen=True)
class Page:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    def blocks(self, *languages: str) -> list[Block]:
        return [
            Block(f"{self.name}:{self.text.count(chr(10), 0, found.start()) + 1}", *found.groups())
            for found in _FENCE.finditer(self.text)
            if found[1] in languages
        ]

    def headings(self) -> list[tuple[int, str]]:
        return [(len(marks), title) for marks, title in _HEADING.findall(self.prose)]

    def anchors(self) -> set[str]:
        return {_anchor(title) for _, title in self.headings()}

    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    def tables(self) -> list[list[list[str]]]:
        """Of each table its rows, of each row its cells; the line below the head is left out."""
        found: list[list[list[str]]] = []
        inside = False
        for line in self.prose.splitlines():
            if not line.startswith("|"):
                inside = False
                continue
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not inside:
                found.append([])
                inside = True
            if not all(set(cell) <= {"-"} for cell in cells) or not any(cells):
                found[-1].append(cells)
        return found

    def rows(self) -> dict[str, list[str]]:
        """The rows of all tables by each word in code marks in their first cell."""
        return {
            word: row
            for table in self.tables()
            for row in table[1:]
            for word in _CODE.findall(row[0])
        }


def _anchor(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return kept.replace(" ", "-")


def page(name: str) -> Page:
    path = ROOT / name
    return Page(path, path.read_text(encoding="utf-8"))


def all_pages() -> list[Page]:
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "node_modules")))
        found += [
            page(str((Path(folder) / name).relative_to(ROOT)))
            for name in sorted(files)
            if name.endswith(".md")
        ]
    return found
