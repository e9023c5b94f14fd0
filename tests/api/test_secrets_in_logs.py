"""The values of a job's secrets are masked wherever its output is shown."""

from __future__ import annotations

import os
from pathlib import Path

from tests.api.harness import Harness, eventually, wait_for_file
from tests.api.people_harness import PeopleHarness

KEY = "sk-proj-4815162342"
STARS = "*" * len(KEY)


def use(harness: Harness, value: str = KEY, name: str = "wandb") -> None:
    harness.http.put(f"/secrets/{name}", json={"value": value}).raise_for_status()


def test_a_log_shows_no_value(harness: Harness) -> None:
    use(harness)
    job = harness.run("echo key=$KEY. other", secrets={"KEY": "wandb"})
    assert harness.log(job) == f"key={STARS}. other\n".encode()
    assert harness.log(job, follow="true") == harness.log(job)
    assert harness.log(job, tail=1) == harness.log(job)


def test_the_owner_can_read_it_as_it_is(harness: Harness) -> None:
    use(harness)
    job = harness.run("echo key=$KEY. other", secrets={"KEY": "wandb"})
    assert harness.log(job, raw="true") == f"key={KEY}. other\n".encode()
    assert harness.log(job, raw="true", follow="true") == harness.log(job, raw="true")


def test_every_part_of_a_log_is_masked_alike(harness: Harness) -> None:
    use(harness)
    job = harness.run("printf 'a%sb%sc' $KEY $KEY", secrets={"KEY": "wandb"})
    whole = f"a{STARS}b{STARS}c".encode()
    for offset in range(len(whole) + 1):
        assert harness.log(job, offset=offset, limit=7) == whole[offset : offset + 7]
    for offset in range(0, len(whole), 5):
        assert harness.log(job, offset=offset) == whole[offset:]
        assert harness.log(job, offset=offset, follow="true", limit=9) == whole[offset:][:9]


def test_a_value_that_is_printed_in_pieces_is_masked(harness: Harness, tmp_path: Path) -> None:
    use(harness)
    go = tmp_path / "go"
    command = f"printf 'key=%s' ${{KEY%62342}}; {wait_for_file(go)}; printf '62342;'"
    job = harness.submit(command=["bash", "-c", command], secrets={"KEY": "wandb"})
    eventually(lambda: len(harness.log(job)) > 10)
    assert b"sk-" not in harness.log(job)
    with harness.following(job) as answer:
        go.touch()
        assert answer.read() == f"key={STARS};".encode()


def test_searching_finds_no_value(harness: Harness) -> None:
    use(harness)
    job = harness.run("echo one; echo key=$KEY", secrets={"KEY": "wandb"})
    where = f"/jobs/{job['id']}/logs/search"
    assert harness.get(where, q=KEY)["matches"] == []
    assert harness.get(where, q="key=")["matches"] == [
        {"offset": 4, "line": 2, "text": f"key={STARS}"}
    ]


def test_neither_reasons_nor_events_show_a_value(harness: Harness) -> None:
    use(harness)
    job = harness.run(
        'echo "RuntimeError: cannot sign in with $KEY"; exit 3', secrets={"KEY": "wandb"}
    )
    shown = str([harness.show(job), harness.why(job), harness.events(job)])
    assert STARS in shown
    assert KEY not in shown


def test_a_value_stays_masked_when_it_is_replaced_or_deleted(harness: Harness) -> None:
    use(harness, name="rotated")
    job = harness.run("echo $KEY", secrets={"KEY": "rotated"})
    use(harness, "another-value-of-it", name="rotated")
    assert harness.log(job) == f"{STARS}\n".encode()
    harness.http.delete("/secrets/rotated").raise_for_status()
    assert harness.log(job) == f"{STARS}\n".encode()


def test_only_the_owner_may_read_it_unmasked(people_harness: PeopleHarness) -> None:
    group = people_harness.group()
    owner, leader = people_harness.person(group), people_harness.person(leads=group)
    owner.do("PUT", "/secrets/wandb", {"value": KEY})
    job = owner.submit(command="echo $KEY", secrets={"KEY": "wandb"}, held=False, group=group)
    people_harness.harness.wait(job)
    where = f"/jobs/{job['id']}/logs"
    assert owner.http.get(where, params={"raw": "true"}).text == f"{KEY}\n"
    for other in (people_harness.admin, leader):
        assert other.http.get(where).text == f"{STARS}\n"
        assert other.http.get(where, params={"raw": "true"}).status_code == 403


def test_the_file_itself_keeps_every_byte(harness: Harness) -> None:
    use(harness)
    job = harness.run("echo $KEY", secrets={"KEY": "wandb"})
    found = [
        path
        for folder, _, files in os.walk(harness.server.data)
        for path in (Path(folder) / name for name in files)
        if path.name == "out" or path.suffix == ".log" or "out" in path.name
        if path.is_file() and path.read_bytes() == f"{KEY}\n".encode()
    ]
    assert found, f"no file holds what {job['ref']} printed"
