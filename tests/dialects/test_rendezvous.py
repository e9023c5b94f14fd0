"""Two nodes with two processes each find one another through every language's own variables."""

from __future__ import annotations

import atexit
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.dialects.harness import ShimHarness
from tests.support.folders import let_in, open_python

# Copied to where every user may read it: the checkout may be in a folder of root's own.
FOLDER = let_in(Path(tempfile.mkdtemp(prefix="danlu-reduce-")))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
REDUCE = shlex.quote(shutil.copy(Path(__file__).with_name("reduce.py"), FOLDER))
PYTHON = shlex.quote(open_python())

# Starts two processes and fails when one does, as a launcher of a framework does.
TWO = f"""
start() {{ {PYTHON} {REDUCE} "$@" & }}
finish() {{ code=0; for job in $(jobs -p); do wait $job || code=$?; done; exit $code; }}
"""


def job_file(language: str, command: str) -> str:
    indented = "\n".join(f"        {line}" for line in command.splitlines())
    files = {
        "openpai-v1": '{"jobName": "meet", "image": "x", "taskRoles": [{"name": "worker",'
        ' "taskNumber": 2, "memoryMB": 2048, "gpuNumber": 2, "command": %s}]}',
        "openpai-v2": f"""protocolVersion: 2
name: meet
type: job
prerequisites:
  - {{name: i, type: dockerimage, uri: x}}
taskRoles:
  worker:
    instances: 2
    dockerImage: i
    resourcePerInstance: {{cpu: 1, memoryMB: 2048, gpu: 2}}
    commands:
      - |
{indented}
""",
        "dlc": "",
        "determined": f"""description: meet
resources: {{slots: 4}}
slurm: {{slots_per_node: 2}}
entrypoint: |
{indented}
""",
    }
    if language == "openpai-v1":
        import json

        return files[language] % json.dumps(command)
    if language == "dlc":
        import json

        return json.dumps(
            {
                "name": "meet",
                "workers": "2",
                "worker_image": "x",
                "worker_cpu": "1",
                "worker_gpu": "2",
                "worker_memory": "2",
                "command": command,
            }
        )
    return files[language]


PAI = """
host=${PAI_TASK_ROLE_worker_HOST_LIST%%,*}
index=$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX
each=$PAI_CURRENT_TASK_ROLE_GPU_COUNT
size=$((PAI_CURRENT_TASK_ROLE_TASK_COUNT * each))
start ${host%%:*} ${host##*:} $size $((index * each))
start ${host%%:*} ${host##*:} $size $((index * each + 1))
finish
"""
DLC = """
size=$((WORLD_SIZE * NPROC_PER_NODE))
start $MASTER_ADDR $MASTER_PORT $size $((RANK * NPROC_PER_NODE))
start $MASTER_ADDR $MASTER_PORT $size $((RANK * NPROC_PER_NODE + 1))
finish
"""
DETERMINED = """
start $DET_CHIEF_IP $DET_RENDEZVOUS_PORT $((DET_CROSS_SIZE * 2)) $((DET_CONTAINER_RANK * 2))
start $DET_CHIEF_IP $DET_RENDEZVOUS_PORT $((DET_CROSS_SIZE * 2)) $((DET_CONTAINER_RANK * 2 + 1))
finish
"""


@pytest.mark.parametrize(
    ("language", "command"),
    [("openpai-v1", PAI), ("openpai-v2", PAI), ("dlc", DLC), ("determined", DETERMINED)],
)
def test_two_times_two_processes_add_up(
    shim_harness: ShimHarness, language: str, command: str
) -> None:
    text = job_file(language, TWO + command)
    (job,) = shim_harness.send(text, dialect=language, keys={"image": None})["jobs"]
    ended = shim_harness.wait(job["id"])
    logs = shim_harness.log(job["id"], 0) + shim_harness.log(job["id"], 1)
    assert ended["state"] == "succeeded", logs
    assert sorted(line for line in logs.splitlines() if line.startswith("rank")) == [
        f"rank {rank} of 4: the sum is 6" for rank in range(4)
    ]


def test_srun_starts_two_times_two_processes_that_add_up(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "meet.sh",
        f"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --gres=gpu:2 --mem=2G
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
srun {PYTHON} {REDUCE} '$MASTER_ADDR' '$MASTER_PORT' '$SLURM_NTASKS' '$SLURM_PROCID'
""",
    )
    number = shim_harness.run("sbatch", "--parsable", "--wait", "meet.sh")
    assert number.returncode == 0, number.stderr
    job = number.stdout.strip()
    said = (shim_harness.folder / f"slurm-{job}.out").read_text()
    assert sorted(line for line in said.splitlines() if line.startswith("rank")) == [
        f"rank {rank} of 4: the sum is 6" for rank in range(4)
    ]


def test_danlus_own_ranks_add_up(shim_harness: ShimHarness) -> None:
    command = f"{PYTHON} {REDUCE} $MASTER_ADDR $MASTER_PORT $WORLD_SIZE $RANK"
    job = shim_harness.server.submit(
        name="meet", command=command, count=2, gpus=2, processes="per_gpu"
    )
    ended = shim_harness.wait(job["id"])
    logs = shim_harness.log(job["id"], 0) + shim_harness.log(job["id"], 1)
    assert ended["state"] == "succeeded", logs
    assert logs.count("the sum is 6") == 4
