"""Whatever is put in comes out the same, on both databases."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from danlu.spec.placement import Placement
from danlu.spec.states import Reason, State
from danlu.store import attempts, events, jobs, meta, secrets
from danlu.store.database import Connection
from danlu.store.rows import AttemptRow, EventRow, JobRow
from tests.store.reading import all_events
from tests.store.samples import a_job

# A text in a database has no NUL and no half of a character; inside JSON anything goes.
letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers(-(2**63), 2**63 - 1)
times = st.floats(allow_nan=False)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json, max_size=4)
maybe = st.none()

job_rows = st.builds(
    JobRow,
    id=letters,
    owner=letters,
    name=letters,
    number=st.just(0),
    kind=letters,
    state=st.sampled_from(State),
    spec=objects,
    queue=letters,
    priority=numbers,
    submitted_at=times,
    seq=st.just(0),
    group=maybe | letters,
    reason=maybe | st.sampled_from(Reason),
    detail=objects,
    exit_code=maybe | numbers,
    started_at=maybe | times,
    ended_at=maybe | times,
    attempt=numbers,
    failures=numbers,
    faults=numbers,
    held=st.booleans(),
    array_id=maybe | letters,
    array_index=maybe | st.integers(0, 2**31),
)
indexes = st.lists(st.integers(0, 64), max_size=3).map(tuple)
placements = st.lists(st.builds(Placement, letters, indexes, numbers, indexes), max_size=3).map(
    tuple
)
attempt_rows = st.builds(
    AttemptRow,
    id=letters,
    job_id=st.just("job"),
    number=numbers,
    state=st.sampled_from(State),
    epoch=numbers,
    places=placements,
    created_at=times,
    reason=maybe | st.sampled_from(Reason),
    detail=objects,
    started_at=maybe | times,
    ended_at=maybe | times,
    stop=maybe | objects | st.fixed_dictionaries({"why": letters, "to": placements}),
    tasks=st.lists(objects, max_size=3),
    engine=letters,
    handle=letters,
    installation=letters,
)
event_rows = st.builds(
    EventRow, job_id=maybe | letters, at=times, kind=letters, actor=letters, data=objects
)

on_one_database = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@on_one_database
@given(row=job_rows)
def test_a_job_comes_back_as_it_was(connection: Connection, row: JobRow) -> None:
    connection.begin()
    (inserted,) = jobs.insert_jobs(connection.tx, [row])
    assert inserted.row == dataclasses.replace(row, number=1, seq=1)
    assert jobs.get_job(connection.tx, row.id) == inserted.row
    assert jobs.find_job(connection.tx, row.owner, row.name, 1, row.array_index) == [inserted.row]
    connection.rollback()


@on_one_database
@given(row=attempt_rows)
def test_an_attempt_comes_back_as_it_was(connection: Connection, row: AttemptRow) -> None:
    connection.begin()
    jobs.insert_jobs(connection.tx, [a_job(id="job")])
    attempts.insert_attempt(connection.tx, row)
    assert attempts.attempts_of(connection.tx, row.job_id) == [row]
    assert attempts.attempts_of(connection.tx, "job") == [row]
    connection.rollback()


@on_one_database
@given(rows=st.lists(event_rows, max_size=4))
def test_events_come_back_as_they_were(connection: Connection, rows: list[EventRow]) -> None:
    connection.begin()
    seqs = events.append(connection.tx, rows)
    numbered = [dataclasses.replace(row, seq=seq) for row, seq in zip(rows, seqs, strict=True)]
    assert all_events(connection.tx) == numbered
    connection.rollback()


@on_one_database
@given(name=letters, value=letters, later=letters)
def test_secrets_and_facts_come_back_as_they_were(
    connection: Connection, name: str, value: str, later: str
) -> None:
    connection.begin()
    secrets.put_secret(connection.tx, "alice", name, value)
    meta.put_meta(connection.tx, name, value)
    assert secrets.get_secret(connection.tx, "alice", name) == value
    assert secrets.get_secret(connection.tx, "bob", name) is None
    secrets.put_secret(connection.tx, "alice", name, later)
    meta.put_meta(connection.tx, name, later)
    assert secrets.get_secret(connection.tx, "alice", name) == later
    assert meta.get_meta(connection.tx, name) == later
    assert secrets.list_secrets(connection.tx, "alice") == [name]
    connection.rollback()
