"""The batch script of an attempt: what Slurm is asked for, the claim, and the tasks."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from danlu.engines.api import Launch, Refused, TaskLaunch, Terms
from danlu.engines.slurm import directives, fields, queue, quick
from danlu.engines.slurm.config import SlurmConfig
from danlu.spec.job import Variables

if TYPE_CHECKING:
    from danlu.engines.slurm.fitting import Size

_BACKSTOP = 120.0  # seconds: Danlu's own time limit comes first, with its grace
_NAME = re.compile(r"[^\w.+:@-]", re.ASCII)
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Cluster:
    """What plans depend on besides the launch."""

    types: tuple[str, ...] = ()  # of GPUs, as gres names them
    partitions: tuple[str, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] | None = None  # partition -> its nodes
    addresses: Mapping[str, str] | None = None
    sizes: Mapping[str, Size] | None = None  # node -> what it has
    default: str = ""  # the partition of jobs that name none


NO_CLUSTER = Cluster()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one task needs, in Slurm's units."""

    cpus: int
    memory: int  # megabytes
    gpus: int
    type: str
    constraint: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Tasks of the same shape, one after the other."""

    shape: Shape
    count: int


def parts_of(launch: Launch, config: SlurmConfig, cluster: Cluster) -> tuple[Part, ...]:
    shapes = [_shape(task, config, cluster) for task in launch.tasks]
    return tuple(Part(shape, len(list(same))) for shape, same in groupby(shapes))


def _shape(task: TaskLaunch, config: SlurmConfig, cluster: Cluster) -> Shape:
    need = task.resources
    gpus = need.gpus
    cpus = max(1, math.ceil(need.cpus))
    memory = max(1, -(-need.memory // (1 << 20)))
    if not gpus.count or gpus.model is None:
        return Shape(cpus, memory, gpus.count, "")
    kind, constraint = model_of(gpus.model, config, cluster) or ("", "")
    return Shape(cpus, memory, gpus.count, kind, constraint)


def model_of(model: str, config: SlurmConfig, cluster: Cluster) -> tuple[str, str] | None:
    """The gres type of a model, or the feature that nodes with it have. None: it has none."""
    for name, value in config.models.items():
        if _plain(name) == _plain(model):
            if value.startswith("constraint:"):
                return "", value.removeprefix("constraint:")
            return value, ""
    found = [kind for kind in cluster.types if _alike(kind, model)]
    return (found[0], "") if found else None


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _alike(one: str, other: str) -> bool:
    """`rtx3090` and `3090`, `A100-SXM4-80GB` and `a100`."""
    first, second = _plain(one), _plain(other)
    return bool(first and second) and (first in second or second in first)


def write(
    launch: Launch,
    folder: str,
    agent: str,
    config: SlurmConfig,
    cluster: Cluster,
    is_quick: bool = False,
) -> str:
    """The whole script. `folder` is the attempt's on the shared one; `is_quick`: the shell may
    start the task itself.
    """
    parts = parts_of(launch, config, cluster)
    lines = [f"#!{quick.SHELL if is_quick else '/bin/sh'}"]
    common = _common(launch, folder, config, cluster)
    for place, part in enumerate(parts):
        if place:
            lines.append("#SBATCH hetjob")
        alone = len(launch.tasks) == 1
        # What holds for a whole job is given with its first part.
        options = [*common, *_needs(part, alone)] if place == 0 else [
            *_each(launch.terms, config, cluster), *_needs(part, alone)
        ]  # fmt: skip
        lines += [f"#SBATCH {option}" for option in options]
    lines += [
        f"d={shlex.quote(folder)}",
        # Only the first of several submissions gets any further: the file is created or not.
        'cd "$d" && set -C && { echo "$SLURM_JOB_ID" >claim; } 2>/dev/null || exit 0',
        "set +C",
    ]
    run = f'{shlex.join(keeper(agent, config))} "$d"'
    if is_quick:
        lines.append(f". ./{quick.NAME}")
    if len(launch.tasks) == 1:
        lines.append(f"exec {run}")
    else:
        lines.append(_steps(parts, run))
    return "\n".join(lines) + "\n"


def keeper(agent: str, config: SlurmConfig) -> list[str]:
    return [config.python, "-I", "-S", f"{agent}/run.py"]


def _steps(parts: Sequence[Part], run: str) -> str:
    each = []
    for place, part in enumerate(parts):
        shape = part.shape
        words = [f"--ntasks={part.count}", f"--cpus-per-task={shape.cpus}"]
        if shape.gpus:
            words.append(f"--gpus-per-task={_gpus(shape)}")
        if len(parts) > 1:
            words.append(f"--het-group={place}")
        each.append(f"{' '.join(words)} {run}")
    # Each task ends on its own; Danlu decides what that means for the others.
    first = "exec srun --kill-on-bad-exit=0 --wait=0 --input=none --mpi=none "
    return first + " : ".join(each)


def _common(launch: Launch, folder: str, config: SlurmConfig, cluster: Cluster) -> list[str]:
    terms = launch.terms
    name = _NAME.sub("_", terms.name)[:_LONGEST_NAME] or "danlu"
    options = [
        f"--job-name={name}",
        f"--comment={queue.comment(launch.installation, launch.attempt_id)}",
        "--no-requeue",
        f"--output={shlex.quote(folder.replace('%', '%%') + '/slurm.out')}",
        f"--chdir={shlex.quote(folder)}",
    ]
    if terms.time_limit is not None:
        limit = fields.time_limit(terms.time_limit + terms.grace + _BACKSTOP)
        options.append(f"--time={limit}")
    if terms.priority < 0:
        options.append(f"--nice={-terms.priority * config.nice}")
    return [*options, *_each(terms, config, cluster), *config.options, *_users_own(launch)]


def _users_own(launch: Launch) -> list[str]:
    origin = launch.tasks[0].origin
    if origin is None or origin.spec.variables is not Variables.SLURM:
        return []
    return directives.options_of(origin.spec.roles[0].command.words)


def partition_of(queue: str, config: SlurmConfig, partitions: Sequence[str]) -> str:
    """Where a queue leads; empty: to Slurm's default partition."""
    return config.partitions.get(queue) or (queue if queue in partitions else "")


