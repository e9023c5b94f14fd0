"""How long those who guess must wait, by a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.access.door import Door, place_of
from danlu.access.errors import TooMany
from danlu.access.throttle import Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tries(door: Door, clock: Clock, name: str, address: str, count: int, pause: float) -> int:
    """How many of so many tries get through, each so long after the one before."""
    through = 0
    for _ in range(count):
        clock.now += pause
        try:
            door.knock(name, address)
            through += 1
        except TooMany:
            pass
    return through


def test_a_day_of_guessing_from_one_address_gets_few_tries() -> None:
    clock = Clock()
    door = Door(clock)
    assert tries(door, clock, "alice", "10.0.0.1", 86_400, 1.0) < 400


def test_the_owner_comes_in_from_elsewhere_at_any_time() -> None:
    clock = Clock()
    door = Door(clock)
    for minute in range(60):
        tries(door, clock, "alice", "10.0.0.1", 60, 1.0)
        door.knock("alice", f"10.0.1.{minute}")
        door.opened("alice", f"10.0.1.{minute}")


def test_a_guesser_who_goes_through_all_names_is_slowed_down_too() -> None:
    clock = Clock()
    door = Door(clock)
    through = sum(tries(door, clock, f"user{n}", "10.0.0.1", 1, 0.01) for n in range(10_000))
    assert through < 60


def test_a_name_tried_from_very_many_addresses_waits_but_not_where_its_owner_was() -> None:
    clock = Clock()
    door = Door(clock)
    door.knock("alice", "10.9.9.9")
    door.opened("alice", "10.9.9.9")
    through = sum(
        tries(door, clock, "alice", f"10.{n >> 8}.{n & 255}.1", 1, 0.01) for n in range(5000)
    )
    assert through < 200
    door.knock("alice", "10.9.9.9")
    clock.now += 31
    door.knock("alice", "192.0.2.1")  # and elsewhere after half a minute


def test_guessing_at_an_address_does_not_lock_out_those_who_signed_in_there() -> None:
    clock = Clock()
    door = Door(clock)
    door.recall([("alice", "127.0.0.1")])
    for number in range(1000):
        tries(door, clock, f"user{number}", f"127.0.{number >> 8}.{number & 255}", 1, 0.01)
    door.knock("alice", "::1")
    with pytest.raises(TooMany):
        door.knock("bob", "127.0.0.1")


def test_nobody_fills_the_memory_with_addresses_of_their_own() -> None:
    door = Door(Clock())
    door.recall(("eve", f"2001:db8:{n:x}::1") for n in range(1000))
    assert not door.knows("eve", "2001:db8:1::1")
    assert door.knows("eve", f"2001:db8:{999:x}::9")


def test_a_few_slips_cost_nothing_and_success_forgives_them() -> None:
    clock = Clock()
    door = Door(clock)
    for _ in range(20):
        assert tries(door, clock, "alice", "10.0.0.1", 4, 1.0) == 4
        door.knock("alice", "10.0.0.1")
        door.opened("alice", "10.0.0.1")


def test_tries_that_come_at_the_same_moment_are_all_counted() -> None:
    door = Door(Clock())
    through = 0
    for _ in range(1000):
        try:
            door.knock("alice", "10.0.0.1")
            through += 1
        except TooMany:
            pass
    assert through == 5


def test_memory_stays_bounded_however_many_come() -> None:
    throttle = Throttle(free=1, most=60.0, leak=10.0, room=100)
    for number in range(10_000):
        throttle.charge(number, 0.0)
    assert len(throttle) == 100
    door = Door(Clock())
    for number in range(20_000):
        door.wrong_token(f"2001:db8:{number >> 8:x}:{number & 255:x}::1")
    assert len(door.take_refused()) <= 1001


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("local", "local"),
        ("127.0.0.1", "loopback"),
        ("127.5.6.7", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.9", "loopback"),
    ],
)
def test_one_network_of_ipv6_counts_as_one_and_so_does_loopback(address: str, place: str) -> None:
    assert place_of(address) == place


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60))
def test_waits_grow_to_their_bound_and_end(pauses: list[float]) -> None:
    throttle = Throttle(free=3, most=60.0, leak=1e9)
    now, before = 0.0, 0.0
    for number, pause in enumerate(pauses, 1):
        now += pause
        throttle.charge("x", now)
        wait = round(throttle.wait("x", now), 6)
        assert (wait == 0) == (number < 3)
        assert before <= wait <= 60 or wait == 60
        before = wait
        assert throttle.wait("x", now + 60) == 0
