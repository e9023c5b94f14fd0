"""SLURM_*: the variables of a batch script. Each task of the gang is a node of the allocation."""

from __future__ import annotations

from itertools import groupby

from danlu.engines.variables.gang import Gang, megabytes, whole


def variables(gang: Gang, index: int) -> dict[str, str]:
    spec, origin = gang.spec, gang.origin
    role = spec.roles[0]
    need = role.resources
    nodes = len(gang.tasks)
    tasks = _tasks(gang, nodes)
    per_node = -(-tasks // nodes)
    names = [gang.node(task.index) for task in gang.tasks]
    number = str(origin.number)
    found = {
        "SLURM_JOB_ID": number,
        "SLURM_JOBID": number,
        "SLURM_JOB_NAME": spec.name,
        "SLURM_JOB_USER": origin.user,
        "SLURM_JOB_ACCOUNT": spec.group or "",
        "SLURM_JOB_PARTITION": spec.queue,
        "SLURM_JOB_QOS": "normal",
        "SLURM_CLUSTER_NAME": "danlu",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_NNODES": str(nodes),
        "SLURM_JOB_NODELIST": ",".join(names),
        "SLURM_NODELIST": ",".join(names),
        "SLURM_NTASKS": str(tasks),
        "SLURM_NPROCS": str(tasks),
        "SLURM_TASKS_PER_NODE": _repeated(_spread(tasks, nodes)),
        "SLURM_JOB_CPUS_PER_NODE": _repeated([int(need.cpus) or 1] * nodes),
        "SLURM_CPUS_ON_NODE": whole(need.cpus),
        "SLURM_MEM_PER_NODE": megabytes(need.memory),
        "SLURM_NODEID": str(index),
        "SLURM_PROCID": str(index * per_node),
        "SLURM_LOCALID": "0",
        "SLURM_SUBMIT_DIR": role.workdir or "/userhome",
        "SLURM_SUBMIT_HOST": "danlu",
        "SLURM_TMPDIR": "/tmp",  # noqa: S108 - scripts that use it make a folder of their own
        "SLURMD_NODENAME": names[index],
        "SLURM_TOPOLOGY_ADDR": names[index],
        "SLURM_RESTART_COUNT": str(origin.attempt - 1),
        "SLURM_GTIDS": "0",
        "SLURM_TASK_PID": "0",
        "SLURM_LAUNCH_NODE_IPADDR": gang.hosts[0],
        "SLURM_JOB_START_TIME": str(int(origin.started_at)),
    }
    if spec.time_limit is not None:
        found["SLURM_JOB_END_TIME"] = str(int(origin.started_at + spec.time_limit))
    gpus = gang.gpus(index)
    if gpus:
        listed = ",".join(map(str, range(gpus)))
        found["SLURM_GPUS_ON_NODE"] = str(gpus)
        found["SLURM_GPUS_PER_NODE"] = str(gpus)
        found["SLURM_JOB_GPUS"] = listed
        found["SLURM_STEP_GPUS"] = listed
    return {**found, **_array(gang)}


def _tasks(gang: Gang, nodes: int) -> int:
    """How many tasks srun starts: as requested by the script, else one per node."""
    given = gang.spec.roles[0].env.get("SLURM_NTASKS", "")
    return int(given) if given.isdigit() and int(given) else nodes


def _spread(tasks: int, nodes: int) -> list[int]:
    least, more = divmod(tasks, nodes)
    return [least + 1 if place < more else least for place in range(nodes)]


def _repeated(counts: list[int]) -> str:
    """[2, 2, 1] in Slurm's notation: 2(x2),1."""
    parts = []
    for count, same in groupby(counts):
        times = len(list(same))
        parts.append(f"{count}(x{times})" if times > 1 else str(count))
    return ",".join(parts)


def _array(gang: Gang) -> dict[str, str]:
    origin, array = gang.origin, gang.spec.array
    if array is None or origin.array is None or origin.index is None:
        return {}
    indexes = array.indexes
    step = indexes[1] - indexes[0] if len(indexes) > 1 else 1
    return {
        "SLURM_ARRAY_JOB_ID": str(origin.array),
        "SLURM_ARRAY_TASK_ID": str(origin.index),
        "SLURM_ARRAY_TASK_COUNT": str(len(indexes)),
        "SLURM_ARRAY_TASK_MIN": str(min(indexes)),
        "SLURM_ARRAY_TASK_MAX": str(max(indexes)),
        "SLURM_ARRAY_TASK_STEP": str(step),
    }
