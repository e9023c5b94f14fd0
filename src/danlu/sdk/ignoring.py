"""What .gitignore and .danluignore leave out, with git's own rules."""

from __future__ import annotations

import os
import re

FILES = (".gitignore", ".danluignore")
NEVER = frozenset((".git", ".hg", ".svn"))
USUALLY = ("__pycache__/", ".ipynb_checkpoints/")
"""Left out unless an ignore file says otherwise."""
_LARGEST = 1 << 20


class Rules:
    """The lines of the ignore files of one folder. `base`: the path from there to the root walked,
    if that is below it.
    """

    def __init__(self, lines: list[str], base: str = "") -> None:
        self._base = base
        self._rules = [rule for rule in map(_rule, lines) if rule is not None]
        # One look for all of them: most paths match none.
        both = "|".join(f"(?:{pattern})" for pattern, _, _ in self._rules)
        self._any = re.compile(both, re.DOTALL) if both else None
        self._each = [
            (re.compile(pattern, re.DOTALL), folders, keeps)
            for pattern, folders, keeps in self._rules
        ]

    def verdict(self, path: str, folder: bool) -> bool | None:
        """True: left out; False: kept by an exception; None: nothing is said about it."""
        path = f"{self._base}/{path}" if self._base else path
        if self._any is None or not self._any.fullmatch(path):
            return None
        for pattern, folders_only, keeps in reversed(self._each):
            if (folder or not folders_only) and pattern.fullmatch(path):
                return not keeps
        return None


def above(root: str) -> list[tuple[str, Rules]]:
    """The rules that hold in the whole of a folder: ours, then those of its repository."""
    found = [("", Rules(list(USUALLY)))]
    parents = []
    here = os.path.realpath(root)
    while not os.path.lexists(f"{here}/.git"):
        up = os.path.dirname(here)
        if up == here:
            return found  # not in a repository
        here = up
        parents.append(here)
    real = os.path.realpath(root)
    for parent in reversed(parents):
        lines = _lines(f"{parent}/.gitignore")
        if lines:
            found.append(("", Rules(lines, os.path.relpath(real, parent))))
    return found


def of_folder(folder: str, names: set[str]) -> Rules | None:
    lines = [line for name in FILES if name in names for line in _lines(f"{folder}/{name}")]
    return Rules(lines) if lines else None


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST)
    except OSError:
        return []
    text = text.removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line) for line in text.replace(b"\r\n", b"\n").split(b"\n")]


def _rule(line: str) -> tuple[str, bool, bool] | None:
    """(pattern for a whole path, for folders only, an exception)."""
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps else line
    folders_only = line.endswith("/")
    line = line[:-1] if folders_only else line
    if not line:
        return None
    anchored = "/" in line
    pattern = _translate(line.removeprefix("/"))
    try:
        re.compile(pattern)
    except re.error:
        return None  # as git does: it matches nothing
    return (pattern if anchored else f"(?:.*/)?{pattern}"), folders_only, keeps


def _translate(glob: str) -> str:
    out, at = [], 0
    while at < len(glob):
        rest = glob[at:]
        first = at == 0 or glob[at - 1] == "/"
        if first and rest.startswith("**/"):
            out.append("(?:.*/)?")
            at += 3
        elif first and rest == "**":
            out.append(".+")
            at += 2
        elif rest[0] == "*":
            out.append("[^/]*")
            at += len(rest) - len(rest.lstrip("*"))
        elif rest[0] == "?":
            out.append("[^/]")
            at += 1
        elif rest[0] == "[":
            text, length = _bracket(rest)
            out.append(text)
            at += length
        elif rest[0] == "\\" and len(rest) > 1:
            out.append(re.escape(rest[1]))
            at += 2
        else:
            out.append(re.escape(rest[0]))
            at += 1
    return "".join(out)


def _bracket(text: str) -> tuple[str, int]:
    start = 2 if text[1:2] in ("!", "^") else 1
    end = text.find("]", start + 1)
    if end < 0:
        return r"(?!)", len(text)  # git: a bracket without an end matches nothing
    inner = text[start:end].replace("\\", "\\\\").replace("[", "\\[")
    inner = inner.replace("&&", "&\\&").replace("||", "|\\|").replace("~~", "~\\~")
    if inner.startswith(("^", "]")):
        inner = "\\" + inner
    return f"(?!/)[{'^' if start == 2 else ''}{inner}]", end + 1
