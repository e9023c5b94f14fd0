"""Jobs, array elements and ids are named and read without ambiguity."""

from __future__ import annotations

import threading
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.errors import Wrong, shorten
from danlu.spec.ids import is_uuid, uuid7
from danlu.spec.job import Array
from danlu.spec.refs import JobRef, format_array, parse_array, parse_ref
from tests.spec.strategies import arrays, names

UUID = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("mnist-3", JobRef(None, "mnist", 3)),
        ("alice/mnist-3", JobRef("alice", "mnist", 3)),
        ("alice~mnist-3", JobRef("alice", "mnist", 3)),
        ("mnist-3.7", JobRef(None, "mnist", 3, 7)),
        ("vit-2-1", JobRef(None, "vit-2", 1)),
        ("v-1.5-3", JobRef(None, "v-1.5", 3)),
        ("v-1.5-3.0", JobRef(None, "v-1.5", 3, 0)),
        (UUID, JobRef(id=UUID)),
        (UUID.upper(), JobRef(id=UUID)),
        (" mnist-3 ", JobRef(None, "mnist", 3)),
        ("alice/训练-3", JobRef("alice", "训练", 3)),
    ],
    ids=shorten,
)
def test_a_reference_is_read(text: str, ref: JobRef) -> None:
    assert parse_ref(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mnist",
        "mnist-",
        "-3",
        "mnist-0",
        "mnist-03",
        "mnist-3.",
        "mnist-3.07",
        "a/b/c-3",
        "/mnist-3",
        "mnist-3-",
        "中 文-3",
        "mnist-٣",
        "x" * 65 + "-3",
        "mnist-" + "9" * 30,
        "a b-3",
    ],
    ids=shorten,
)
def test_what_names_no_job_is_refused(text: str) -> None:
    with pytest.raises(Wrong, match="is not a job reference"):
        parse_ref(text)


@given(
    st.none() | st.from_regex(r"[a-z][a-z0-9_.-]{0,20}", fullmatch=True),
    names,
    st.integers(1, 10**9),
    st.none() | st.integers(0, 10**8),
)
def test_every_reference_reads_back(
    owner: str | None, name: str, number: int, index: int | None
) -> None:
    ref = JobRef(owner, name, number, index)
    assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    ("written", "array"),
    [
        (3, Array((0, 1, 2))),
        ("3", Array((0, 1, 2))),
        ("3%2", Array((0, 1, 2), 2)),
        ("0-9:2%4", Array((0, 2, 4, 6, 8), 4)),
        ("1,3,5-7", Array((1, 3, 5, 6, 7))),
        (" 1, 3 ", Array((1, 3))),
        ("5-5", Array((5,))),
        ([4, 2], Array((4, 2))),
        (["1", 2], Array((1, 2))),
    ],
    ids=shorten,
)
def test_an_array_is_read(written: object, array: Array) -> None:
    assert parse_array(written) == array


@pytest.mark.parametrize(
    "written",
    [
        "",
        "%",
        "0-9%",
        "0-9%0",
        "9-0",
        "0-9:0",
        "a",
        "1,,2",
        "1-2-3",
        "-1",
        0,
        -5,
        True,
        None,
        {},
        [],
        [1.5],
        [-1],
        [True],
        ["x"],
        [10**12],
        "1,1",
        [2, 2],
        "0-999999999",
        10**7,
        2.5,
        "0-99999,0-99999",
    ],
    ids=shorten,
)
def test_what_is_no_array_is_refused_in_both_languages(written: object) -> None:
    with pytest.raises(Wrong) as caught:
        parse_array(written)
    assert caught.value.findings[0].message.en
    assert caught.value.findings[0].message.zh


@given(arrays)
def test_every_array_reads_back(array: Array) -> None:
    assert parse_array(format_array(array)) == array


def test_ids_are_uuids_of_version_7_and_tell_when_they_were_made() -> None:
    before = time.time()
    made = uuid7()
    assert uuid.UUID(made).version == 7
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert is_uuid(made)
    assert abs(int(made[:8] + made[9:13], 16) / 1000 - before) < 60


def test_ids_grow_also_when_the_clock_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    clock = iter([now, now, now - 10**9, now + 1, now + 10**9])
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    made = [uuid7() for _ in range(5)]
    assert made == sorted(set(made))


def test_threads_never_make_the_same_id() -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def work(mine: list[str]) -> None:
        mine.extend(uuid7() for _ in range(2000))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for mine in made for each in mine}) == 8000
    assert all(mine == sorted(mine) for mine in made)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("42", JobRef(seq=42)),
        (" 42 ", JobRef(seq=42)),
        ("42_7", JobRef(seq=42, index=7)),
    ],
)
def test_a_job_may_go_by_its_number_over_all_jobs(text: str, ref: JobRef) -> None:
    assert parse_ref(text) == ref
    assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize("text", ["0", "-1", "1_", "_1", "1.5", "01", "9" * 30])
def test_other_numbers_name_no_job(text: str) -> None:
    with pytest.raises(Wrong):
        parse_ref(text)
