"""What records and Slurm say together; records are written by users, who may write anything."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.engines.api import Phase, TaskSeen
from danlu.engines.slurm import queue
from danlu.engines.slurm.attempts import Attempt, judge, read_record
from danlu.engines.slurm.users import User
from danlu.spec.diagnose import describe, diagnose
from tests.engines.slurm.test_reading import row

NODES = {"n1": 5, "n2": 5}
CLAIM = {"node": "n1", "at": 100.0, "gpus": "0,3", "ports": "20001", "port": 40000}


def attempt() -> Attempt:
    return Attempt("a", User("alice"), "job", 1, "", "token", "12")


def entry(**values: str) -> queue.Entry:
    return queue.read(row("w", nodes="n1", **values), "w", {})[0]


def seen(
    claim: dict[str, Any] | None = CLAIM,
    status: dict[str, Any] | None = None,
    slurm: queue.Entry | None = None,
    sure: bool = False,
    stopping: bool = False,
) -> TaskSeen:
    one = attempt()
    one.stopping = stopping
    values = {"claim": "12", "tasks": [[claim, status]], "said": "no such python"}
    judge(one, read_record(values, 1, NODES), slurm, sure)
    return one.tasks[0]


def test_a_claimed_task_runs_where_it_says_if_slurm_agrees() -> None:
    task = seen(slurm=entry())
    assert (task.phase, task.node, task.gpus, task.ports) == (
        Phase.RUNNING,
        "n1",
        (0, 3),
        (20001,),
    )


@pytest.mark.parametrize("node", ["here", "n2", "../x", 7, None, "n" * 10_000])
def test_nobody_can_claim_a_place_that_slurm_did_not_give(node: Any) -> None:
    assert seen({**CLAIM, "node": node}, slurm=entry()).node == "n1"
    assert seen({**CLAIM, "node": node}).node in ("", "n2")


@pytest.mark.parametrize("gpus", ["9", "0,1,99", "-1", "x", [1], "1" * 5000])
def test_nobody_can_claim_gpus_that_a_node_does_not_have(gpus: Any) -> None:
    assert set(seen({**CLAIM, "gpus": gpus}, slurm=entry()).gpus) <= set(range(5))


@pytest.mark.parametrize(
    "status",
    [{"code": 10**9}, {"code": "0"}, {"signal": -5}, {"signal": 10**9}, {}, {"code": None}],
)
def test_a_status_that_cannot_be_is_no_success(status: dict[str, Any]) -> None:
    task = seen(status={"at": 1.0, **status})
    assert task.phase is Phase.EXITED
    assert task.exit_code not in (0, None)


@pytest.mark.parametrize("at", [10**400, -1, float("nan"), float("inf"), "x", [], True])
def test_a_time_that_cannot_be_is_no_time(at: Any) -> None:
    task = seen({**CLAIM, "at": at}, {"code": 0, "at": at})
    assert task.started_at in (None, 1.0)
    assert task.ended_at in (None, 1.0)


def test_a_task_without_a_status_is_lost_only_when_slurm_is_sure() -> None:
    gone = entry(state="NODE_FAIL")
    assert seen(slurm=gone).phase is Phase.RUNNING
    task = seen(slurm=gone, sure=True)
    assert (task.phase, task.node, task.detail) == (Phase.LOST, "n1", "n1: node failed")


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        ("TIMEOUT", "time_limit"),
        ("OUT_OF_MEMORY", "out_of_memory"),
        ("CANCELLED", "stopped_outside"),
    ],
)
def test_what_slurm_or_somebody_ended_is_not_lost(state: str, hint: str) -> None:
    task = seen(slurm=entry(state=state), sure=True)
    assert (task.phase, task.signal, task.hint) == (Phase.EXITED, 9, hint)


def test_slurms_own_time_limit_is_told_with_its_length() -> None:
    times = {"starts": "2026-11-17T08:00:00", "ends": "2026-11-17T10:00:00"}
    task = seen(slurm=entry(state="TIMEOUT", **times), sure=True)
    reason, facts, _ = diagnose(task.exit_code, task.signal, task.hint, task.detail, b"", None)
    assert describe(reason, facts).en == "Reached its time limit of 2h (Slurm)"


def test_a_job_that_never_began_says_what_its_script_printed() -> None:
    task = seen(claim=None, slurm=entry(state="FAILED", reason="NonZeroExitCode"), sure=True)
    assert (task.phase, task.hint) == (Phase.EXITED, "launch_failed")
    assert task.detail.endswith("FAILED (NonZeroExitCode): no such python")


def test_what_was_stopped_ends_by_a_signal() -> None:
    assert seen(sure=True, stopping=True).signal == 9
    assert seen(claim=None, sure=True, stopping=True).signal == 15
