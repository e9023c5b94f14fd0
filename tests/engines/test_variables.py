"""Every language's own words: what a task of each platform finds in its environment."""

from __future__ import annotations

import json
from typing import Any

import pytest

from danlu.engines.api import Identity, Launch, Origin, TaskLaunch
from danlu.engines.peers import peer_variables, ports_needed, wished_port
from danlu.spec.complete import complete
from danlu.spec.placement import Placement

ADDRESSES = {"n1": "10.0.0.1", "n2": "10.0.0.2"}

PAI = {
    "name": "birds",
    "queue": "vision",
    "variables": "openpai",
    "roles": {
        "ps": {
            "command": "x",
            "cpus": 2,
            "memory": "4G",
            "shm": "64M",
            "ports": {"ssh": 1, "http": 1, "grpc": 2},
            "min_failed": 0,
        },
        "worker": {
            "count": 2,
            "command": "x",
            "gpus": 2,
            "cpus": 8,
            "memory": "32G",
            "shm": "8G",
            "ports": {"ssh": 1, "http": 1},
            "min_succeeded": 2,
        },
    },
}


def told(job: dict[str, Any], **origin: Any) -> list[dict[str, str]]:
    """The variables of each task (of its first process)."""
    spec = complete(job)
    facts = Origin(spec, "alice", **{"number": 42, **origin})
    tasks: list[TaskLaunch] = []
    for role in spec.roles:
        for index in range(role.count):
            tasks.append(
                TaskLaunch(
                    len(tasks),
                    role.name,
                    index,
                    role.command,
                    role.resources,
                    env=role.env,
                    ports=role.ports,
                    processes=role.processes,
                    origin=facts,
                )
            )
    gang = len(tasks)
    places = []
    for task in tasks:
        base = 1000 * (task.index + 1)
        ports = tuple(base + n for n in range(ports_needed(task, gang)))
        gpus = tuple(range(task.resources.gpus.count))
        places.append(Placement(f"n{task.index % 2 + 1}", gpus, ports=ports))
    launch = Launch("at-1", "0189-job", 1, Identity("alice"), tuple(tasks), tuple(places))
    return [processes[0] for processes in peer_variables(launch, ADDRESSES)]


def test_openpai_tells_of_the_job_its_roles_and_its_peers() -> None:
    ps, first, second = told(PAI)
    assert ps["PAI_JOB_NAME"] == "alice~birds"
    assert ps["PAI_VIRTUAL_CLUSTER"] == "vision"
    assert ps["PAI_TASK_ROLE_LIST"] == "ps,worker"
    assert ps["PAI_TASK_ROLE_TASK_COUNT_worker"] == "2"
    # The port for the peers comes first, then ssh, http and grpc.
    assert ps["PAI_TASK_ROLE_worker_HOST_LIST"] == "10.0.0.2:2002,10.0.0.1:3002"
    assert ps["PAI_HOST_IP_worker_1"] == "10.0.0.1"
    assert first["PAI_PORT_LIST_ps_0_grpc"] == "1003,1004"
    assert first["PAI_ps_0_grpc_PORT"] == "1003,1004"
    assert ps["PAI_CONTAINER_HOST_grpc_PORT_LIST"] == "1003,1004"
    assert ps["PAI_CONTAINER_HOST_PORT_LIST"] == "ssh:1001;http:1002;grpc:1003,1004;"
    assert second["PAI_CONTAINER_SSH_PORT"] == "3001"
    assert second["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"] == "1"
    assert second["PAI_CURRENT_TASK_ROLE_NAME"] == "worker"
    assert second["PAI_RESOURCE_worker"] == "2,8,32768,8192"
    assert second["PAI_RESOURCE"] == "2,8,32768,8192"
    assert second["PAI_MIN_FAILED_TASK_COUNT_ps"] == "null"
    assert second["PAI_MIN_SUCCEEDED_TASK_COUNT_worker"] == "2"
    assert second["PAI_TASK_ROLE_INSTANCES"] == "ps:0,worker:0,worker:1"
    assert second["FC_TASK_INDEX"] == "1"
    assert second["PAI_DEFAULT_FS_URI"] == ""


