"""How the tasks of a gang find each other: ports and variables, the same on every engine.

docs/variables.md says what each variable means; keep the two in step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from danlu.engines.api import Launch, Place, TaskLaunch
from danlu.engines.variables import dlc, speaker
from danlu.engines.variables.gang import Gang
from danlu.spec.job import Processes, Variables

_TF_ROLES = frozenset({"chief", "master", "worker", "ps", "evaluator"})


def process_count(task: TaskLaunch, cards: int | None = None) -> int:
    """How many processes the platform starts in a task."""
    if task.processes is not Processes.PER_GPU:
        return 1
    return max(1, task.resources.gpus.count if cards is None else cards)


def has_peers(task: TaskLaunch, gang: int) -> bool:
    # DLC names a master also to a task that is alone.
    return gang > 1 or task.processes is Processes.PER_GPU or language_of(task) is Variables.DLC


def language_of(task: TaskLaunch) -> Variables:
    return Variables.DANLU if task.origin is None else task.origin.spec.variables


def wished_port(task: TaskLaunch) -> int | None:
    """The number its first port should have, where the job's language names one."""
    return dlc.MASTER_PORT if task.index == 0 and language_of(task) is Variables.DLC else None


def ports_needed(task: TaskLaunch, gang: int) -> int:
    """How many ports its place must bring: first the one for the peers, then those by label."""
    return int(has_peers(task, gang)) + sum(task.ports.values())


def peer_variables(launch: Launch, addresses: Mapping[str, str]) -> list[list[dict[str, str]]]:
    """For each task, for each process the platform starts in it: its variables."""
    places = {place.task: place for place in launch.places or ()}
    gang = len(launch.tasks)
    counts = [process_count(task, _cards(places.get(task.index))) for task in launch.tasks]
    hosts = [_host(places.get(task.index), addresses) for task in launch.tasks]
    peers = [
        f"{host}:{places[task.index].ports[0]}"
        for task, host in zip(launch.tasks, hosts, strict=True)
        if has_peers(task, gang) and task.index in places and places[task.index].ports
    ]
    world = sum(counts)
    found: list[list[dict[str, str]]] = []
    rank = 0
    for task, count in zip(launch.tasks, counts, strict=True):
        place = places.get(task.index)
        own = _own(launch, task, place) | {"DANLU_HOSTS": ",".join(hosts)}
        language = language_of(task)
        # A batch script's own processes are started by its srun: no rank is true for them all.
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
    _speak(launch, places, hosts, found)
    return found


def _speak(
    launch: Launch,
    places: Mapping[int, Place],
    hosts: list[str],
    found: list[list[dict[str, str]]],
) -> None:
    """Adds the words of the language the job was written in; they win over Danlu's own."""
    origin = launch.tasks[0].origin
    speak = speaker(origin.spec.variables) if origin is not None else None
    if origin is None or speak is None:
        return
    gang = len(launch.tasks)
    labelled = [_by_label(task, places.get(task.index), gang) for task in launch.tasks]
    ports = [
        places[task.index].ports[0]
        if has_peers(task, gang) and task.index in places and places[task.index].ports
        else None
        for task in launch.tasks
    ]
    view = Gang(launch, origin, places, hosts, labelled, ports)
    for task, processes in zip(launch.tasks, found, strict=True):
        words = speak(view, task.index)
        for own in processes:
            own.update(words)


def _cards(place: Place | None) -> int | None:
    return None if place is None else len(place.gpus.indexes) or place.gpus.count


def _host(place: Place | None, addresses: Mapping[str, str]) -> str:
    return "127.0.0.1" if place is None else addresses.get(place.node, place.node)


def _own(launch: Launch, task: TaskLaunch, place: Place | None) -> dict[str, str]:
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


def _labelled(task: TaskLaunch, place: Place, gang: int) -> dict[str, str]:
    variables: dict[str, str] = {}
    for label, mine in _by_label(task, place, gang).items():
        name = "PORT_" + re.sub(r"[^A-Z0-9]", "_", label.upper())
        if mine:
            variables[name] = str(mine[0])
        if len(mine) > 1:
            variables |= {f"{name}_{i}": str(port) for i, port in enumerate(mine)}
    return variables


def _by_label(task: TaskLaunch, place: Place | None, gang: int) -> dict[str, list[int]]:
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
    """TF_CONFIG, where all roles have names TensorFlow knows and each task has a port."""
    named = {other.role for other in launch.tasks}
    if not named <= _TF_ROLES or len(peers) < len(launch.tasks) or len(peers) < 2:
        return {}
    cluster: dict[str, list[str]] = {}
    for other, peer in zip(launch.tasks, peers, strict=True):
        if other.role != "evaluator":  # it watches the cluster and is no part of it
            cluster.setdefault(other.role, []).append(peer)
    config = {"cluster": cluster, "task": {"type": task.role, "index": task.role_index}}
    return {"TF_CONFIG": json.dumps(config)}
