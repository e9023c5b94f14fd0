"""Nodes named in a foreign file: `node[01-03,7],login`, or comma-separated names."""

from __future__ import annotations

import re

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path, wrong
from danlu.spec.refs import NAME_PATTERN
from danlu.spec.text import Text

MOST = 1000
_NAME = re.compile(NAME_PATTERN, re.ASCII)
_RANGES = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)", re.ASCII)
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def put_nodes(draft: Draft, native: str, text: str, site: Site, key: Path) -> None:
    """Keeps the names that exist here; notes the others."""
    names = draft.read(read_names, text, key)
    if not names:
        return
    here = [name for name in names if not site.nodes or name in site.nodes]
    others = [name for name in names if name not in here]
    if others:
        listed = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        draft.note(
            key,
            Text(f"no node {listed} here; ignored", f"这里没有节点 {listed}；已忽略"),
        )
    if here:
        draft.put(("nodes", native), here, key)


def read_names(value: object) -> list[str]:
    found: list[str] = []
    for match in re.finditer(r"(?:\[[^\[\]]*\]|[^,])+", str(value)):
        found += _expanded(match[0].strip())
        if len(found) > MOST:
            raise wrong(value, Text(f"names more than {MOST} nodes", f"超过 {MOST} 个节点"))
    if not all(_NAME.fullmatch(name) for name in found):
        raise _wrong(value)
    return list(dict.fromkeys(found))


def _expanded(part: str) -> list[str]:
    match = _RANGES.fullmatch(part)
    if match is None:
        return [part] if part else []
    names: list[str] = []
    for span in match[2].split(","):
        ends = _SPAN.fullmatch(span)
        if ends is None:
            raise _wrong(part)
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if high - low > MOST:
            raise wrong(part, Text(f"names more than {MOST} nodes", f"超过 {MOST} 个节点"))
        names += [
            f"{match[1]}{str(number).zfill(len(ends[1]))}{match[3]}"
            for number in range(low, high + 1)
        ]
    return names


def _wrong(value: object) -> Exception:
    return wrong(
        value,
        Text(
            "is not a list of nodes; use names such as n1,n2 or n[1-4]",
            "不是节点列表；请写节点名，例如 n1,n2 或 n[1-4]",
        ),
    )