OF_A_PAI_TASK = """PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX PAI_TASK_ROLE_ps_HOST_LIST
    PAI_CONTAINER_HOST_http_PORT_LIST PAI_OUTPUT_DIR PAI_DATA_DIR PAI_CODE_DIR PAI_USERNAME
    PAI_WORK_DIR PAI_HOST_IP_ps_0 PAI_PORT_LIST_ps_0_http PAI_JOB_NAME PAI_FRAMEWORK_NAME
    PAI_USER_NAME
    PAI_VIRTUAL_CLUSTER PAI_TASK_ROLE_COUNT PAI_TASK_ROLE_LIST PAI_TASK_ROLE_TASK_COUNT_ps
    PAI_RESOURCE_ps PAI_MIN_FAILED_TASK_COUNT_ps PAI_MIN_SUCCEEDED_TASK_COUNT_ps
    PAI_CURRENT_TASK_ROLE_NAME PAI_CURRENT_TASK_ROLE_TASK_COUNT PAI_CURRENT_TASK_ROLE_CPU_COUNT
    PAI_CURRENT_TASK_ROLE_MEM_MB PAI_CURRENT_TASK_ROLE_GPU_COUNT PAI_CURRENT_TASK_ROLE_SHM_MB
    PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT
    PAI_CONTAINER_HOST_IP PAI_CONTAINER_HOST_PORT PAI_CONTAINER_HOST_PORT_LIST
    PAI_CONTAINER_SSH_PORT
    PAI_CURRENT_CONTAINER_IP PAI_CURRENT_CONTAINER_PORT PAI_ps_0_http_PORT PAI_TASK_INDEX
    PAI_TASK_ROLE_INDEX PAI_TASK_ROLE_NAME PAI_TASK_ROLE_NUM PAI_TASK_ROLE_INSTANCES PAI_TASKS_NUM
    PAI_JOB_TASK_COUNT PAI_TASK_ROLES_NUM PAI_JOB_TASK_ROLE_COUNT PAI_JOB_TASK_ROLE_LIST
    PAI_TASK_CPU_NUM PAI_TASK_MEM_MB PAI_TASK_GPU_NUM PAI_RESOURCE PAI_DEFAULT_FS_URI FC_TASK_INDEX
    FC_TASKROLE_NAME FC_POD_UID"""


def test_every_variable_of_openpai_is_there_under_its_other_name_too() -> None:
    for task in told(PAI):
        for name in OF_A_PAI_TASK.split():
            assert name in task
            if name.startswith("PAI_"):
                assert task[f"AII_{name[4:]}"] == task[name]


def test_dlc_counts_nodes_and_not_processes() -> None:
    job = {"command": "x", "count": 2, "gpus": 4, "variables": "dlc", "name": "j"}
    first, second = told(job)
    assert first["WORLD_SIZE"] == second["WORLD_SIZE"] == "2"
    assert (first["RANK"], second["RANK"]) == ("0", "1")
    assert first["NPROC_PER_NODE"] == "4"
    assert first["MASTER_ADDR"] == "10.0.0.1"
    assert first["MASTER_PORT"] == "1000"
    assert first["JOB_NAME"].startswith("dlc")


def test_dlc_names_a_master_also_to_a_task_that_is_alone() -> None:
    (alone,) = told({"command": "x", "variables": "dlc", "name": "j"})
    assert alone["WORLD_SIZE"] == "1"
    assert alone["RANK"] == "0"
    assert alone["NPROC_PER_NODE"] == "1"


