"""One-time tickets: for what a browser opens without being able to send a header.

A ticket is good for one use, for seconds, for one person and one purpose. It is kept in memory
only: after a restart a page asks for another.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from danlu.access.errors import TooMany
from danlu.access.gate import Gate, digest_of
from danlu.access.principal import Principal

LASTS = 30.0
MOST_OF_ONE = 100
MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Ticket:
    who: Principal
    purpose: str
    until: float


class Tickets:
    def __init__(self, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate = gate
        self._clock = clock
        self._open: OrderedDict[str, _Ticket] = OrderedDict()  # the oldest first

    def make(self, who: Principal, purpose: str) -> str:
        """Raises TooMany."""
        self._drop_expired()
        mine = sum(ticket.who.user_id == who.user_id for ticket in self._open.values())
        if mine >= MOST_OF_ONE or len(self._open) >= MOST:
            raise TooMany(LASTS)
        ticket = secrets.token_urlsafe(32)
        self._open[digest_of(ticket)] = _Ticket(who, purpose, self._clock() + LASTS)
        return ticket

    async def redeem(self, ticket: str, purpose: str) -> Principal | None:
        """Who asked for it, as they are now. It is spent, also where it was for something else."""
        self._drop_expired()
        found = self._open.pop(digest_of(ticket), None)
        if found is None or found.purpose != purpose:
            return None
        return await self._gate.again(found.who)

    def _drop_expired(self) -> None:
        now = self._clock()
        while self._open and next(iter(self._open.values())).until <= now:
            self._open.popitem(last=False)
