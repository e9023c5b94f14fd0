"""DET_*: the variables of a Determined task, including its trial."""

from __future__ import annotations

from danlu.engines.variables.gang import Gang


def variables(gang: Gang, index: int) -> dict[str, str]:
    origin, place = gang.origin, gang.places[index]
    slots = ",".join(map(str, range(gang.gpus(index))))
    experiment = origin.array if origin.array is not None else origin.number
    found = {
        "DET_MASTER": "",
        "DET_CLUSTER_ID": "danlu",
        "DET_CLUSTER_NAME": "danlu",
        "DET_USER": origin.user,
        "DET_AGENT_ID": place.node if place is not None else "",
        "DET_CONTAINER_ID": f"{gang.launch.attempt_id}-{index}",
        "DET_ALLOCATION_ID": gang.launch.attempt_id,
        "DET_TASK_ID": gang.launch.job_id,
        "DET_TASK_TYPE": "TRIAL" if gang.spec.search is not None else "COMMAND",
        "DET_SLOT_IDS": f"[{slots}]",
        "DET_USE_GPU": "1" if gang.gpus(index) else "0",
        "DET_RESOURCES_TYPE": "docker-container",
        "DET_EXPERIMENT_ID": str(experiment),
        "DET_TRIAL_ID": str(origin.number),
        "DET_TRIAL_RUN_ID": str(origin.attempt),
        "DET_CHIEF_IP": gang.hosts[0],
        "DET_CONTAINER_ADDRS": ",".join(gang.hosts),
        "DET_CONTAINER_RANK": str(index),
        "DET_CROSS_RANK": str(index),
        "DET_CROSS_SIZE": str(len(gang.tasks)),
        "DET_UNIQUE_PORT_OFFSET": "0",
    }
    if gang.peers[0] is not None:
        found["DET_RENDEZVOUS_PORT"] = str(gang.peers[0])
        found["DET_CHIEF_PORT"] = str(gang.peers[0])
    if gang.spec.search is not None:
        found["DET_TRIAL_SEED"] = str(gang.spec.search.seed + origin.point)
    return found
