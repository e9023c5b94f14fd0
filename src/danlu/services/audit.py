"""The audit log: who did what to what, when and from where."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.access import rules
from danlu.access.errors import NotAllowed
from danlu.access.gate import Gate
from danlu.access.principal import Asker
from danlu.spec.text import Text
from danlu.store import audit as audit_store
from danlu.store.rows import AuditRow
from danlu.store.store import Store


@dataclass(frozen=True, slots=True)
class Lines:
    rows: list[AuditRow]
    next: int | None  # pass as `before` for the next page; None: no more


class Audit:
    def __init__(self, store: Store, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    async def page(
        self,
        asks: Asker,
        *,
        actor: str | None = None,
        act: str | None = None,
        thing: str | None = None,
        since: float | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Lines:
        """Newest first."""
        if not rules.reads_audit(asks.who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        # Rejected sign-ins are written in batches; flush the pending ones first.
        await self._gate.tell()
        rows = await self._store.read(
            lambda tx: audit_store.lines(
                tx,
                actor=actor,
                act=act,
                thing=thing,
                since=since,
                before_seq=before,
                limit=limit + 1,
            )
        )
        more = len(rows) > limit
        rows = rows[:limit]
        return Lines(rows, rows[-1].seq if more else None)
