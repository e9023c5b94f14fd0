"""Who goes next: fair shares with decay, guaranteed shares, ageing, short jobs first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.sched.api import (
    CauseKind,
    Decision,
    NodeState,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import decide
from danlu.sched.order.queue_order import decayed
from danlu.sched.simulate import Arrival, Simulation
from danlu.spec.placement import Placement
from tests.sched.cluster import cluster, job

LAB = Quotas(groups={"vision": Quota(guaranteed=4000), "speech": Quota(guaranteed=4000)})


def of(group: str, one: Waiting, owner: str = "u") -> Waiting:
    return replace(one, group=group, owner=owner)


def holds(name: str, group: str, gpus: tuple[int, ...], preemptible: bool = False) -> Running:
    return Running(
        name,
        f"{group}/{name}",
        group,
        0.0,
        None,
        {"n1": gpus},
        (TaskShape(1, 1, len(gpus)),),
        (Placement("n1", gpus),),
        group=group,
        preemptible=preemptible,
    )


def rules(order: str = "fair", **more: object) -> Policy:
    return Policy(order, queues={"default": QueuePolicy(order, **more)})  # type: ignore[arg-type]


def begun(snapshot: Snapshot, policy: Policy) -> list[str]:
    return [start.job_id for start in decide(snapshot, policy).starts]


def test_fair_who_used_less_of_late_goes_first() -> None:
    snapshot = cluster(
        "n1 4x3090",
        replace(job("busy", "4", 1), owner="alice"),
        replace(job("idle", "4", 2), owner="bob"),
        used={"alice": 5000.0, "bob": 10.0},
    )
    assert begun(snapshot, rules()) == ["idle"]
    assert begun(snapshot, rules("fifo")) == ["busy"]


def test_fair_the_group_that_used_less_goes_first() -> None:
    snapshot = cluster(
        "n1 4x3090",
        of("vision", job("a", "4", 1)),
        of("speech", job("b", "4", 2)),
        group_used={"vision": 100.0, "speech": 1.0},
    )
    assert begun(snapshot, rules()) == ["b"]


def test_past_use_fades_by_half_in_a_half_life() -> None:
    assert decayed(800.0, 7 * 86_400.0, 7 * 86_400.0) == 400.0
    assert decayed(800.0, 0.0, 7 * 86_400.0) == 800.0


def test_a_group_inside_its_share_goes_before_one_that_borrows() -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        of("vision", job("more", "2", 1)),
        of("speech", job("own", "4", 2)),
        running=(holds("r", "vision", (0, 1, 2, 3)),),
        quotas=LAB,
    )
    for order in ("fair", "fifo", "easy"):
        assert begun(snapshot, rules(order)) == ["own"], order


def test_idle_shares_are_lent_unless_the_admin_says_no() -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        of("vision", job("more", "2", 1)),
        running=(holds("r", "vision", (0, 1, 2, 3)),),
        quotas=LAB,
    )
    assert begun(snapshot, rules()) == ["more"]
    decision = decide(snapshot, rules(lend=False))
    assert decision.starts == ()
    assert [kept.cause.kind for kept in decision.kept] == [CauseKind.GUARANTEE]


def test_lent_gpus_come_back_by_ending_preemptible_work_where_that_is_allowed() -> None:
    snapshot = cluster(
        "n1 8x3090 -8",
        of("speech", job("own", "3", 1)),
        running=(
            holds("old", "vision", (0, 1, 2, 3)),
            holds("lent", "vision", (4, 5, 6, 7), preemptible=True),
        ),
        quotas=LAB,
    )
    assert decide(snapshot, rules()).preempts == ()
    (preempt,) = decide(snapshot, rules(reclaim=True)).preempts
    assert (preempt.job_id, preempt.by) == ("lent", "own")


def test_work_inside_its_own_share_is_never_reclaimed() -> None:
    snapshot = cluster(
        "n1 8x3090 -8",
        of("speech", job("own", "3", 1)),
        running=(
            holds("a", "vision", (0, 1, 2, 3), preemptible=True),
            holds("b", "speech", (4, 5, 6, 7)),
        ),
        quotas=LAB,
    )
    assert decide(snapshot, rules(reclaim=True)).preempts == ()


def test_who_has_waited_too_long_goes_before_the_order() -> None:
    snapshot = cluster(
        "n1 4x3090",
        replace(job("old", "4", 1), owner="alice", submitted=-100.0),
        replace(job("new", "4", 2), owner="bob", submitted=0.0),
        used={"alice": 5000.0},
    )
    assert begun(snapshot, rules(max_wait=50.0)) == ["old"]
    assert begun(snapshot, rules(max_wait=500.0)) == ["new"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 50), st.integers(1, 8), st.booleans()),
        min_size=2,
        max_size=25,
    )
)
def test_a_group_never_waits_for_its_own_share_while_others_start(
    sizes: list[tuple[int, int, int, bool]],
) -> None:
    """Whenever somebody beyond his share starts, nobody inside his own was left who would fit."""
    now, jobs = 0, []
    for i, (pause, run, gpus, first) in enumerate(sizes):
        now += pause
        group = "vision" if first else "speech"
        shapes = (TaskShape(0, 0, min(gpus, 4)),)
        jobs.append(Arrival(str(i), now, run, shapes, limit=run, owner=group, group=group))

    def watch(snapshot: Snapshot, decision: Decision) -> None:
        waiting = {one.job_id: one for one in snapshot.waiting}
        held = {"vision": 0, "speech": 0}
        for run in snapshot.running:
            held[run.group or ""] += run.shapes[0].gpus
        free = 8 - sum(held.values())
        left = set(waiting) - {start.job_id for start in decision.starts}
        for start in decision.starts:
            one = waiting[start.job_id]
            gpus = one.shapes[0].gpus
            beyond = held[one.group or ""] + gpus > 4
            if beyond:
                for other in (waiting[i] for i in left):
                    need = other.shapes[0].gpus
                    inside = held[other.group or ""] + need <= 4
                    first = min(
                        (o for o in snapshot.waiting if o.group == other.group),
                        key=lambda o: o.seq,
                    )
                    assert not (inside and need <= free and other is first)
            held[one.group or ""] += gpus
            free -= gpus

    node = cluster("n1 8x3090").nodes[0]
    Simulation([node], rules(), LAB).run(jobs, watch)


def test_short_first_lets_a_short_job_go_before_a_long_one() -> None:
    node = NodeState("m", 4, 0, 4, 0)
    jobs = [
        Arrival("running", 0, 100, (TaskShape(4, 0),), limit=100),
        Arrival("long", 1, 10_000, (TaskShape(4, 0),), limit=10_000),
        Arrival("short", 2, 10, (TaskShape(4, 0),), limit=10),
    ]
    found = Simulation([node], rules("short-first")).run(jobs).starts
    assert found["short"] == 100
    assert found["long"] == 110


def test_short_first_does_not_starve_a_long_job() -> None:
    node = NodeState("m", 4, 0, 4, 0)
    long = Arrival("long", 5, 400, (TaskShape(4, 0),), limit=400)
    stream = [Arrival(str(i), i * 10, 10, (TaskShape(4, 0),), limit=10) for i in range(2000)]
    found = Simulation([node], rules("short-first", max_wait=3000.0)).run([long, *stream]).starts
    assert found["long"] - 5 <= 3000
