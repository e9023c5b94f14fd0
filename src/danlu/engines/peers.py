"""How the tasks of a gang find each other: ports and variables, the same on every engine.

Every variable is documented in docs/variables.md: keep the two in sync.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from danlu.engines.api import Launch, TaskLaunch
from danlu.engines.variables import dlc, speaker
from danlu.engines.variables.gang import Gang
from danlu.spec.job import Processes, Variables
from danlu.spec.placement import Placement

_TF_ROLES = frozenset({"chief", "master", "worker", "ps", "evaluator"})


def process_count(task: TaskLaunch, gpus: int | None = None) -> int:
    """How many processes the platform starts in a task."""
    if task.processes is not Processes.PER_GPU:
        return 1
    return max(1, task.resources.gpus.count if gpus is None else gpus)


def has_peers(task: TaskLaunch, gang: int) -> bool:
    # DLC sets a master even for a single task.
    return gang > 1 or task.processes is Processes.PER_GPU or language_of(task) is Variables.DLC


def language_of(task: TaskLaunch) -> Variables:
    return Variables.DANLU if task.origin is None else task.origin.spec.variables


def wished_port(task: TaskLaunch) -> int | None:
    """The preferred number of its first port, if the job's dialect has one."""
    return dlc.MASTER_PORT if task.index == 0 and language_of(task) is Variables.DLC else None


def ports_needed(task: TaskLaunch, gang: int) -> int:
    """How many ports it needs: first the one for its peers, then those by label."""
    return int(has_peers(task, gang)) + sum(task.ports.values())


def peer_variables(launch: Launch, addresses: Mapping[str, str]) -> list[list[dict[str, str]]]:
    """The variables of each process in each task."""
    places = launch.places or (None,) * len(launch.tasks)
    gang = len(launch.tasks)
    placed = list(zip(launch.tasks, places, strict=True))
    counts = [process_count(task, _gpus(task, place)) for task, place in placed]
    hosts = [_host(place, addresses) for place in places]
    ports = [_peer_port(task, place, gang) for task, place in placed]
    peers = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True) if port is not None]
    world = sum(counts)
    found: list[list[dict[str, str]]] = []
    rank = 0
    for (task, place), count in zip(placed, counts, strict=True):
        own = _own(launch, task, place) | {"DANLU_HOSTS": ",".join(hosts)}
        language = language_of(task)
        # A batch script starts its processes with srun, so no single rank fits.
        own_words = has_peers(task, gang) and language is not Variables.SLURM
        if has_peers(task, gang) and not own_words:
            own |= {"DANLU_PEERS": ",".join(peers)}
        if own_words:
            own |= _gang(task, gang, peers)
            own |= _tensorflow(launch, task, peers)
            own |= {"WORLD_SIZE": str(world)}
        processes = []
        for local in range(count):
            variables = dict(own)
            if own_words:
                variables["RANK"] = str(rank + local)
            if task.processes is Processes.PER_GPU:
                variables |= {"LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(count)}
            processes.append(variables)
        rank += count
        found.append(processes)
    _speak(launch, places, hosts, ports, found)
    return found


def _speak(
    launch: Launch,
    places: Sequence[Placement | None],
    hosts: list[str],
    ports: list[int | None],
    found: list[list[dict[str, str]]],
) -> None:
    """Adds the variables of the job's dialect; they override Danlu's own."""
    origin = launch.tasks[0].origin
    speak = speaker(origin.spec.variables) if origin is not None else None
    if origin is None or speak is None:
        return
    gang = len(launch.tasks)
    labelled = [
        _by_label(task, place, gang) for task, place in zip(launch.tasks, places, strict=True)
    ]
    view = Gang(launch, origin, places, hosts, labelled, ports)
    for task, processes in zip(launch.tasks, found, strict=True):
        words = speak(view, task.index)
        for own in processes:
            own.update(words)


def _gpus(task: TaskLaunch, place: Placement | None) -> int | None:
    return None if place is None else len(place.gpus) or task.resources.gpus.count


def _peer_port(task: TaskLaunch, place: Placement | None, gang: int) -> int | None:
    leased = place.ports if place is not None and has_peers(task, gang) else ()
    return leased[0] if leased else None


def _host(place: Placement | None, addresses: Mapping[str, str]) -> str:
    return "127.0.0.1" if place is None else addresses.get(place.node, place.node)


def _own(launch: Launch, task: TaskLaunch, place: Placement | None) -> dict[str, str]:
    variables = {
        "DANLU_JOB": launch.job_id,
        "DANLU_JOB_ID": launch.job_id,
        "DANLU_ATTEMPT": launch.attempt_id,
        "DANLU_ATTEMPT_ID": launch.attempt_id,
        "DANLU_TASK_INDEX": str(task.index),
        "DANLU_TASKS": str(len(launch.tasks)),
        "DANLU_ROLE": task.role,
        "DANLU_ROLE_INDEX": str(task.role_index),
    }
    if place is not None:
        variables["DANLU_NODE"] = place.node
        variables |= _labelled(task, place, len(launch.tasks))
    return variables


def _labelled(task: TaskLaunch, place: Placement, gang: int) -> dict[str, str]:
    variables: dict[str, str] = {}
    for label, mine in _by_label(task, place, gang).items():
        name = "PORT_" + re.sub(r"[^A-Z0-9]", "_", label.upper())
        if mine:
            variables[name] = str(mine[0])
        if len(mine) > 1:
            variables |= {f"{name}_{i}": str(port) for i, port in enumerate(mine)}
    return variables


def _by_label(task: TaskLaunch, place: Placement | None, gang: int) -> dict[str, list[int]]:
    ports = [] if place is None else list(place.ports[int(has_peers(task, gang)) :])
    found: dict[str, list[int]] = {}
    for label, count in task.ports.items():
        found[label], ports = ports[:count], ports[count:]
    return found


def _gang(task: TaskLaunch, gang: int, peers: list[str]) -> dict[str, str]:
    variables = {"NNODES": str(gang), "NODE_RANK": str(task.index)}
    if peers:
        host, _, port = peers[0].rpartition(":")
        variables |= {
            "MASTER_ADDR": host,
            "MASTER_PORT": port,
            "DANLU_PEERS": ",".join(peers),
        }
    return variables


def _tensorflow(launch: Launch, task: TaskLaunch, peers: list[str]) -> dict[str, str]:
    """TF_CONFIG, if TensorFlow knows all role names and each task has a port."""
    named = {other.role for other in launch.tasks}
    if not named <= _TF_ROLES or len(peers) < len(launch.tasks) or len(peers) < 2:
        return {}
    cluster: dict[str, list[str]] = {}
    for other, peer in zip(launch.tasks, peers, strict=True):
        if other.role != "evaluator":  # not a member of the cluster
            cluster.setdefault(other.role, []).append(peer)
    config = {"cluster": cluster, "task": {"type": task.role, "index": task.role_index}}
    return {"TF_CONFIG": json.dumps(config)}