def test_dlc_asks_for_its_usual_port() -> None:
    spec = complete({"command": "x", "variables": "dlc"})
    role = spec.roles[0]
    task = TaskLaunch(
        0, role.name, 0, role.command, role.resources, origin=Origin(spec, "alice", 1)
    )
    assert wished_port(task) == 23456


def test_danlu_itself_counts_processes() -> None:
    job = {"command": "x", "count": 2, "gpus": 4, "processes": "per_gpu", "name": "j"}
    first, _ = told(job)
    assert first["WORLD_SIZE"] == "8"
    assert "SLURM_JOB_ID" not in first
    assert "PAI_JOB_NAME" not in first


def test_tensorflow_roles_of_dlc_get_their_cluster() -> None:
    job = {
        "name": "j",
        "variables": "dlc",
        "roles": {"chief": {"command": "x"}, "ps": {"command": "x"}, "worker": {"command": "x"}},
    }
    config = json.loads(told(job)[2]["TF_CONFIG"])
    assert config["task"] == {"type": "worker", "index": 0}
    assert set(config["cluster"]) == {"chief", "ps", "worker"}


def test_slurm_tells_of_nodes_and_leaves_ranks_to_srun() -> None:
    job = {
        "name": "train",
        "command": "x",
        "count": 2,
        "gpus": 2,
        "cpus": 4,
        "memory": "8G",
        "processes": "batch",
        "variables": "slurm",
        "time_limit": "1h",
        "env": {"SLURM_NTASKS": "5"},
    }
    first, second = told(job, attempt=2, started_at=1000.0)
    assert first["SLURM_JOB_ID"] == "42"
    assert first["SLURM_JOB_NODELIST"] == "n1,n2"
    assert first["SLURM_TASKS_PER_NODE"] == "3,2"
    assert first["SLURM_JOB_CPUS_PER_NODE"] == "4(x2)"
    assert first["SLURM_MEM_PER_NODE"] == "8192"
    assert first["SLURM_JOB_END_TIME"] == "4600"
    assert first["SLURM_RESTART_COUNT"] == "1"
    assert (first["SLURM_NODEID"], second["SLURM_NODEID"]) == ("0", "1")
    assert second["SLURMD_NODENAME"] == "n2"
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "TF_CONFIG"} & first.keys()


def test_slurm_tells_an_element_of_its_array() -> None:
    job = {"name": "a", "command": "x", "array": "1-9:2", "variables": "slurm"}
    (task,) = told(job, number=44, array=42, index=5)
    assert task["SLURM_ARRAY_JOB_ID"] == "42"
    assert task["SLURM_ARRAY_TASK_ID"] == "5"
    assert task["SLURM_ARRAY_TASK_COUNT"] == "5"
    assert task["SLURM_ARRAY_TASK_MAX"] == "9"
    assert task["SLURM_ARRAY_TASK_STEP"] == "2"
    assert task["SLURM_JOB_ID"] == "44"


def test_determined_tells_of_slots_and_the_chief() -> None:
    job = {
        "name": "e",
        "command": "x",
        "count": 2,
        "gpus": 2,
        "variables": "determined",
        "search": {"space": {"lr": 0.1}, "seed": 9},
    }
    first, second = told(job)
    assert first["DET_SLOT_IDS"] == "[0,1]"
    assert second["DET_CHIEF_IP"] == "10.0.0.1"
    assert second["DET_CONTAINER_RANK"] == "1"
    assert first["DET_TRIAL_SEED"] == "9"
    assert first["DET_TASK_TYPE"] == "TRIAL"
    assert first["DET_AGENT_ID"] == "n1"


@pytest.mark.parametrize("language", ["openpai", "dlc", "determined", "slurm"])
def test_a_variable_of_the_jobs_own_is_not_among_these(language: str) -> None:
    """The engine puts the job's own variables on top of these."""
    for task in told({"name": "j", "command": "x", "variables": language, "env": {"MINE": "1"}}):
        assert "MINE" not in task
