"""When the tasks of a gang decide its fate, and which way."""

from __future__ import annotations

import itertools

from danlu.control.ruling import ruling
from danlu.engines.api import Phase, TaskSeen
from danlu.spec.complete import complete
from danlu.spec.job import JobSpec


def job(**roles: object) -> JobSpec:
    return complete({"name": "x", "roles": roles})


def role(count: int, **more: object) -> dict[str, object]:
    return {"count": count, "command": "true", **more}


def ended(task: int, code: int, at: float) -> TaskSeen:
    return TaskSeen(task, Phase.EXITED, exit_code=code, ended_at=at)


def runs(task: int) -> TaskSeen:
    return TaskSeen(task, Phase.RUNNING)


def test_without_rules_the_first_failure_decides() -> None:
    spec = job(worker=role(3))
    assert ruling([runs(0), runs(1), runs(2)], spec) is None
    assert ruling([ended(0, 0, 1), runs(1), runs(2)], spec) is None
    decided = ruling([ended(0, 0, 1), ended(1, 3, 2), runs(2)], spec)
    assert decided is not None
    assert decided.culprit is not None
    assert decided.culprit.task == 1


def test_without_rules_all_must_succeed() -> None:
    decided = ruling([ended(0, 0, 1), ended(1, 0, 2)], job(worker=role(2)))
    assert decided is not None
    assert decided.culprit is None


def test_so_many_failures_are_needed_as_the_role_says() -> None:
    spec = job(worker=role(4, min_failed=2))
    assert ruling([ended(0, 1, 1), runs(1), runs(2), runs(3)], spec) is None
    decided = ruling([ended(0, 1, 1), ended(1, 7, 2), runs(2), runs(3)], spec)
    assert decided is not None
    assert decided.culprit is not None
    assert decided.culprit.exit_code == 7


def test_fewer_failures_than_the_rule_are_no_failure_of_the_job() -> None:
    spec = job(worker=role(2, min_failed=2))
    decided = ruling([ended(0, 1, 1), ended(1, 0, 2)], spec)
    assert decided is not None
    assert decided.culprit is None


def test_tasks_whose_failure_never_counts_may_all_fail() -> None:
    spec = job(worker=role(2, min_failed=0))
    assert ruling([ended(0, 1, 1), runs(1)], spec) is None
    decided = ruling([ended(0, 1, 1), ended(1, 1, 2)], spec)
    assert decided is not None
    assert decided.culprit is None


def test_so_many_successes_end_the_job_while_servers_still_run() -> None:
    spec = job(ps=role(1), worker=role(3, min_succeeded=2))
    assert ruling([runs(0), ended(1, 0, 1), runs(2), runs(3)], spec) is None
    decided = ruling([runs(0), ended(1, 0, 1), ended(2, 0, 2), runs(3)], spec)
    assert decided is not None
    assert decided.culprit is None


def test_what_was_decided_stays_when_the_rest_is_stopped_in_whatever_order_it_is_told() -> None:
    spec = job(ps=role(1), worker=role(3, min_succeeded=2))
    killed = TaskSeen(0, Phase.EXITED, signal=15, ended_at=3)
    last = TaskSeen(3, Phase.EXITED, signal=9, ended_at=4)
    for tasks in itertools.permutations([killed, ended(1, 0, 1), ended(2, 0, 2), last]):
        decided = ruling(tasks, spec)
        assert decided is not None
        assert decided.culprit is None


def test_a_lost_task_counts_whatever_the_rules_say() -> None:
    spec = job(worker=role(2, min_failed=0))
    decided = ruling([TaskSeen(0, Phase.LOST), runs(1)], spec)
    assert decided is not None
    assert decided.culprit is not None


def test_a_batch_script_is_its_job() -> None:
    spec = job(main=role(3, processes="batch"))
    assert ruling([runs(0), runs(1), runs(2)], spec) is None
    well = ruling([ended(0, 0, 1), runs(1), runs(2)], spec)
    badly = ruling([ended(0, 4, 1), runs(1), runs(2)], spec)
    assert well is not None
    assert well.culprit is None
    assert badly is not None
    assert badly.culprit is not None
