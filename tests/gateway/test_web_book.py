"""Which port a door gets."""

from __future__ import annotations

from pathlib import Path

from danlu.gateway.web.book import MOST_OF_ONE, Book, Door, has_doors

NOBODY = lambda door: False  # noqa: E731


def door(owner: str, number: int, used: float = 0.0) -> Door:
    return Door(f"{owner}{number}", f"job{number}", f"{owner}/x-{number}", owner, 0, "lab", 0, used)


def placed(book: Book, made: Door) -> int:
    made.port = next(book.choices(made, NOBODY))
    book.put(made)
    return made.port


def test_a_port_stays_with_its_owner_while_others_are_free(tmp_path: Path) -> None:
    book = Book(tmp_path, 1, 4)
    first = door("alice", 1)
    assert placed(book, first) == 1
    book.drop(first)
    assert placed(book, door("bob", 1)) == 2
    assert placed(book, door("alice", 2)) == 1
    assert placed(book, door("bob", 2)) == 3


def test_the_port_out_of_use_for_longest_goes_to_another_first(tmp_path: Path) -> None:
    book = Book(tmp_path, 1, 2)
    for number, owner in enumerate(("alice", "bob")):
        ended = door(owner, number, used=float(number))
        placed(book, ended)
        ended.over_since = 5.0
    assert placed(book, door("carol", 1)) == 1
    assert placed(book, door("carol", 2)) == 2
    assert list(book.choices(door("dave", 1), NOBODY)) == []


def test_nobody_takes_all_ports(tmp_path: Path) -> None:
    book = Book(tmp_path, 1, 100)
    ports = [placed(book, door("alice", number, used=number)) for number in range(MOST_OF_ONE)]
    assert placed(book, door("alice", 99, used=99.0)) == ports[0], "the one unused for longest"
    assert len(book.doors) == MOST_OF_ONE
    assert list(book.choices(door("alice", 100), lambda _: True)) == []
    assert next(book.choices(door("bob", 1), NOBODY)) == MOST_OF_ONE + 1


def test_the_next_gateway_finds_the_doors_and_whose_the_ports_were(tmp_path: Path) -> None:
    book = Book(tmp_path, 1, 4)
    assert not has_doors(tmp_path)
    gone, kept = door("alice", 1), door("bob", 1)
    placed(book, gone)
    placed(book, kept)
    book.drop(gone)
    again = Book(tmp_path, 1, 4)
    assert has_doors(tmp_path)
    assert again.at(2) == kept
    assert next(again.choices(door("carol", 1), NOBODY)) == 3
    assert next(again.choices(door("alice", 2), NOBODY)) == 1
    (tmp_path / "doors.json").write_text("not json")
    assert Book(tmp_path, 1, 4).doors == {}
    assert not has_doors(tmp_path)
