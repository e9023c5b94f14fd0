"""What somebody wrote becomes a whole job: every form is read, every gap is filled."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.spec.complete import complete, read_submissions
from danlu.spec.defaults import Defaults
from danlu.spec.errors import SpecError, shorten
from danlu.spec.ids import uuid7
from danlu.spec.job import (
    After,
    Array,
    Command,
    Dependency,
    GpuRequest,
    JobSpec,
    Kind,
    Mount,
    Processes,
    Resources,
    RunAs,
    Stdin,
)
from danlu.spec.request import JobRequest
from danlu.spec.units import G, M


def job(text: str, defaults: Defaults | None = None) -> JobSpec:
    (submission,) = read_submissions(text, None, defaults or Defaults())
    return submission.spec


FULL = """
name: mnist
kind: service
command: python train.py
image: pytorch:2.4
gpus: 2:RTX3090
cpus: 16
memory: 64G
shm: 16G
env: {LR: 0.1, DEBUG: no}
secrets: {WANDB_API_KEY: wandb}
mounts: [{volume: fast, path: /fast/, read_only: yes}, "slow:/slow", "more:/more:ro"]
ports: {http: 1, api: 2}
workdir: /userhome/proj
processes: per_gpu
count: 3
queue: night
group: vision
priority: -5
time_limit: 1-12:00:00
retries: 2
grace: 1m
after: [mnist-2, {job: bob/prep-1, when: ended}]
array: 0-9%4
stdin: tty
split_output: true
log_cap: 2G
held: on
"""


def test_every_key_is_read() -> None:
    spec = job(FULL)
    (role,) = spec.roles
    assert (spec.name, spec.kind, spec.queue, spec.group) == (
        "mnist",
        Kind.SERVICE,
        "night",
        "vision",
    )
    assert (spec.priority, spec.retries, spec.grace, spec.time_limit) == (-5, 2, 60.0, 129600.0)
    assert spec.after == (Dependency("mnist-2"), Dependency("bob/prep-1", After.ENDED))
    assert spec.array == Array(tuple(range(10)), 4)
    assert (spec.stdin, spec.split_output, spec.log_cap, spec.held) == (
        Stdin.TTY,
        True,
        2 * G,
        True,
    )
    assert spec.tasks == 3
    assert role.command == Command(RunAs.SHELL, ("python train.py",))
    assert role.resources == Resources(GpuRequest(2, "RTX3090"), 16.0, 64 * G, 16 * G)
    assert role.env == {"LR": "0.1", "DEBUG": "no"}
    assert role.secrets == {"WANDB_API_KEY": "wandb"}
    assert role.mounts == (
        Mount("fast", "/fast", True),
        Mount("slow", "/slow"),
        Mount("more", "/more", True),
    )
    assert role.ports == {"http": 1, "api": 2}
    assert (role.image, role.workdir) == ("pytorch:2.4", "/userhome/proj")
    assert role.processes is Processes.PER_GPU


@pytest.mark.parametrize(
    ("written", "gpus"),
    [
        (2, GpuRequest(2)),
        (0, GpuRequest()),
        (2.0, GpuRequest(2)),
        (0.5, GpuRequest(1, None, 0.5)),
        ("2", GpuRequest(2)),
        ("0.25", GpuRequest(1, None, 0.25)),
        ("2:RTX3090", GpuRequest(2, "RTX3090")),
        ("0.5:A100", GpuRequest(1, "A100", 0.5)),
        ({"count": 2, "model": "RTX3090"}, GpuRequest(2, "RTX3090")),
        ({"model": "NVIDIA A100-SXM4-80GB"}, GpuRequest(1, "NVIDIA A100-SXM4-80GB")),
        ({"model": 4090}, GpuRequest(1, "4090")),
        ({"fraction": 0.5}, GpuRequest(1, None, 0.5)),
        ({"count": 0.5}, GpuRequest(1, None, 0.5)),
    ],
    ids=shorten,
)
def test_gpus_have_several_writings(written: object, gpus: GpuRequest) -> None:
    assert complete({"command": "x", "gpus": written}).roles[0].resources.gpus == gpus


@pytest.mark.parametrize(
    ("written", "ports"),
    [(2, {"main": 2}), (["http", "api"], {"http": 1, "api": 1}), ({"http": 3}, {"http": 3})],
    ids=shorten,
)
def test_ports_have_several_writings(written: object, ports: dict[str, int]) -> None:
    assert complete({"command": "x", "ports": written}).roles[0].ports == ports


def test_a_list_of_secrets_names_variables_and_secrets_at_once() -> None:
    role = complete({"command": "x", "secrets": ["TOKEN"]}).roles[0]
    assert role.secrets == {"TOKEN": "TOKEN"}


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ({"command": "a | b"}, Command(RunAs.SHELL, ("a | b",))),
        ({"command": ["a", "b c", ""]}, Command(RunAs.ARGV, ("a", "b c", ""))),
        ({"script": "./start.sh"}, Command(RunAs.SCRIPT, ("./start.sh",))),
        ({"script": "s", "args": ["-x", 1]}, Command(RunAs.SCRIPT, ("s", "-x", "1"))),
    ],
    ids=shorten,
)
def test_a_command_is_text_or_words_or_a_script(written: dict[str, Any], command: Command) -> None:
    assert complete(written).roles[0].command == command


def test_a_script_keeps_its_path_so_that_a_link_stays_a_link() -> None:
    spec = complete({"script": "/userhome/../userhome/./current.sh"})
    assert spec.roles[0].command.words == ("/userhome/../userhome/./current.sh",)


def test_null_means_left_out() -> None:
    nothing = dict.fromkeys(JobRequest.model_fields)
    assert complete(nothing | {"command": "x"}) == complete({"command": "x"})


def test_roles_share_what_stands_at_the_top_and_may_say_otherwise() -> None:
    spec = job(
        """
        name: gang
        image: base
        workdir: /w
        env: {A: 1, B: 1, S: plain}
        secrets: {T: top}
        mounts: [one:/one, two:/two]
        roles:
          chief: {command: a, env: {B: 2}, mounts: [other:/two], secrets: {S: hidden}}
          worker: {command: b, count: 2, gpus: 4, image: own, workdir: /v, env: {T: open}}
        """
    )
    chief, worker = spec.roles
    assert (chief.name, chief.count, chief.image, chief.workdir) == ("chief", 1, "base", "/w")
    assert chief.env == {"A": "1", "B": "2"}
    assert chief.secrets == {"T": "top", "S": "hidden"}
    assert chief.mounts == (Mount("one", "/one"), Mount("other", "/two"))
    assert (worker.count, worker.image, worker.workdir) == (2, "own", "/v")
    assert worker.env == {"A": "1", "B": "1", "S": "plain", "T": "open"}
    assert worker.secrets == {}
    assert worker.resources.gpus == GpuRequest(4)
    assert spec.tasks == 3


@pytest.mark.parametrize(
    ("gpus", "cpus", "memory"),
    [(0, 1, 10 * G), (0.5, 4, 40 * G), (1, 8, 80 * G), (2, 15, 150 * G), (8, 15, 150 * G)],
)
def test_cpus_and_memory_follow_the_gpus(gpus: float, cpus: float, memory: int) -> None:
    need = complete({"command": "x", "gpus": gpus}).roles[0].resources
    assert (need.cpus, need.memory, need.shm) == (cpus, memory, memory // 2)


@pytest.mark.parametrize(
    ("node", "gpus", "cpus", "memory"),
    [
        (Defaults(node_cpus=2, node_memory=4 * G, node_gpus=0), 0, 1, 2 * G),
        (Defaults(node_cpus=0.5, node_memory=G), 0, 0.5, G),
        (Defaults(node_cpus=2, node_memory=4 * G, node_gpus=1), 1, 2, 4 * G),
        (Defaults(node_cpus=32, node_memory=256 * G, node_gpus=8), 1, 4, 32 * G),
        (Defaults(node_cpus=2, node_memory=4 * G, node_gpus=8), 1, 1, 2 * G),
        (Defaults(max_cpus=4, max_memory=8 * G), 1, 4, 8 * G),
    ],
)
def test_what_is_filled_in_fits_the_largest_node(
    node: Defaults, gpus: int, cpus: float, memory: int
) -> None:
    need = complete({"command": "x", "gpus": gpus}, node).roles[0].resources
    assert (need.cpus, need.memory) == (cpus, memory)


def test_what_is_asked_for_in_words_is_not_bent_to_the_node() -> None:
    tiny = Defaults(node_cpus=2, node_memory=4 * G)
    need = complete({"command": "x", "cpus": 64, "memory": "1T"}, tiny).roles[0].resources
    assert (need.cpus, need.memory) == (64.0, 1024 * G)


def test_shared_memory_is_a_part_of_memory() -> None:
    assert complete({"command": "x", "memory": "32M"}).roles[0].resources.shm == 32 * M
    assert complete({"command": "x", "memory": "100M"}).roles[0].resources.shm == 64 * M
    grown = complete({"command": "x", "shm": "30G"}).roles[0].resources
    assert (grown.memory, grown.shm) == (60 * G, 30 * G)
    tight = complete({"command": "x", "shm": "30G"}, Defaults(node_memory=40 * G, node_cpus=4))
    assert tight.roles[0].resources.memory == 40 * G


def test_a_longest_time_limit_also_holds_for_jobs_that_name_none() -> None:
    assert complete({"command": "x"}).time_limit is None
    assert complete({"command": "x"}, Defaults(max_time_limit=60)).time_limit == 60
    assert complete({"command": "x"}, Defaults(time_limit=30, max_time_limit=60)).time_limit == 30
    assert complete({"command": "x", "time_limit": 5}, Defaults(time_limit=30)).time_limit == 5


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ({"command": "python train.py --lr 0.1"}, "train"),
        ({"command": "true"}, "true"),
        ({"command": ["/usr/bin/python3", "src/eval_model.py"]}, "eval_model"),
        ({"command": "CUDA_LAUNCH_BLOCKING=1 torchrun --nproc 2 main.py"}, "main"),
        ({"command": "python -m pkg.train --x"}, "train"),
        ({"command": "python -m torch.distributed.run -m x train.py"}, "train"),
        ({"command": "nvidia-smi -L"}, "nvidia-smi"),
        ({"command": "#!/bin/bash\n# hello\nset -e\ncd /x\npython a/b.py"}, "b"),
        ({"command": "cd /x && ./run_all"}, "run_all"),
        ({"command": "sleep 10"}, "sleep"),
        ({"command": "(exec make -j)"}, "make"),
        ({"command": "A=1 B=2"}, "job"),
        ({"command": "训练"}, "job"),
        ({"command": ["my tool"]}, "my-tool"),
        ({"command": "-x"}, "x"),
        ({"command": "x" * 100}, "x" * 40),
        ({"script": "./jobs/start.sh"}, "start"),
        ({"script": "/a/.hidden"}, "hidden"),
        ({"script": "run"}, "run"),
    ],
    ids=shorten,
)
def test_a_job_without_a_name_is_named_after_its_command(
    written: dict[str, Any], name: str
) -> None:
    assert complete(written).name == name


def test_a_submission_keeps_the_clients_id() -> None:
    made = uuid7()
    (submission,) = read_submissions(f'{{"command": "x", "id": "{made}"}}', "application/json")
    assert submission.id == made
    assert read_submissions("command: x")[0].id is None


def test_a_validated_request_completes_as_its_file_does() -> None:
    values = {"command": "x", "gpus": 1, "roles": None}
    assert complete(JobRequest.model_validate(values)) == complete(values)
    with pytest.raises(SpecError):
        complete(JobRequest.model_validate({"gpus": 1}))


def test_the_mistakes_of_all_jobs_of_a_file_are_told_together() -> None:
    with pytest.raises(SpecError) as caught:
        read_submissions("command: x\ngpu: 1\n---\ncommand: y\n---\ncommand: z\ncpus: many\n")
    assert [(each.job, each.key, each.line) for each in caught.value.problems] == [
        (1, "gpu", 2),
        (3, "cpus", 7),
    ]
