"""How values are stored. JSON is plain text in both databases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam, update

from danlu.spec.placement import Placement
from danlu.store.tx import Statement


def _values(value: object) -> dict[str, Any]:
    if isinstance(value, Placement):
        return {
            "node": value.node,
            "gpus": value.gpus,
            "share": value.share,
            "ports": value.ports,
        }
    raise TypeError(f"a {type(value).__name__} cannot be stored")


# ASCII: PostgreSQL text cannot hold NUL
_encoder = json.JSONEncoder(separators=(",", ":"), default=_values)
dumps = _encoder.encode
loads = json.loads


def placements(values: Iterable[Mapping[str, Any]]) -> tuple[Placement, ...]:
    """From JSON. Rows of earlier versions also name task and role, which the order implies."""
    return tuple(
        Placement(
            each["node"],
            tuple(each["gpus"]),
            each.get("share", 0),
            tuple(each.get("ports", ())),
        )
        for each in values
    )


KEY = "row_key"  # no column may have this name


def changes(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    """Changes to a row as parameters; enums become their value, lists and mappings JSON."""
    encoded: dict[str, Any] = {}
    for name, value in values.items():
        if name not in table.c or name in ("id", "seq"):
            raise TypeError(f"{table.name} has no column {name!r} that can change")
        if isinstance(value, dict | list | tuple):
            encoded[name] = dumps(value)
        elif isinstance(value, str):
            encoded[name] = str(value)
        else:
            encoded[name] = value
    return encoded


@cache
def update_of(table: Table, names: tuple[str, ...]) -> Statement:
    """One statement for each set of columns that is updated together."""
    return Statement(
        update(table)
        .where(table.c.id == bindparam(KEY))
        .values({name: bindparam(name) for name in names})
    )
