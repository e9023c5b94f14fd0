"""A snapshot as a file: nothing is lost on the way, and it is decided on in the same way."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from danlu.sched.api import Cause, CauseKind, Mix, Policy, QueuePolicy, Quota, Quotas, Running
from danlu.sched.api import TaskShape as Shape
from danlu.sched.decide import decide
from danlu.sched.dump import Unreadable, dump, load
from danlu.sched.estimate.history import Book
from danlu.sched.order.queue_order import ORDERS
from danlu.spec.placement import Placement as Place
from tests.sched.cluster import cluster, job


def through_a_file(snapshot: object, policy: Policy) -> tuple[object, Policy]:
    return load(json.loads(json.dumps(dump(snapshot, policy))))  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_read_back_is_what_was_written(order: str) -> None:
    book = Book()
    book.ended("alice", "train", (Shape(1, 1, 1),), 100.0, 50.0)
    run = Running(
        "r", "u/r-1", "u", -5.0, 60.0, {"n1": (0, 1)}, (Shape(1, 1, 2),), (Place("n1", (0, 1)),)
    )
    snapshot = cluster(
        "n1 4x3090 -2\nn2 2xA100 down",
        job("a", "4:3090", 1, time_limit=100.0),
        job("b", "1", 2, time_limit=30.0),
        job("c", "0.5", 3, blocked=Cause(CauseKind.HELD)),
        running=(run,),
        quotas=Quotas(users={"u": Quota(gpus=9000)}, groups={"g": Quota(guaranteed=1000)}),
        mix=Mix({Shape(1, 1, 1): 3}),
        history=book.history(),
    )
    nodes = frozenset({"n1", "n2"})
    policy = Policy(order, queues={"default": QueuePolicy(order, nodes=nodes, max_wait=9.0)})
    snapshot = replace(snapshot, memory=decide(snapshot, policy).memory)
    again, rules = through_a_file(snapshot, policy)
    assert rules == policy
    assert dump(again, rules) == dump(snapshot, policy)  # type: ignore[arg-type]
    assert decide(again, rules) == decide(snapshot, policy)  # type: ignore[arg-type]


def test_what_a_queue_remembers_of_who_went_first_is_read_back() -> None:
    run = Running(
        "r", "u/r-1", "u", -5.0, 60.0, {"n1": (0,)}, (Shape(1, 1, 1),), (Place("n1", (0,)),)
    )
    snapshot = cluster(
        "n1 2x3090 -1\nn2 1x3090",
        job("a", "2", 1, time_limit=100.0),
        job("b", "1", 2, time_limit=1000.0),
        running=(run,),
    )
    memory = decide(snapshot, Policy()).memory
    assert memory["default"].entries, "somebody went before his turn"  # type: ignore[attr-defined]
    again, rules = through_a_file(replace(snapshot, memory=memory), Policy())
    assert again.memory == memory  # type: ignore[attr-defined]
    assert decide(again, rules) == decide(replace(snapshot, memory=memory), Policy())  # type: ignore[arg-type]


def test_a_file_of_an_earlier_version_is_read() -> None:
    run = Running("r", "u/r-1", "u", 0.0, 9.0, {}, (Shape(1, 1, 1),), (Place("n1", (0,)),))
    snapshot = cluster("n1 2x3090 -1", job("a", "2", 1), running=(run,))
    written = json.dumps(dump(snapshot, Policy())).replace('"Placement"', '"TaskPlace"')
    assert "TaskPlace" in written
    assert load(json.loads(written))[0] == load(dump(snapshot, Policy()))[0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "no"),
        ({"danlu": "snapshot", "version": 99}, "99"),
        ({"danlu": "snapshot", "version": 1}, "snapshot"),
        ({"danlu": "snapshot", "version": 1, "snapshot": {"~": "os"}, "policy": {}}, "os"),
        (
            {"danlu": "snapshot", "version": 1, "snapshot": {"~": "Snapshot"}, "policy": 1},
            "missing",
        ),
        ({"danlu": "snapshot", "version": 1, "snapshot": 1, "policy": 2}, "hold a snapshot"),
    ],
)
def test_anything_else_is_refused_with_a_reason(values: object, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        load(values)