def _each(terms: Terms, config: SlurmConfig, cluster: Cluster) -> list[str]:
    """What every part of a heterogeneous job needs for itself."""
    options = []
    partition = partition_of(terms.queue, config, cluster.partitions)
    if partition:
        options.append(f"--partition={partition}")
    exclude = dict.fromkeys(terms.nodes.exclude)
    known = cluster.nodes or {}
    all_ = known.get(partition) or tuple(dict.fromkeys(_flat(known.values())))
    if terms.nodes.only:
        exclude |= dict.fromkeys(node for node in all_ if node not in terms.nodes.only)
        if not set(terms.nodes.only) & set(all_):
            raise Refused(f"none of these nodes exists: {', '.join(terms.nodes.only)}")
    left = [node for node in all_ if node not in exclude and node not in terms.avoid]
    if left:  # rather a node it was lost on than none
        exclude |= dict.fromkeys(node for node in terms.avoid if node in all_)
    if exclude:
        options.append(f"--exclude={','.join(exclude)}")
    if terms.nodes.labels:
        options.append(f"--constraint={shlex.quote('&'.join(terms.nodes.labels))}")
    return options


def _flat(groups: Iterable[Sequence[str]]) -> list[str]:
    return [name for group in groups for name in group]


def _needs(part: Part, alone: bool) -> list[str]:
    shape = part.shape
    options = [f"--ntasks={part.count}", f"--cpus-per-task={shape.cpus}"]
    if alone:
        options.append(f"--mem={shape.memory}M")
    else:
        options.append(f"--mem-per-cpu={-(-shape.memory // shape.cpus)}M")
    if shape.gpus:
        where = "gres=gpu" if alone else "gpus-per-task"
        options.append(f"--{where}{':' if alone else '='}{_gpus(shape)}")
    if shape.constraint:
        options.append(f"--constraint={shlex.quote(shape.constraint)}")
    if alone:
        options.append("--nodes=1")
    return options


def _gpus(shape: Shape) -> str:
    return f"{shape.type}:{shape.gpus}" if shape.type else str(shape.gpus)
