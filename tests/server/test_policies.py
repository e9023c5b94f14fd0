"""The policies that are measured are the ones a server runs: chosen by name in danlu.toml."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from danlu.sched.order.queue_order import ORDERS
from danlu.sched.place.node_order import ORDERS as PLACES
from tests.api.harness import Harness, Job, eventually
from tests.api.people_harness import PeopleHarness, Someone
from tests.support.server import DanluServer

SMALL: dict[str, Any] = {"cpus": 0.1, "memory": "64M"}
LONG = {"command": "sleep 1000", **SMALL}


def node(name: str, gpus: str, more: str = "") -> str:
    return f'[[nodes]]\nname = "{name}"\ncpus = 8\nmemory = "8G"\ngpus = "{gpus}"\n{more}\n'


@contextmanager
def harness(folder: Path, *config: str) -> Iterator[Harness]:
    server = DanluServer(folder / "data", "\n".join(("server.circle_of_trust = true", *config)))
    server.start()
    try:
        yield Harness(server)
    finally:
        server.cleanup()


@contextmanager
def people(harness: Harness) -> Iterator[PeopleHarness]:
    people_harness = PeopleHarness(harness)
    try:
        yield people_harness
    finally:
        people_harness.close()


def where(harness: Harness, job: Job) -> list[str]:
    found: list[str] = harness.until(job, "running")["nodes"]
    return found


def in_order_of_start(harness: Harness, *jobs: Job) -> list[str]:
    ended = [harness.wait(job) for job in jobs]
    return [job["name"] for job in sorted(ended, key=lambda job: job["started_at"])]


def stop(harness: Harness, job: Job) -> None:
    assert harness.http.post(f"/jobs/{job['id']}/stop", json={"now": True}).status_code == 200


# -- who is next ----------------------------------------------------------------------------------


def come_first_goes_first(harness: Harness) -> None:
    first = harness.until(harness.submit(gpus=1, **LONG), "running")
    jobs = [harness.submit(name=name, command="sleep 0.1", gpus=1, **SMALL) for name in ("b", "a")]
    high = harness.submit(name="high", command="sleep 0.1", gpus=1, priority=5, **SMALL)
    stop(harness, first)
    assert in_order_of_start(harness, *jobs, high) == ["high", "b", "a"]


def what_ends_before_the_first_may_start_goes_before_it(harness: Harness) -> None:
    """One GPU of two is in use for an hour; who needs both waits, and nobody delays him."""
    first = harness.until(harness.submit(gpus=1, time_limit="1h", **LONG), "running")
    both = harness.submit(name="both", gpus=2, command="true", time_limit="1h", **SMALL)
    late = harness.submit(name="late", gpus=1, time_limit="5h", command="true", **SMALL)
    soon = harness.submit(name="soon", gpus=1, time_limit="10m", command="true", **SMALL)
    assert harness.wait(soon)["state"] == "succeeded"
    assert [harness.show(job)["state"] for job in (both, late)] == ["queued", "queued"]
    eventually(lambda: "overtaken" in harness.kinds(both))
    stop(harness, first)
    assert in_order_of_start(harness, both, late) == ["both", "late"]


def fifo(harness: Harness) -> None:
    what_ends_before_the_first_may_start_goes_before_it(harness)
    two = harness.until(harness.submit(gpus=1, **LONG), "running")
    come_first_goes_first(harness)
    stop(harness, two)


def easy(harness: Harness) -> None:
    what_ends_before_the_first_may_start_goes_before_it(harness)


def fair(harness: Harness) -> None:
    """Who used GPUs of late goes behind who did not."""
    with people(harness) as people_harness:
        busy, idle = people_harness.person(), people_harness.person()
        first = busy.submit(**LONG, gpus=2, held=False)
        harness.until(first, "running")
        mine = busy.submit(name="busy", command="sleep 0.1", gpus=2, held=False, **SMALL)
        theirs = idle.submit(name="idle", command="sleep 0.1", gpus=2, held=False, **SMALL)
        stop(harness, first)
        assert in_order_of_start(harness, mine, theirs) == ["idle", "busy"]


def short_first(harness: Harness) -> None:
    first = harness.until(harness.submit(gpus=2, time_limit="1h", **LONG), "running")
    job = {"command": "sleep 0.1", "gpus": 2, **SMALL}
    long = harness.submit(name="long", time_limit="10h", **job)
    short = harness.submit(name="short", time_limit="5m", **job)
    stop(harness, first)
    assert in_order_of_start(harness, long, short) == ["short", "long"]


ORDER_ACTS: dict[str, Callable[[Harness], None]] = {
    "fifo": fifo,
    "easy": easy,
    "fair": fair,
    "short-first": short_first,
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_server_runs_each_order_by_its_name(order: str, tmp_path: Path) -> None:
    with harness(tmp_path, f'scheduler.order = "{order}"', node("n1", "2:RTX3090")) as running:
        ORDER_ACTS[order](running)


# -- where ----------------------------------------------------------------------------------------


def tight(harness: Harness) -> None:
    """The smallest hole that is large enough."""
    jobs = [harness.submit(gpus=1, **LONG) for _ in range(2)]
    assert [where(harness, job) for job in jobs] == [["small"], ["small"]]


def learned(harness: Harness) -> None:
    """Whoever needs four GPUs on one node still finds them."""
    jobs = [harness.submit(gpus=1, **LONG) for _ in range(2)]
    jobs.append(harness.submit(gpus=4, **LONG))
    assert [where(harness, job) for job in jobs] == [["small"], ["small"], ["large"]]


def spread(harness: Harness) -> None:
    jobs = [harness.submit(gpus=1, **LONG) for _ in range(4)]
    assert [where(harness, job)[0] for job in jobs[:2]] == ["large", "large"]
    assert {where(harness, job)[0] for job in jobs[2:]} == {"large", "small"}


def server(harness: Harness) -> None:
    """As the admin listed them."""
    assert where(harness, harness.submit(gpus=1, **LONG)) == ["large"]


def gpu(harness: Harness) -> None:
    """The rare model stays free."""
    assert where(harness, harness.submit(gpus=1, **LONG)) == ["large"]
    assert where(harness, harness.submit(gpus="1:T4", **LONG)) == ["small"]


def person(harness: Harness) -> None:
    """Beside one's own work, and away from that of others."""
    with people(harness) as people_harness:
        other = people_harness.person()
        first = harness.submit(gpus=1, nodes=["large"], **LONG)
        assert where(harness, first) == ["large"]
        assert where(harness, harness.submit(gpus=1, **LONG)) == ["large"]
        assert where(harness, other.submit(gpus=1, held=False, **LONG)) == ["small"]


