"""A waiting job is changed by keys of its file, checked as the file was."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.spec.complete import complete
from danlu.spec.defaults import Defaults
from danlu.spec.edit import differences, edited
from danlu.spec.errors import SpecError

GIB = 2**30
JOB: dict[str, Any] = {"command": "x", "gpus": 4, "cpus": 8, "memory": "32G", "priority": 3}
GANG: dict[str, Any] = {
    "roles": {
        "ps": {"command": "x", "cpus": 1, "memory": "1G"},
        "worker": {"command": "y", "gpus": "2:A100", "cpus": 4, "memory": "8G", "count": 2},
    }
}


def test_fewer_gpus_take_cpus_and_memory_along() -> None:
    before = complete(JOB)
    after = edited(before, {"gpus": 2}, Defaults())
    need = after.roles[0].resources
    assert (need.gpus.count, need.cpus, need.memory) == (2, 4, 16 * GIB)
    assert differences(before, after) == {
        "gpus": [4, 2],
        "cpus": [8, 4],
        "memory": ["32G", "16G"],
    }


def test_what_is_given_is_taken_as_it_is() -> None:
    after = edited(complete(JOB), {"gpus": "2:A100", "cpus": 8, "memory": "1G"}, Defaults())
    need = after.roles[0].resources
    assert (need.gpus.count, need.gpus.model, need.cpus, need.memory) == (2, "A100", 8, GIB)


def test_null_goes_back_to_the_default_and_the_rest_stays() -> None:
    before = complete({**JOB, "time_limit": "2h", "queue": "q", "nodes": {"only": ["n1"]}})
    after = edited(before, {"time_limit": None, "queue": None, "nodes": None}, Defaults())
    assert (after.time_limit, after.queue, after.nodes.only) == (None, "default", ())
    assert (after.priority, after.roles) == (3, before.roles)


def test_the_priority_alone_is_changed_and_null_takes_it_back() -> None:
    before = complete(JOB)
    after = edited(before, {"priority": 9}, Defaults())
    assert differences(before, after) == {"priority": [3, 9]}
    assert edited(after, {"priority": None}, Defaults()).priority == 0


def test_roles_are_changed_by_name() -> None:
    before = complete(GANG)
    after = edited(before, {"roles": {"worker": {"gpus": 1}}}, Defaults())
    assert after.roles[0] == before.roles[0]
    assert differences(before, after) == {
        "worker.gpus": [{"count": 2, "model": "A100"}, 1],
        "worker.cpus": [4, 2],
        "worker.memory": ["8G", "4G"],
    }


@pytest.mark.parametrize(
    ("job", "changes", "told"),
    [
        (JOB, {"command": "rm"}, "cannot be changed in a waiting job; what can: queue"),
        (JOB, {"gpus": "many"}, "gpus"),
        (JOB, {"cpus": -1}, "cpus"),
        (JOB, {"priority": 1001}, "priority"),
        (JOB, {"roles": {"main": {"gpus": 1}}}, "roles"),
        (GANG, {"gpus": 1}, "time_limit, idle_limit, nodes, preemptible, roles"),
        (GANG, {"roles": {"chief": {"gpus": 1}}}, "is not a role of the job: ps, worker"),
        (GANG, {"roles": {"ps": {"env": {}}}}, "cannot be changed"),
        (GANG, {"roles": {"ps": 1}}, "must be a mapping"),
        (GANG, {"roles": [1]}, "must be a mapping"),
    ],
)
def test_what_cannot_be_changed_is_told(
    job: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError) as caught:
        edited(complete(job), changes, Defaults())
    assert any(told in f"{each.key} {each.message.en}" for each in caught.value.problems)
