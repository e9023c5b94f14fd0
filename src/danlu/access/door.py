"""The door: how often somebody may try to come in, by name and by address.

One who guesses is slowed down where they guess from: the owner of the name still comes in from
elsewhere. Only when a name is tried from very many addresses does the name itself wait, for
seconds, and never where its owner has come in from before.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

from danlu.access.errors import TooMany
from danlu.access.throttle import Throttle

KNOWN = 10_000
MOST_ADDRESSES_COUNTED = 1_000
ELSEWHERE = "elsewhere"


class Door:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pairs = Throttle(free=5, most=300.0, leak=600.0)
        self._addresses = Throttle(free=30, most=60.0, leak=30.0)
        self._names = Throttle(free=50, most=30.0, leak=10.0)
        self._tokens = Throttle(free=20, most=60.0, leak=10.0)
        self._strangers = Throttle(free=10, most=600.0, leak=60.0)
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._refused: dict[tuple[str, str], int] = {}

    def knock(self, name: str, address: str) -> None:
        """Before a password is looked at. Raises TooMany."""
        place, now = place_of(address), self._clock()
        pair = (name, place)
        waits = [self._pairs.wait(pair, now), self._addresses.wait(place, now)]
        if pair not in self._known:
            waits.append(self._names.wait(name, now))
        if max(waits) > 0:
            self._count("login.throttled", place)
            raise TooMany(max(waits))
        self._pairs.charge(pair, now)
        self._addresses.charge(place, now)
        self._names.charge(name, now)

    def opened(self, name: str, address: str) -> None:
        """The password was right: what was tried before were the owner's own slips."""
        place = place_of(address)
        pair = (name, place)
        slips = self._pairs.clear(pair)
        self._addresses.refund(place, slips)
        self._names.refund(name, slips)
        self._known[pair] = None
        self._known.move_to_end(pair)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def not_tried(self, name: str, address: str) -> None:
        """We had no time to look at the password."""
        place = place_of(address)
        self._pairs.refund((name, place))
        self._addresses.refund(place)
        self._names.refund(name)

    def stranger(self, address: str) -> None:
        """Somebody without an account wants something that costs work. Raises TooMany."""
        place, now = place_of(address), self._clock()
        wait = self._strangers.wait(place, now)
        if wait > 0:
            self._count("signup.throttled", place)
            raise TooMany(wait)
        self._strangers.charge(place, now)

    def welcomed(self, address: str) -> None:
        """They had an invitation: a whole class may sit behind one address."""
        self._strangers.refund(place_of(address))

    def wrong_token(self, address: str) -> None:
        """Raises TooMany where there were many. A right token is let in at any time: its owner
        may sit behind the same address, and nobody guesses 256 bits."""
        place, now = place_of(address), self._clock()
        self._count("token.wrong", place)
        wait = self._tokens.wait(place, now)
        if wait > 0:
            raise TooMany(wait)
        self._tokens.charge(place, now)

    def _count(self, act: str, place: str) -> None:
        key = (act, place)
        if key not in self._refused and len(self._refused) >= MOST_ADDRESSES_COUNTED:
            key = (act, ELSEWHERE)
        self._refused[key] = self._refused.get(key, 0) + 1

    def take_refused(self) -> dict[tuple[str, str], int]:
        """How many were sent away since the last time: (act, address) -> count."""
        refused, self._refused = self._refused, {}
        return refused

    def put_back(self, refused: dict[tuple[str, str], int]) -> None:
        for key, count in refused.items():
            self._refused[key] = self._refused.get(key, 0) + count

    @property
    def turned_away(self) -> bool:
        return bool(self._refused)


def place_of(address: str) -> str:
    """Who has one IPv6 address has 2^64 of them."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, 64), strict=False))