PLACE_ACTS: dict[str, Callable[[Harness], None]] = {
    "tight": tight,
    "spread": spread,
    "server": server,
    "gpu": gpu,
    "person": person,
    "learned": learned,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_server_places_by_each_order_by_its_name(place: str, tmp_path: Path) -> None:
    models = {"gpu": "2:T4"}
    nodes = node("large", "4:RTX3090"), node("small", models.get(place, "2:RTX3090"))
    with harness(tmp_path, f'scheduler.place = "{place}"', *nodes) as running:
        PLACE_ACTS[place](running)


# -- what is lent comes back ----------------------------------------------------------------------

SHARES = """
[quotas.groups.owners]
guaranteed = 2
[queues.default]
"""


def two_groups(people_harness: PeopleHarness) -> tuple[Someone, Someone]:
    for name in ("owners", "guests"):
        people_harness.admin.do("POST", "/groups", {"name": name})
    return people_harness.person("owners"), people_harness.person("guests")


def test_lent_gpus_come_back_by_ending_preemptible_work_and_both_are_told(tmp_path: Path) -> None:
    with (
        harness(tmp_path, SHARES, "reclaim = true", node("n1", "2:RTX3090")) as running,
        people(running) as people_harness,
    ):
        owner, guest = two_groups(people_harness)
        job = {"held": False, "gpus": 1, **LONG}
        kept = guest.submit(**job, name="kept")
        running.until(kept, "running")
        lent = guest.submit(**job, name="lent", preemptible=True)
        running.until(lent, "running")
        mine = owner.submit(**job, name="mine")
        running.until(mine, "running")
        again = running.until(lent, "queued")
        assert again["attempt"] == 1
        told = [event["en"] for event in running.events(lent)]
        assert f"Preempted for {mine['ref']}: stopping, then queued again" in told
        assert f"Preempted: {mine['ref']} needed its resources (attempt 1), queued again" in (told)
        assert running.show(kept)["state"] == "running"
        assert_waits_again(running, lent, mine["ref"])
        stop(running, mine)
        assert running.until(lent, "running")["attempt"] == 2
        attempts = running.show(lent)["attempts"]
        assert [one["reason"] for one in attempts] == ["preempted", None]


def assert_waits_again(running: Harness, job: dict[str, Any], claimant: str) -> None:
    """It ran, and says so; the time it waits does not count as run time."""
    shown, why = running.show(job), running.why(job)
    listed = next(each for each in running.get("/jobs")["jobs"] if each["id"] == job["id"])
    for before in (shown["before"], why["before"], listed["before"]):
        assert before["reason"] == "preempted"
        assert claimant in before["reason_en"]
        assert before["ran"] == before["ended_at"] - before["started_at"]
    assert shown["nodes"] == listed["nodes"] == []
    assert "waits again. Preempted" in running.server.cli("show", job["ref"]).stdout.decode()
    assert "waits again. Preempted" in running.server.cli("why", job["ref"]).stdout.decode()


def test_a_job_that_is_being_ended_for_others_can_still_be_stopped_for_good(tmp_path: Path) -> None:
    with (
        harness(tmp_path, SHARES, "reclaim = true", node("n1", "1:RTX3090")) as running,
        people(running) as people_harness,
    ):
        owner, guest = two_groups(people_harness)
        stubborn = {"command": "trap '' TERM; echo up; sleep 1000 & wait; wait", **SMALL}
        lent = guest.submit(held=False, gpus=1, preemptible=True, grace="10m", **stubborn)
        running.until(lent, "running")
        eventually(lambda: "up" in running.lines(lent) or None)
        mine = owner.submit(held=False, gpus=1, **LONG)
        running.until(lent, "stopping")
        stop(running, lent)
        assert running.wait(lent)["reason"] == "stopped_by_user"
        running.until(mine, "running")


def test_where_nothing_is_lent_idle_guaranteed_gpus_wait_for_their_group(tmp_path: Path) -> None:
    with (
        harness(tmp_path, SHARES, "lend = false", node("n1", "3:RTX3090")) as running,
        people(running) as people_harness,
    ):
        owner, guest = two_groups(people_harness)
        job = {"held": False, "gpus": 1, **LONG}
        running.until(guest.submit(**job), "running")
        second = guest.submit(**job)
        why = running.why(second)
        assert [cause["kind"] for cause in why["causes"]] == ["guarantee"]
        for _ in range(2):
            running.until(owner.submit(**job), "running")
        assert running.show(second)["state"] == "queued"


@pytest.mark.parametrize("order", ["fifo", "easy"])
def test_movable_work_is_moved_together_for_who_needs_a_whole_node(
    order: str, tmp_path: Path
) -> None:
    rules = f'[queues.default]\nplace = "spread"\norder = "{order}"\nconsolidate = true\n'
    nodes = node("n1", "2:RTX3090"), node("n2", "2:RTX3090")
    with harness(tmp_path, rules, *nodes) as running:
        stays = running.submit(name="stays", gpus=1, nodes=["n1"], **LONG)
        goes = running.submit(name="goes", gpus=1, preemptible=True, **LONG)
        assert (where(running, stays), where(running, goes)) == (["n1"], ["n2"])
        whole = running.submit(name="whole", gpus=2, **LONG)
        assert where(running, whole) == ["n2"]
        moved = running.until(goes, "running")
        assert (moved["nodes"], moved["attempt"]) == (["n1"], 2)
        told = [event["en"] for event in running.events(goes)]
        assert f"Moving to n1 so that {whole['ref']} can start" in told
        assert running.show(stays)["attempt"] == 1


def test_a_job_may_say_on_which_nodes(tmp_path: Path) -> None:
    nodes = node("n1", "2:RTX3090"), node("n2", "2:RTX3090", 'labels = ["ib", "new"]')
    with harness(tmp_path, *nodes) as running:
        job = {"gpus": 1, **LONG}
        assert where(running, running.submit(nodes={"labels": ["ib"]}, **job)) == ["n2"]
        assert where(running, running.submit(nodes={"exclude": "n2"}, **job)) == ["n1"]
        words = ["submit", "--node", "n2", "-g", "1", "-c", "0.1", "-m", "64M", "-w", "-"]
        done = running.server.cli(*words, "--preemptible", "--json", "--", "sleep", "1000")
        found = running.until(json.loads(done.stdout)["jobs"][0], "running")
        assert found["nodes"] == ["n2"]
        assert running.show(found)["spec"]["nodes"] == {"only": ["n2"]}
        assert running.show(found)["spec"]["preemptible"] is True
        very = running.submit(gpus={"indexes": [1]}, nodes=["n1"], **LONG)
        assert running.until(very, "running")["nodes"] == ["n1"]
        assert running.show(very)["tasks"][0]["gpus"] == [1]
        assert running.show(very)["spec"]["gpus"] == {"indexes": [1]}
        assert running.refusal(gpus={"indexes": [7]}, **LONG)["key"] == "gpus"
        assert running.refusal(gpus={"indexes": [1, 1]}, **LONG)["key"] == "gpus.indexes"
        running.stop(very, now=True)
        waits = running.submit(nodes=["n2"], **job)
        why = running.why(waits)
        assert why["sentence_en"] == "Needs 1 GPU: every GPU on the nodes it may use is in use"
        tried = {one["kind"]: one["effect"] for one in why["suggestions"]}
        assert tried["drop_place"] == "starts_now"
        for wrong in ({"labels": ["nobody-has"]}, ["n7"], {"only": ["n1"], "labels": ["ib"]}):
            assert running.refusal(nodes=wrong, **job)["key"] == "nodes"


def test_a_server_killed_while_it_ends_work_for_others_goes_on_with_it(tmp_path: Path) -> None:
    with (
        harness(tmp_path, SHARES, "reclaim = true", node("n1", "1:RTX3090")) as running,
        people(running) as people_harness,
    ):
        owner, guest = two_groups(people_harness)
        stubborn = {"command": "trap '' TERM; echo up; sleep 1000 & wait; wait", **SMALL}
        lent = guest.submit(held=False, gpus=1, preemptible=True, grace="3s", **stubborn)
        running.until(lent, "running")
        eventually(lambda: "up" in running.lines(lent) or None)
        mine = owner.submit(held=False, gpus=1, **LONG)
        running.until(lent, "stopping")
        running.server.kill()
        running.server.start()
        again = Harness(running.server)
        again.until(mine, "running")
        assert again.until(lent, "queued")["attempt"] == 1
        assert [one["reason"] for one in again.show(lent)["attempts"]] == ["preempted"]
