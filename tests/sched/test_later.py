"""Suggestions that start a job earlier: which job's end opens the room, tried by deciding."""

from __future__ import annotations

from dataclasses import replace

from danlu.api.why import waiting_view
from danlu.sched.api import Effect, Policy, Running, Suggestion, SuggestionKind
from danlu.sched.api import TaskShape as Shape
from danlu.sched.decide import decide
from danlu.sched.explain.advice import change_words, effect_words
from danlu.sched.explain.explain import explain
from danlu.spec.placement import Placement
from danlu.spec.text import Text
from tests.sched.cluster import cluster, job


def runs(name: str, node: str, gpus: tuple[int, ...], end: float | None) -> Running:
    shapes, places = (Shape(1, 1, len(gpus)),), (Placement(node, gpus),)
    return Running(name, f"u/{name}", "u", -5.0, end, {node: gpus}, shapes, places)


def tried(*running: Running, nodes: str, asks: str = "4") -> dict[str, Suggestion]:
    snapshot = cluster(nodes, job("a", asks, 1), running=running)
    found = explain(snapshot, Policy(), "a").suggestions
    return {suggestion.kind: suggestion for suggestion in found}


def test_it_is_told_after_whose_end_it_starts_and_what_would_start_earlier() -> None:
    soon, late = runs("soon", "n1", (0, 1), 600.0), runs("late", "n1", (2, 3), 3600.0)
    found = tried(late, soon, nodes="n1 4x3090 -4")
    own = found[SuggestionKind.WAIT_FOR]
    assert (own.effect, own.at, own.numbers["ref"]) == (Effect.EARLIER, 3600.0, "u/late")
    assert own.nodes == ("n1",)


def test_what_starts_earlier_is_worth_saying_and_what_does_not_is_not() -> None:
    """The other model is free ten minutes from now, the one it asks for in an hour."""
    soon, late = runs("soon", "n2", (0, 1), 600.0), runs("late", "n1", (0, 1), 3600.0)
    found = tried(late, soon, nodes="n1 2x3090 -2\nn2 2xA100 -2", asks="2:3090")
    other = found[SuggestionKind.OTHER_MODEL]
    assert (other.effect, other.at) == (Effect.EARLIER, 600.0)
    clock = lambda at: Text(f"{at:g} s", f"{at:g} 秒")  # noqa: E731
    assert change_words(other) == Text("A100", "改用 A100")
    assert effect_words(other, clock) == Text(
        "starts earlier, after u/soon, about 600 s",
        "在 u/soon 之后提前开始，约 600 秒",
    )
    found = tried(soon, nodes="n1 2xA100\nn2 2x3090 -2", asks="2:3090")
    assert found[SuggestionKind.OTHER_MODEL].effect is Effect.STARTS_NOW


def test_the_estimate_and_the_suggestion_for_the_same_moment_say_the_same() -> None:
    late = runs("late", "n1", (0, 1, 2, 3), 29 * 60.0)
    explanation = explain(cluster("n1 4x3090 -4", job("a", "4", 1), running=(late,)), Policy(), "a")
    view = waiting_view(explanation, 0.0)
    (own,) = [one for one in view["suggestions"] if one["kind"] == SuggestionKind.WAIT_FOR]
    assert view["eta_en"].startswith("About 30 min from now, after u/late")
    assert own["effect_en"] == "starts about 30 min from now"
    assert own["at"] == view["eta"]


def test_where_nobody_knows_when_running_jobs_end_nothing_is_promised() -> None:
    found = tried(runs("endless", "n1", (0, 1, 2, 3), None), nodes="n1 4x3090 -4")
    assert not [one for one in found.values() if one.effect is Effect.EARLIER]


def test_one_behind_another_is_not_told_of_the_others_room() -> None:
    """What opens first is for the job before it."""
    soon, late = runs("soon", "n1", (0, 1), 600.0), runs("late", "n1", (2, 3), 3600.0)
    before, mine = job("a", "2", 1, time_limit=9000.0), job("b", "2", 2, time_limit=9000.0)
    snapshot = cluster("n1 4x3090 -4", before, mine, running=(soon, late))
    assert decide(snapshot, Policy()).starts == ()
    found = {s.kind: s for s in explain(snapshot, Policy(), "b").suggestions}
    assert found[SuggestionKind.WAIT_FOR].numbers["ref"] == "u/late"
    found = {s.kind: s for s in explain(snapshot, Policy(), "a").suggestions}
    assert found[SuggestionKind.WAIT_FOR].numbers["ref"] == "u/soon"


def test_a_change_is_tried_as_if_it_had_been_asked_for_from_the_start() -> None:
    """What a queue remembers was promised to the job as it is, not to what it might ask for."""
    snapshot = cluster(
        "n1 4x3090 -2\nn2 1x3090",
        job("a", "4", 1, time_limit=3600.0),
        job("b", "1", 2, time_limit=7200.0),
        running=(runs("r", "n1", (0, 1), 3600.0),),
    )
    memory = decide(snapshot, Policy()).memory
    assert "a" in {entry.job_id for entry in memory["default"].entries}  # type: ignore[attr-defined]
    found = explain(replace(snapshot, memory=memory), Policy(), "a").suggestions
    fewer = {one.kind: one for one in found}[SuggestionKind.FEWER_GPUS]
    assert (fewer.effect, fewer.numbers["gpus"]) == (Effect.STARTS_NOW, 2)
