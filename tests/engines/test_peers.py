"""How tasks find each other. docs/variables.md promises what is checked here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from danlu.engines.api import Identity, Launch, TaskLaunch
from danlu.engines.peers import peer_variables, ports_needed
from danlu.spec.job import Command, GpuRequest, Processes, Resources, RunAs
from danlu.spec.placement import Placement

ADDRESSES = {"n1": "10.0.0.1", "n2": "10.0.0.2"}


def gang(roles: Sequence[str], gpus: int = 0, **values: Any) -> Launch:
    tasks, places, seen = [], [], {}
    for index, role in enumerate(roles):
        seen[role] = seen.get(role, -1) + 1
        resources = Resources(GpuRequest(gpus), 1, 1, 1)
        command = Command(RunAs.ARGV, ("true",))
        task = TaskLaunch(index, role, seen[role], command, resources, **values)
        tasks.append(task)
        count = ports_needed(task, len(roles))
        ports = tuple(20000 + 10 * index + i for i in range(count))
        node = f"n{index % 2 + 1}"
        places.append(Placement(node, tuple(range(gpus)), ports=ports))
    return Launch("attempt", "job", 1, Identity("alice"), tuple(tasks), tuple(places))


def test_a_task_alone_gets_no_variables_that_make_frameworks_wait_for_others() -> None:
    [[variables]] = peer_variables(gang(["main"], gpus=2), ADDRESSES)
    absent = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG"}
    assert not absent & variables.keys()
    assert variables["DANLU_TASK_INDEX"] == "0"
    assert variables["DANLU_NODE"] == "n1"


def test_a_task_alone_needs_no_port() -> None:
    launch = gang(["main"])
    assert ports_needed(launch.tasks[0], 1) == 0


def test_tasks_are_ranks_where_each_starts_one_process() -> None:
    found = peer_variables(gang(["a", "a", "b"]), ADDRESSES)
    assert [[v["RANK"] for v in task] for task in found] == [["0"], ["1"], ["2"]]
    first, *_, last = (task[0] for task in found)
    assert last["WORLD_SIZE"] == last["NNODES"] == "3"
    assert last["NODE_RANK"] == "2"
    assert (last["DANLU_ROLE"], last["DANLU_ROLE_INDEX"]) == ("b", "0")
    assert first["MASTER_ADDR"] == last["MASTER_ADDR"] == "10.0.0.1"
    assert first["MASTER_PORT"] == last["MASTER_PORT"] == "20000"
    assert last["DANLU_HOSTS"] == "10.0.0.1,10.0.0.2,10.0.0.1"
    assert last["DANLU_PEERS"] == "10.0.0.1:20000,10.0.0.2:20010,10.0.0.1:20020"
    assert "LOCAL_RANK" not in last


def test_processes_are_ranks_where_each_gpu_has_one() -> None:
    found = peer_variables(gang(["w", "w"], gpus=2, processes=Processes.PER_GPU), ADDRESSES)
    ranks = [[(v["RANK"], v["LOCAL_RANK"]) for v in task] for task in found]
    assert ranks == [[("0", "0"), ("1", "1")], [("2", "0"), ("3", "1")]]
    assert {v["WORLD_SIZE"] for task in found for v in task} == {"4"}
    assert {v["LOCAL_WORLD_SIZE"] for task in found for v in task} == {"2"}


def test_one_task_with_a_process_per_gpu_has_a_rendezvous() -> None:
    launch = gang(["w"], gpus=2, processes=Processes.PER_GPU)
    [processes] = peer_variables(launch, ADDRESSES)
    assert [v["RANK"] for v in processes] == ["0", "1"]
    assert processes[1]["MASTER_PORT"] == "20000"


def test_tensorflow_is_told_its_cluster_where_roles_have_its_names() -> None:
    found = peer_variables(gang(["chief", "ps", "worker", "worker", "evaluator"]), ADDRESSES)
    configs = [json.loads(task[0]["TF_CONFIG"]) for task in found]
    assert configs[3]["task"] == {"type": "worker", "index": 1}
    assert configs[4]["task"] == {"type": "evaluator", "index": 0}
    assert configs[0]["cluster"] == {
        "chief": ["10.0.0.1:20000"],
        "ps": ["10.0.0.2:20010"],
        "worker": ["10.0.0.1:20020", "10.0.0.2:20030"],
    }
    assert all(config["cluster"] == configs[0]["cluster"] for config in configs)
    assert "TF_CONFIG" not in peer_variables(gang(["a", "b"]), ADDRESSES)[0][0]


def test_ports_by_label_come_after_the_peers_port() -> None:
    launch = gang(["w", "w"], ports={"http": 1, "rpc-in": 2})
    assert ports_needed(launch.tasks[0], 2) == 4
    variables = peer_variables(launch, ADDRESSES)[1][0]
    assert variables["PORT_HTTP"] == "20011"
    assert variables["PORT_RPC_IN"] == variables["PORT_RPC_IN_0"] == "20012"
    assert variables["PORT_RPC_IN_1"] == "20013"
    alone = peer_variables(gang(["main"], ports={"http": 1}), ADDRESSES)[0][0]
    assert alone["PORT_HTTP"] == "20000"
