"""The spec of an array, stored once: its elements refer to it instead of each holding a copy."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, insert, select

from danlu.store.codec import dumps, loads
from danlu.store.rows import JobRow
from danlu.store.tables import specs
from danlu.store.tx import Statement, Tx

SHARED = ""
"""In place of an element's spec."""

_GET = Statement(select(specs.c.spec).where(specs.c.id == bindparam("id")))
_INSERT = Statement(insert(specs))


class ArraySpecs:
    """For one operation: every spec is read and encoded once, however many elements there are."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._read: dict[str, dict[str, Any]] = {}
        self._encoded: dict[str, tuple[dict[str, Any], bool]] = {}

    def of(self, array_id: str) -> dict[str, Any]:
        if array_id not in self._read:
            row = self._tx.row(_GET, {"id": array_id})
            assert row is not None, array_id
            self._read[array_id] = loads(row[0])
        return self._read[array_id]

    def keep(self, row: JobRow) -> bool:
        """Stores the spec of its array. False: the array was stored with another one."""
        assert row.array_id is not None
        spec, same = self._encoded.get(row.array_id, (None, False))
        if spec is not row.spec:
            same = self._store(row.array_id, dumps(row.spec))
            self._encoded[row.array_id] = (row.spec, same)
        return same

    def _store(self, array_id: str, text: str) -> bool:
        found = self._tx.row(_GET, {"id": array_id})
        if found is None:
            self._tx.run(_INSERT, {"id": array_id, "spec": text})
        return found is None or found[0] == text
