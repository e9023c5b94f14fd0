"""Scenarios in a tiny language: nodes, rules, what runs, what waits, and what is expected.

== a title that says the behaviour
nodes
  n1 8x3090 -1 cpus=64 mem=512 labels=fast,ssd volumes=faces rank=2 down drained
running
  x 4:3090 on n1:0-3 owner=alice group=vision limit=2h since=-600 priority=1 preemptible
quotas
  user alice gpus=8 A100=2 cpus=32 mem=64
  group vision gpus=12
  user * gpus=4
rules
  place=spread backfill=no environment=3090,T4
  queue small nodes=n1,n2 place=tight
waiting
  a 2*4:A100|V100/16 owner=bob queue=small priority=5 kind=environment limit=1h include=n1
expect
  a on n1:0-3 n2:0-3
  a waits no_room behind
  a says Needs 4 GPUs on one node: 5 free, at most 3 on one node
  a tries split: now
  a tries any_model: no change
  a notes u/b-1 was submitted earlier and goes first
  a clear cpus memory
  a unclear nodes
  a held by alice/x-1
  x ends for a
  x moves to n2:0 for a
  x stays

A shape is `4` GPUs, `2*4` two tasks of four, `4:A100` that model, `4:A100|V100` either, `0.5` of a
GPU, `1/8` with 8 CPUs, `1/8/32` with 8 CPUs and 32 GiB. `-1` on a node: so many GPUs are taken by
nobody we know. Jobs wait in the order they are written. `preemptible` jobs may be ended and moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from danlu.sched.api import (
    WHOLE,
    Cause,
    CauseKind,
    Decision,
    Effect,
    GpuState,
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
from danlu.sched.explain.explain import explain
from danlu.sched.explain.words import cause_words, sentence
from danlu.sched.place.place import Room
from danlu.spec.placement import Placement

GIB = 2**30
NOW = 1_000_000.0
SECTIONS = ("nodes", "running", "quotas", "rules", "waiting", "expect")


@dataclass
class Scenario:
    title: str
    where: str
    lines: dict[str, list[str]] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        running = [_running(line) for line in self.lines["running"]]
        nodes = [_node(line) for line in self.lines["nodes"]]
        room = Room(nodes)
        for job in running:
            room.take(job.shapes, job.places)
        nodes = [_with_free(node, room, at) for at, node in enumerate(nodes)]
        waiting = [_waiting(line, n) for n, line in enumerate(self.lines["waiting"], 1)]
        waiting.sort(key=lambda job: job.order)
        return Snapshot(NOW, nodes, waiting, running, quotas=self._quotas())

    def policy(self) -> Policy:
        policy, queues = Policy(), {}
        for line in self.lines["rules"]:
            words = line.split()
            if words[0] == "queue":
                queues[words[1]] = _rules(QueuePolicy(), words[2:])
                continue
            for word in words:
                key, _, value = word.partition("=")
                if key == "order":
                    policy = replace(policy, name=value)
                elif key == "place":
                    policy = replace(policy, place=value)
                elif key == "backfill":
                    policy = replace(policy, backfill=value == "yes")
                else:
                    kinds = {**policy.kinds, key: frozenset(value.split(","))}
                    policy = replace(policy, kinds=kinds)
        return replace(policy, queues=queues)

    def _quotas(self) -> Quotas:
        quotas = Quotas()
        for line in self.lines["quotas"]:
            whose, name, *words = line.split()
            if name == "*":
                quotas = replace(quotas, **{whose: _quota(words)})
                continue
            known = {**getattr(quotas, whose + "s"), name: _quota(words)}
            quotas = replace(quotas, **{whose + "s": known})
        return quotas

    def check(self) -> None:
        snapshot, policy = self.snapshot(), self.policy()
        decision = decide(snapshot, policy)
        mentioned = set()
        for line in self.lines["expect"]:
            name = line.split()[0]
            mentioned.add(name)
            _check(line, snapshot, policy, decision)
        started = {start.job_id for start in decision.starts}
        unmentioned = started - mentioned
        assert not unmentioned, f"{self.title}: nobody expected {sorted(unmentioned)} to start"
        ended = {one.job_id for one in (*decision.preempts, *decision.moves)} - mentioned
        assert not ended, f"{self.title}: nobody expected {sorted(ended)} to end or move"


def scenarios(folder: Path) -> Iterator[Scenario]:
    for path in sorted(folder.glob("*.txt")):
        found: Scenario | None = None
        section = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.split("#")[0].rstrip()
            if not text:
                continue
            if text.startswith("=="):
                if found is not None:
                    yield found
                found = Scenario(text.strip("= "), f"{path.name}:{number}")
                found.lines = {name: [] for name in SECTIONS}
            elif not text.startswith(" "):
                section = text.strip()
                assert section in SECTIONS, f"{path.name}:{number}: no section {section!r}"
            else:
                assert found is not None, f"{path.name}:{number}: no title yet"
                found.lines[section].append(text.strip())
        if found is not None:
            yield found


def _check(line: str, snapshot: Snapshot, policy: Policy, decision: Decision) -> None:
    name, verb, rest = (*line.split(maxsplit=2), "")[:3]
    start = next((s for s in decision.starts if s.job_id == name), None)
    if verb in ("ends", "moves", "stays"):
        wanted = "" if verb == "stays" else f"{verb} {rest}"
        assert _disturbed(decision, name) == wanted, f"{name} {_disturbed(decision, name)}"
        return
    if verb == "on":
        assert start is not None, f"{name} did not start: {_why(snapshot, policy, name)}"
        assert [_shown(place) for place in start.places] == rest.split(), start
        return
    if verb == "starts":
        assert start is not None, f"{name} did not start: {_why(snapshot, policy, name)}"
        if rest.startswith("before "):
            overtaken = rest.removeprefix("before ").split()
            assert list(start.overtook) == overtaken, start
        return
    found = explain(snapshot, policy, name)
    if verb == "waits":
        assert start is None, f"{name} started on {start}"
        kinds = [cause.kind.value for cause in found.causes]
        assert kinds == rest.split(), f"{name} waits {' '.join(kinds)}: {sentence(found).en}"
    elif verb == "says":
        assert sentence(found).en == rest, sentence(found).en
    elif verb == "notes":
        said = [cause_words(cause).en for cause in found.causes]
        assert rest in said, said
    elif verb == "unclear":
        assert set(rest.split()).isdisjoint(found.clear), found.clear
    elif verb == "tries":
        kind, _, effect = rest.partition(": ")
        tried = {one.kind.value: one for one in found.suggestions}
        assert kind in tried, f"{kind} was not tried, but {sorted(tried)}"
        expected = Effect.STARTS_NOW if effect == "now" else Effect.NO_CHANGE
        assert tried[kind].effect is expected, tried[kind]
    elif verb == "clear":
        assert set(rest.split()) <= set(found.clear), found.clear
    elif verb == "held":
        assert rest.removeprefix("by ").split() == [h.ref for h in found.holders]
    elif verb == "place":
        assert found.position == int(rest)
    else:
        raise AssertionError(f"no such expectation: {line}")


def _disturbed(decision: Decision, name: str) -> str:
    """What happens to a running job."""
    for preempt in decision.preempts:
        if preempt.job_id == name:
            return f"ends for {preempt.by}"
    for move in decision.moves:
        if move.job_id == name:
            return f"moves to {' '.join(map(_shown, move.places))} for {move.by}"
    return ""


def _why(snapshot: Snapshot, policy: Policy, name: str) -> str:
    return sentence(explain(snapshot, policy, name)).en


def _shown(place: Placement) -> str:
    return place.node + (":" + ",".join(map(str, place.gpus)) if place.gpus else "")


def _node(line: str) -> NodeState:
    name, *words = line.split()
    values, flags = _values(words)
    gpus: list[GpuState] = []
    taken = 0
    for flag in flags:
        if flag.startswith("-"):
            taken = int(flag[1:])
        elif match := re.fullmatch(r"(\d+)x(\S+)", flag):
            gpus += [GpuState(len(gpus) + i, match[2]) for i in range(int(match[1]))]
    for at in range(taken):
        gpus[at] = replace(gpus[at], free=0)
    for index, free in _pairs(values.get("free", "")):
        gpus[int(index)] = replace(gpus[int(index)], free=int(free))
    for index in filter(None, values.get("sick", "").split(",")):
        gpus[int(index)] = replace(gpus[int(index)], healthy=False)
    cpus = float(values.get("cpus", 64))
    memory = int(values.get("mem", 512)) * GIB
    return NodeState(
        name,
        cpus,
        memory,
        cpus,
        memory,
        tuple(gpus),
        up="down" not in flags,
        drained="drained" in flags,
        labels=_set(values.get("labels")),
        volumes=_set(values.get("volumes")),
        rank=int(values.get("rank", 0)),
    )


def _with_free(node: NodeState, room: Room, at: int) -> NodeState:
    free = room.room_of(at)
    gpus = tuple(
        replace(gpu, free=left) if gpu.healthy else gpu
        for gpu, left in zip(node.gpus, free.gpus, strict=True)
    )
    return replace(node, cpus_free=free.millicpus / 1000, memory_free=free.memory, gpus=gpus)


def _running(line: str) -> Running:
    name, shape, _on, *words = line.split()
    values, flags = _values(words)
    shapes = _shapes(shape, values)
    places = []
    preemptible = "preemptible" in flags
    named = [flag for flag in flags if flag != "preemptible"]
    for place, one in zip(named, shapes, strict=True):
        node, _, gpus = place.partition(":")
        places.append(Placement(node, tuple(_indexes(gpus)), one.share))
    on: dict[str, tuple[int, ...]] = {}
    for place_ in places:
        if place_.gpus:
            on[place_.node] = (*on.get(place_.node, ()), *place_.gpus)
    since = NOW + float(values.get("since", -3600))
    limit = _seconds(values.get("limit"))
    owner = values.get("owner", "u")
    return Running(
        name,
        f"{owner}/{name}-1",
        owner,
        since,
        None if limit is None else since + limit,
        on,
        shapes,
        tuple(places),
        group=values.get("group"),
        queue=values.get("queue", "default"),
        kind=values.get("kind", "train"),
        priority=int(values.get("priority", 0)),
        preemptible=preemptible,
        movable=preemptible,
        preempted=int(values.get("preempted", 0)),
    )


def _waiting(line: str, seq: int) -> Waiting:
    name, shape, *words = line.split()
    values, flags = _values(words)
    owner = values.get("owner", "u")
    blocked = None
    if "held" in flags:
        blocked = Cause(CauseKind.HELD)
    elif "after" in values:
        numbers = {"ref": values["after"], "when": "succeeded", "more": 0}
        blocked = Cause(CauseKind.DEPENDENCY, numbers=numbers)
    array, _, limit = values.get("array", "").partition("/")
    return Waiting(
        name,
        f"{owner}/{name}-1",
        owner,
        seq,
        int(values.get("priority", 0)),
        _shapes(shape, values),
        blocked,
        array or None,
        int(limit) if limit else None,
        group=values.get("group"),
        queue=values.get("queue", "default"),
        kind=values.get("kind", "train"),
        submitted=NOW - float(values.get("waited", 60)),
        time_limit=_seconds(values.get("limit")),
        preemptible="preemptible" in flags,
    )


def _shapes(text: str, values: dict[str, str]) -> tuple[TaskShape, ...]:
    shapes: list[TaskShape] = []
    for part in text.split("+"):
        match = re.fullmatch(r"(?:(\d+)\*)?([\d.]+)(?::([\w|.]+))?(?:/([\d.]+))?(?:/(\d+))?", part)
        assert match is not None, text
        tasks, amount, model, cpus, memory = match.groups()
        share = round(float(amount) * WHOLE) if "." in amount else 0
        models = (model or "").split("|")
        one = TaskShape(
            cpus=float(cpus or 1),
            memory=int(memory or 1) * GIB,
            gpus=0 if share else int(amount),
            share=share,
            model=models[0] if models[0] and len(models) == 1 else None,
            models=frozenset(models) if len(models) > 1 else frozenset(),
            indexes=tuple(_indexes(values.get("gpus", ""))),
            labels=_set(values.get("labels")),
            volumes=_set(values.get("volumes")),
            include=_set(values.get("include")),
            exclude=_set(values.get("exclude")),
        )
        shapes += [one] * int(tasks or 1)
    return tuple(shapes)


def _rules(rules: QueuePolicy, words: list[str]) -> QueuePolicy:
    for key, value in _values(words)[0].items():
        if key == "nodes":
            rules = replace(rules, nodes=frozenset(value.split(",")))
        elif key in ("backfill", "lend", "reclaim", "consolidate"):
            rules = replace(rules, **{key: value == "yes"})
        elif key == "priority":
            rules = replace(rules, priority=int(value))
        elif key == "weight":
            rules = replace(rules, weight=float(value))
        elif key == "max_wait":
            rules = replace(rules, max_wait=_seconds(value))
        else:
            rules = replace(rules, **{key: value})
    return rules


def _quota(words: list[str]) -> Quota:
    quota, models = Quota(), {}
    for key, value in _values(words)[0].items():
        if key in ("gpus", "guaranteed"):
            quota = replace(quota, **{key: round(float(value) * WHOLE)})
        elif key == "cpus":
            quota = replace(quota, cpus=float(value))
        elif key == "mem":
            quota = replace(quota, memory=int(value) * GIB)
        else:
            models[key] = round(float(value) * WHOLE)
    return replace(quota, models=models)


def _values(words: list[str]) -> tuple[dict[str, str], list[str]]:
    values = dict(word.split("=", 1) for word in words if "=" in word)
    return values, [word for word in words if "=" not in word]


def _set(text: str | None) -> frozenset[str]:
    return frozenset(text.split(",")) if text else frozenset()


def _pairs(text: str) -> list[list[str]]:
    return [pair.split(":") for pair in text.split(",") if pair]


def _indexes(text: str) -> Iterator[int]:
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[text[-1]]
