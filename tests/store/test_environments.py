"""Environments come back as they were, on both databases; a name is one person's once."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.store import environments
from danlu.store.database import Connection
from danlu.store.rows import EnvironmentRow
from tests.store.test_rows import letters, maybe, objects, on_one_database, times

rows = st.builds(
    EnvironmentRow,
    id=letters,
    owner=letters,
    name=letters,
    created_at=times,
    request=objects,
    shared=st.lists(st.text(), max_size=3),
    job_id=maybe | letters,
    saved_image=maybe | letters,
)


def row(owner: str = "alice", name: str = "dev", **more: object) -> EnvironmentRow:
    made = EnvironmentRow(f"{owner}-{name}", owner, name, 1.0, {"gpus": 1})
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


@on_one_database
@given(row=rows, later=rows)
def test_an_environment_comes_back_as_it_was(
    connection: Connection, row: EnvironmentRow, later: EnvironmentRow
) -> None:
    connection.begin()
    environments.add(connection.tx, row)
    assert environments.get(connection.tx, row.id) == row
    assert environments.find(connection.tx, row.owner, row.name) == row
    changes = {"request": later.request, "shared": later.shared, "job_id": later.job_id}
    assert environments.update(connection.tx, row.id, **changes)
    changed = dataclasses.replace(row, **changes)  # type: ignore[arg-type]
    assert environments.every(connection.tx) == [changed]
    assert environments.remove(connection.tx, row.id)
    assert environments.get(connection.tx, row.id) is None
    connection.rollback()


def test_two_people_may_use_the_same_name_and_one_may_not(connection: Connection) -> None:
    connection.begin()
    environments.add(connection.tx, row("alice"))
    environments.add(connection.tx, row("bob"))
    assert [each.owner for each in environments.named(connection.tx, "dev")] == ["alice", "bob"]
    with pytest.raises(Exception, match=r"(?i)unique"):
        environments.add(connection.tx, row("alice", id="another"))
    connection.rollback()


def test_one_sees_ones_own_and_what_is_shared(connection: Connection) -> None:
    connection.begin()
    tx = connection.tx
    environments.add(tx, row("alice", shared=["b_b"]))
    environments.add(tx, row("carol", shared=["bob"]))
    environments.add(tx, row("bob"))
    assert [each.owner for each in environments.seen_by(tx, "bob")] == ["bob", "carol"]
    assert [each.owner for each in environments.seen_by(tx, "b_b")] == ["alice"]
    connection.rollback()


def test_a_job_leads_to_its_environment(connection: Connection) -> None:
    connection.begin()
    environments.add(connection.tx, row(job_id="job"))
    assert environments.of_job(connection.tx, "job") == row(job_id="job")
    assert environments.of_job(connection.tx, "other") is None
    assert environments.count_of(connection.tx, "alice") == 1
    assert environments.remove_all(connection.tx, "alice") == 1
    connection.rollback()
