"""How values look in the tables. JSON is kept as plain text in both databases."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam, update

from danlu.store.tx import Statement

_encoder = json.JSONEncoder(separators=(",", ":"))  # ASCII: PostgreSQL takes no NUL in a text
dumps = _encoder.encode
loads = json.loads

KEY = "row_key"  # no column may be called so


def changes(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    """Changes of a row as parameters; enums become their text, lists and mappings JSON."""
    encoded: dict[str, Any] = {}
    for name, value in values.items():
        if name not in table.c or name in ("id", "seq"):
            raise TypeError(f"{table.name} has nothing called {name!r} that could change")
        if isinstance(value, dict | list):
            encoded[name] = dumps(value)
        elif isinstance(value, str):
            encoded[name] = str(value)
        else:
            encoded[name] = value
    return encoded


@cache
def update_of(table: Table, names: tuple[str, ...]) -> Statement:
    """One statement for each set of columns that is ever changed together."""
    return Statement(
        update(table)
        .where(table.c.id == bindparam(KEY))
        .values({name: bindparam(name) for name in names})
    )
