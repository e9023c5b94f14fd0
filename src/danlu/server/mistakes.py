"""All mistakes of danlu.toml at once, each with its line."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, TypeVar

from danlu.server.values import ConfigError
from danlu.spec.text import Text

MOST = 20
_HEAD = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")

T = TypeVar("T")
Path = tuple[str | int, ...]


def read_all(
    where: str, text: str, values: dict[str, Any], read: Callable[[dict[str, Any]], T]
) -> T:
    """Reads the values. Raises ConfigError with every mistake.

    After a mistake, its key is left out and the rest is read again.
    """
    left, lines = copy.deepcopy(values), _lines(text)
    found: list[tuple[int, Text]] = []
    gone: list[Path] = []
    while True:
        try:
            result = read(left)
        except ConfigError as error:
            path = _take_out(left, error.key)
            if path is None and found:
                break  # caused by what was left out
            if path is None or not any(each[: len(path)] == path for each in gone):
                line = _line_of(lines, path) if path else None
                place = f"{where}:{line}" if line else where
                told = error.message.without(f"{where}: ").without(f"{where}：")
                found.append((line or 0, told.after(place)))
            if path is None or len(found) == MOST:
                break
            gone.append(path)
            continue
        if not found:
            return result
        break
    told_all = [told for _, told in sorted(found, key=lambda each: each[0])]
    raise ConfigError(
        Text("\n".join(each.en for each in told_all), "\n".join(each.zh for each in told_all))
    )


def _take_out(values: dict[str, Any], key: str) -> Path | None:
    """Removes what a key such as `nodes.0.cpus` names; None if it is not there."""
    path: list[str | int] = []
    here: Any = values
    rest = key
    step: str | int
    while rest:
        if isinstance(here, list):
            name, _, rest = rest.partition(".")
            if not name.isdigit() or int(name) >= len(here):
                return None
            step = int(name)
        elif isinstance(here, dict):
            names = [n for n in here if rest == n or rest.startswith(f"{n}.")]
            if not names:
                return None
            name = max(names, key=len)  # names may contain dots
            step, rest = name, rest[len(name) + 1 :]
        else:
            return None
        path.append(step)
        parent, here = here, here[step]
    if not path:
        return None
    if isinstance(parent, list):
        parent[int(path[-1])] = {}  # the others keep their numbers
    else:
        del parent[path[-1]]
    return tuple(path)


def _line_of(lines: dict[Path, int], path: Path) -> int | None:
    """Where it is, or else the table around it."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def _lines(text: str) -> dict[Path, int]:
    """The first line of every table and key."""
    found: dict[Path, int] = {}
    table: Path = ()
    count: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        head = _HEAD.match(line)
        if head:
            table = _parts(head[2])
            if head[1] == "[[":
                found.setdefault(table, number)
                at = count[table] = count.get(table, -1) + 1
                table = (*table, at)
            else:
                table = _inside(table, count)
            found.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            found.setdefault((*table, *_parts(key[1])), number)
    return found


def _inside(table: Path, count: dict[Path, int]) -> Path:
    """[nodes.labels] belongs to the last [[nodes]]."""
    for end in range(len(table), 0, -1):
        if table[:end] in count:
            return (*table[:end], count[table[:end]], *table[end:])
    return table


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
