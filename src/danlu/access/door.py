"""Rate limits for sign-in, by name and by address.

Guessing slows down the address it comes from; the owner can still sign in from elsewhere. Only when
a name is tried from very many addresses does the name itself have to wait, for seconds. At an
address its owner has signed in from, only failures with this name and address count.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from danlu.access.errors import TooMany
from danlu.access.throttle import Throttle

MOST_PLACES = 20  # remembered per name; the least recently used is forgotten first
MOST_ADDRESSES_COUNTED = 1_000
ELSEWHERE = "elsewhere"
LOOPBACK = "loopback"


class Door:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pairs = Throttle(free=5, most=300.0, leak=600.0)
        self._addresses = Throttle(free=30, most=60.0, leak=30.0)
        self._names = Throttle(free=50, most=30.0, leak=10.0)
        self._tokens = Throttle(free=20, most=60.0, leak=10.0)
        self._strangers = Throttle(free=10, most=600.0, leak=60.0)
        self._known: dict[str, OrderedDict[str, None]] = {}  # name -> places
        self._refused: dict[tuple[str, str], int] = {}

    def knock(self, name: str, address: str) -> None:
        """Call before checking a password. Raises TooMany."""
        place, now = place_of(address), self._clock()
        pair = (name, place)
        waits = [self._pairs.wait(pair, now)]
        if place not in self._known.get(name, ()):
            waits += [self._addresses.wait(place, now), self._names.wait(name, now)]
        if max(waits) > 0:
            self._count("login.throttled", place)
            raise TooMany(max(waits))
        self._pairs.charge(pair, now)
        self._addresses.charge(place, now)
        self._names.charge(name, now)

    def opened(self, name: str, address: str) -> None:
        """The password was right, so the failures before it were the owner's typos."""
        place = place_of(address)
        pair = (name, place)
        slips = self._pairs.clear(pair)
        self._addresses.refund(place, slips)
        self._names.refund(name, slips)
        self._remember(name, place)

    def recall(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Who signed in from which address before this server started, oldest first."""
        for name, address in pairs:
            self._remember(name, place_of(address))

    def _remember(self, name: str, place: str) -> None:
        places = self._known.setdefault(name, OrderedDict())
        places[place] = None
        places.move_to_end(place)
        if len(places) > MOST_PLACES:
            places.popitem(last=False)

    def knows(self, name: str, address: str) -> bool:
        """Whether the owner of the name has come in from there before."""
        return place_of(address) in self._known.get(name, ())

    def not_tried(self, name: str, address: str) -> None:
        """The password was not checked for lack of time."""
        place = place_of(address)
        self._pairs.refund((name, place))
        self._addresses.refund(place)
        self._names.refund(name)

    def stranger(self, address: str) -> None:
        """For costly requests without an account. Raises TooMany."""
        place, now = place_of(address), self._clock()
        wait = self._strangers.wait(place, now)
        if wait > 0:
            self._count("signup.throttled", place)
            raise TooMany(wait)
        self._strangers.charge(place, now)

    def welcomed(self, address: str) -> None:
        """They had an invitation: a whole class may share one address."""
        self._strangers.refund(place_of(address))

    def wrong_token(self, address: str) -> None:
        """Raises TooMany after many failures. A valid token is accepted at any time: its owner may
        share the address, and nobody guesses 256 bits.
        """
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
        """How many were rejected since the last call: (act, address) -> count."""
        refused, self._refused = self._refused, {}
        return refused

    def put_back(self, refused: dict[tuple[str, str], int]) -> None:
        for key, count in refused.items():
            self._refused[key] = self._refused.get(key, 0) + count


def place_of(address: str) -> str:
    """One customer usually owns a whole IPv6 /64, and this machine all loopback addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if parsed.is_loopback:
        return LOOPBACK
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.IPv6Network((parsed, 64), strict=False))
