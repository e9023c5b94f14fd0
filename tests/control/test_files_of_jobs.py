"""A file with many jobs: each of them is checked, and the first mistake keeps all of them out."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.access.principal import Principal
from danlu.spec.complete import Submission, complete
from danlu.spec.errors import SpecError
from tests.control.harness import Harness

GOOD: dict[str, Any] = {"cpus": 0.5, "memory": "64M", "command": "true"}
WRONG: dict[str, dict[str, Any]] = {
    "queue": {"queue": "nowhere"},
    "nodes": {"nodes": ["nowhere"]},
    "gpus": {"gpus": 64},
    "mounts": {"mounts": [{"volume": "nowhere", "path": "/data"}]},
    "secrets": {"secrets": ["NOWHERE"]},
    "group": {"group": "nowhere"},
}


async def submit(harness: Harness, *jobs: dict[str, Any]) -> int:
    asked = [Submission(complete(job)) for job in jobs]
    rows, _ = await harness.submitter.submit(asked, Principal("alice"))
    return len(rows)


@pytest.mark.parametrize("key", WRONG)
async def test_a_mistake_after_good_jobs_is_found_and_nothing_is_queued(
    harness: Harness, key: str
) -> None:
    good = [{**GOOD, "name": f"job{number}", "command": f"exit {number}"} for number in range(3)]
    with pytest.raises(SpecError) as error:
        await submit(harness, *good, {**GOOD, **WRONG[key]}, *good)
    assert {problem.job for problem in error.value.problems} == {4}
    assert not harness.controller.context.jobs.values()


async def test_jobs_that_differ_in_what_they_run_are_all_accepted(harness: Harness) -> None:
    jobs = [{**GOOD, "env": {"N": str(number)}, "command": "true"} for number in range(5)]
    assert await submit(harness, *jobs) == 5
