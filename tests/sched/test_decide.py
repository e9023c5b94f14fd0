"""The first scheduler: strict order, best fit, whole gangs or nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from danlu.sched.api import (
    WHOLE,
    Cause,
    CauseKind,
    Decision,
    Policy,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import could_ever_run, decide
from danlu.sched.explain.explain import explain
from danlu.sched.explain.words import cause_words, sentence
from danlu.sched.place.place import Room, same
from tests.sched.cluster import cluster, job

FIFO = Policy()


def started(snapshot: Snapshot) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    decision = decide(snapshot, FIFO)
    return {s.job_id: [(p.node, p.gpus) for p in s.places] for s in decision.starts}


def test_a_small_job_goes_to_the_fuller_node() -> None:
    """A3: 8 free on one node, 7 on another: the small job takes from the 7."""
    assert started(cluster("n1 8x3090\nn2 8x3090 -1", job("a", "1", 1))) == {"a": [("n2", (1,))]}


def test_first_come_first_served_and_nobody_overtakes() -> None:
    snapshot = cluster("n1 4x3090", job("a", "3", 1), job("b", "2", 2), job("c", "1", 3))
    decision = decide(snapshot, FIFO)
    assert [start.job_id for start in decision.starts] == ["a"]
    assert decision.head == "b"


def test_priority_goes_before_time() -> None:
    assert list(started(cluster("n1 1x3090", job("a", "1", 1), job("b", "1", 2, priority=5)))) == [
        "b"
    ]


def test_a_gang_starts_whole_or_not_at_all() -> None:
    assert started(cluster("n1 4x3090\nn2 4x3090 -2", job("g", "2*4", 1))) == {}
    both = started(cluster("n1 4x3090\nn2 4x3090", job("g", "2*4", 1)))
    assert sorted(node for node, _ in both["g"]) == ["n1", "n2"]


def test_a_gang_that_fails_half_way_leaves_no_trace() -> None:
    snapshot = cluster("n1 4x3090", job("never", "2*4", 1), job("b", "4", 2))
    assert list(started(snapshot)) == ["b"]


def test_a_model_is_asked_for_by_any_of_its_names() -> None:
    assert same("rtx 3090", "NVIDIA GeForce RTX 3090")
    assert same("3090", "RTX3090")
    assert not same("3090", "RTX 3090 Ti")
    assert same("a100_80g", "NVIDIA A100-SXM4-80GB")
    assert same("A100-40GB", "NVIDIA A100-SXM4-40GB")
    assert not same("a100_80gb", "NVIDIA A100-SXM4-40GB")
    assert not same("a100_3g.20gb", "NVIDIA A100-SXM4-40GB")
    assert same("rtx3090_24gb", "NVIDIA GeForce RTX 3090")
    assert same("h100-80", "NVIDIA H100 80GB HBM3")
    assert same("v100-32", "Tesla V100-SXM2-32GB")
    assert not same("rtx 3090", "NVIDIA GeForce RTX 4090")
    assert not same("v100-16", "Tesla V100-SXM2-32GB")
    snapshot = cluster("n1 4x3090\nn2 4xA100", job("a", "1:A100", 1))
    assert started(snapshot)["a"][0][0] == "n2"


def test_shares_of_a_gpu_are_packed_onto_one_gpu() -> None:
    snapshot = cluster("n1 2x3090", *(job(str(n), "0.5", n) for n in range(1, 5)))
    gpus = [places[0][1] for places in started(snapshot).values()]
    assert sorted(gpus) == [(0,), (0,), (1,), (1,)]


def test_a_node_that_is_down_gets_nothing() -> None:
    assert started(cluster("n1 8x3090 down", job("a", "1", 1))) == {}


def test_jobs_kept_back_stand_in_nobodys_way() -> None:
    held = job("h", "1", 1, blocked=Cause(CauseKind.HELD))
    never = job("n", "9", 2)
    assert list(started(cluster("n1 4x3090", held, never, job("b", "4", 3)))) == ["b"]


def test_an_array_keeps_to_its_limit() -> None:
    elements = [job(str(n), "0", n, array="x", array_limit=2) for n in range(1, 6)]
    assert list(started(cluster("n1 4x3090", *elements))) == ["1", "2"]
    one_runs = cluster("n1 4x3090", *elements, array_active={"x": 1})
    assert list(started(one_runs)) == ["1"]


def words(snapshot: Snapshot, name: str) -> str:
    return sentence(explain(snapshot, FIFO, name)).en


def test_why_names_the_largest_hole() -> None:
    """A4: enough GPUs in all, but not on one node."""
    snapshot = cluster("n1 4x3090 -1\nn2 4x3090 -2", job("a", "4", 1))
    assert words(snapshot, "a") == "Needs 4 GPUs on one node: 5 free, at most 3 on one node"


def test_why_says_never_and_the_number() -> None:
    """D15: larger than any node."""
    snapshot = cluster("n1 8x3090", job("a", "9", 1))
    assert words(snapshot, "a").startswith("Cannot run here: needs 9 GPUs on one node")
    assert words(cluster("n1 8x3090", job("b", "1:A100", 1)), "b").startswith("No A100 here")


def test_why_names_who_goes_first() -> None:
    snapshot = cluster("n1 4x3090 -1", job("a", "4", 1), job("b", "1", 2))
    found = explain(snapshot, FIFO, "b")
    assert [cause.kind for cause in found.causes] == [CauseKind.BEHIND]
    assert found.causes[0].numbers["ref"] == "u/a-1"
    assert found.position == 2


def test_every_cause_has_words_in_both_languages() -> None:
    numbers: dict[str, int | float | str] = {
        "ref": "u/a-1", "when": "succeeded", "seconds": 2, "why_en": "x", "why_zh": "x",
        "limit": 2, "model": "A100", "models": "3090", "tasks": 1, "gpus": 9, "cpus": 1.0,
        "memory": 1, "share": 0, "largest_gpus": 8, "largest_cpus": 8.0, "largest_memory": 8,
        "all_gpus": 8, "nodes": "n1", "free_gpus": 3, "largest_hole": 2, "most_cpus": 1.0,
        "most_memory": 1, "lacks": "gpus", "who": "vision", "what": "gpus", "used": 8.0,
        "need": 4.0, "kind": "environment", "asked": "fast", "at": 60.0, "engine": "x",
        "largest_part": 0, "count": 1, "queue": "", "priority": 0, "own_priority": 0, "why": "away",
    }  # fmt: skip
    for kind in CauseKind:
        words = cause_words(Cause(kind, numbers=numbers))
        assert words.en
        assert any("\u4e00" <= ch <= "\u9fff" for ch in words.zh), kind


shapes = st.builds(
    TaskShape,
    cpus=st.sampled_from([0.5, 1.0, 8.0]),
    memory=st.sampled_from([1, 2**30]),
    gpus=st.integers(0, 5),
    model=st.sampled_from([None, "3090", "A100"]),
) | st.builds(TaskShape, cpus=st.just(1.0), memory=st.just(1), share=st.sampled_from([250, 500]))

queues = st.lists(st.lists(shapes, min_size=1, max_size=4), max_size=12)


def make(queue: list[list[TaskShape]]) -> Snapshot:
    waiting = [
        Waiting(str(n), f"u/{n}-1", "u", n, 0, tuple(each)) for n, each in enumerate(queue, 1)
    ]
    return cluster("n1 4x3090 -1 cpus=16\nn2 4xA100 cpus=16\nn3 2x3090 cpus=4", *waiting)


@given(queues)
def test_no_gpu_is_given_twice_and_no_node_holds_too_much(queue: list[list[TaskShape]]) -> None:
    snapshot = make(queue)
    decision = decide(snapshot, FIFO)
    by_id = {job.job_id: job for job in snapshot.waiting}
    used: dict[tuple[str, int], int] = {}
    cpus: dict[str, float] = {}
    for start in decision.starts:
        wanted = by_id[start.job_id].shapes
        assert len(start.places) == len(wanted)
        for shape, place in zip(wanted, start.places, strict=True):
            assert len(place.gpus) == (1 if shape.share else shape.gpus)
            cpus[place.node] = cpus.get(place.node, 0) + shape.cpus
            for gpu in place.gpus:
                key = (place.node, gpu)
                used[key] = used.get(key, 0) + (shape.share or WHOLE)
    for node in snapshot.nodes:
        assert cpus.get(node.name, 0) <= node.cpus_free
        for gpu in node.gpus:
            assert used.get((node.name, gpu.index), 0) <= gpu.free


@given(queues)
def test_the_same_question_has_the_same_answer(queue: list[list[TaskShape]]) -> None:
    assert decide(make(queue), FIFO) == decide(make(queue), FIFO)


@given(queues)
def test_only_jobs_that_could_run_here_make_others_wait(queue: list[list[TaskShape]]) -> None:
    snapshot = make(queue)
    decision: Decision = decide(snapshot, FIFO)
    if decision.head is not None:
        head = next(job for job in snapshot.waiting if job.job_id == decision.head)
        assert could_ever_run(head.shapes, snapshot.nodes)


@given(queues)
def test_without_time_limits_whoever_goes_first_takes_nothing_that_others_before_him_could_use(
    queue: list[list[TaskShape]],
) -> None:
    snapshot = make(queue)
    begun = {start.job_id: start.places for start in decide(snapshot, FIFO).starts}
    for waits in snapshot.waiting:
        if waits.job_id in begun or not could_ever_run(waits.shapes, snapshot.nodes):
            continue
        room = Room(snapshot.nodes, empty=True)
        for later in snapshot.waiting:
            if later.order > waits.order and later.job_id in begun:
                room.take(later.shapes, begun[later.job_id])
        assert room.fits_gang(waits.shapes)


@given(queues)
def test_every_waiting_job_has_a_cause(queue: list[list[TaskShape]]) -> None:
    snapshot = make(queue)
    begun = {start.job_id for start in decide(snapshot, FIFO).starts}
    for waiting in snapshot.waiting:
        found = explain(snapshot, FIFO, waiting.job_id)
        assert found.causes
        assert found.starts_now == (waiting.job_id in begun)
