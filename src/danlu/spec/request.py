"""The native job file: every key, its notations, and its meaning.

One definition says both how a key is read and how it is documented: the same models validate a job
file and produce the schema in the OpenAPI document. Every key may be omitted or null; `complete`
fills it in.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from danlu.spec import fields, forms, ties
from danlu.spec.job import (
    After,
    Array,
    Bundle,
    Command,
    Dependency,
    Files,
    GpuRequest,
    Kind,
    Mount,
    NodeChoice,
    Processes,
    Search,
    Stdin,
    Tool,
    Variables,
)
from danlu.spec.refs import JOB_NAME_PATTERN, NAME_PATTERN, parse_array
from danlu.spec.search import read_search
from danlu.spec.units import LONGEST_DURATION, M

T = TypeVar("T")

HIGHEST_PRIORITY = 1000
MOST_RETRIES = 100
MOST_COUNT = 100_000
LONGEST_GRACE = 3600.0
SMALLEST_MEMORY = 4 * M
SMALLEST_SHM = M
SMALLEST_LOG_CAP = 4096


def _read(reader: Callable[[object], T]) -> PlainValidator:
    def read(value: object) -> T | None:
        return None if value is None else reader(value)

    return PlainValidator(read)


def _schema(*forms_: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [*forms_, {"type": "null"}]})


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def _words(enum: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [member.value for member in enum]}


_NAME = _text(pattern=f"^{NAME_PATTERN}$")
_SIZE = (
    {"type": "integer", "minimum": 0, "maximum": 1 << 60},
    _text(pattern=r"^[0-9]{1,20}(\.[0-9]{1,9})? ?[KMGTPkmgtp]?(i?[Bb])?$"),
)
_DURATION = (
    {"type": "number", "minimum": 0, "maximum": LONGEST_DURATION},
    # Every number but the last is followed by something: otherwise matching could take forever.
    _text(
        pattern=r"^[0-9.]+(( ?[wdhms]| )[0-9.]+)*( ?[wdhms]| )?$"
        r"|^([0-9]+-)?[0-9]+(:[0-5][0-9]){0,2}$"
    ),
)
_REFERENCE = _text(minLength=3, maxLength=256)
_NAMES = {"type": "array", "items": _NAME, "maxItems": ties.MOST_NODES}
_WORD_LIST = {"type": "array", "items": _text(), "maxItems": forms.MOST_WORDS}

Name = Annotated[str | None, _read(fields.read_name), _schema(_NAME)]
JobName = Annotated[
    str | None,
    _read(fields.read_job_name),
    _schema(_text(pattern=f"^{JOB_NAME_PATTERN}$")),
]
Size = Annotated[int | None, _read(fields.size(SMALLEST_MEMORY)), _schema(*_SIZE)]
Shm = Annotated[int | None, _read(fields.size(SMALLEST_SHM)), _schema(*_SIZE)]
LogCap = Annotated[int | None, _read(fields.size(SMALLEST_LOG_CAP)), _schema(*_SIZE)]
Flag = Annotated[bool | None, _read(fields.read_flag), _schema({"type": "boolean"})]


def _integer(low: int, high: int) -> tuple[PlainValidator, WithJsonSchema]:
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return _read(fields.integer(low, high)), _schema(schema)


class RoleRequest(BaseModel):
    """One role: `count` equal tasks. In a job with a single role these keys are at the top
    level.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    command: Annotated[
        Command | None, _read(forms.read_command), _schema(_text(minLength=1), _WORD_LIST)
    ] = Field(
        None,
        description="What to run: text goes to the shell, a list is run as exactly these words.",
        examples=["python train.py --lr 0.1", ["python", "train.py"]],
    )
    script: Annotated[str | None, _read(fields.read_line), _schema(_text(minLength=1))] = Field(
        None,
        description="Instead of `command`: a file to run, or a symbolic link to one.",
        examples=["./start.sh"],
    )
    args: Annotated[tuple[str, ...] | None, _read(forms.read_words), _schema(_WORD_LIST)] = Field(
        None, description="Arguments of `script` or `tool`.", examples=[["--epochs", "10"]]
    )
    tool: Annotated[Tool | None, _read(fields.choice(Tool)), _schema(_words(Tool))] = Field(
        None,
        description="Instead of `command`: a program of Danlu's own. `environment` (the default of "
        "a job of kind environment) serves JupyterLab, VS Code and TensorBoard; `tensorboard` "
        "shows the folders in `args`.",
        examples=["environment"],
    )
    image: Annotated[str | None, _read(fields.read_line), _schema(_text(minLength=1))] = Field(
        None, description="Container image; requires a container runtime.", examples=["pytorch:2.4"]
    )
    gpus: Annotated[
        GpuRequest | None,
        _read(forms.read_gpus),
        _schema(
            {"type": "integer", "minimum": 0, "maximum": forms.MOST_GPUS},
            {"type": "number", "minimum": forms.SMALLEST_FRACTION, "exclusiveMaximum": 1},
            _text(pattern=r"^[0-9.]+(:[A-Za-z0-9][A-Za-z0-9 _.+/()-]{0,63})?$"),
            {
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "minimum": 1, "maximum": forms.MOST_GPUS},
                    "model": _text(pattern="^[A-Za-z0-9][A-Za-z0-9 _.+/()-]{0,63}$"),
                    "fraction": {"type": "number", "minimum": 0.01, "exclusiveMaximum": 1},
                    "indexes": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": forms.MOST_GPUS,
                        "uniqueItems": True,
                        "items": {"type": "integer", "minimum": 0, "maximum": forms.MOST_GPUS - 1},
                    },
                },
                "additionalProperties": False,
            },
        ),
    ] = Field(
        None,
        description="GPUs per task: a number, a fraction of one GPU, or with a model.",
        examples=[2, 0.5, "2:RTX3090", {"count": 2, "model": "RTX3090"}],
    )
    cpus: Annotated[
        float | None,
        _read(fields.decimal(0.01, 100_000)),
        _schema({"type": "number", "minimum": 0.01, "maximum": 100_000}),
    ] = Field(
        None,
        description="CPUs per task. Default: in proportion to the GPUs, capped.",
        examples=[16],
    )
    memory: Size = Field(
        None,
        description="Memory per task: bytes, or with K, M, G, T (K is 1024). Default: in "
        "proportion to the CPUs.",
        examples=["64G"],
    )
    shm: Shm = Field(
        None,
        description="Shared memory (/dev/shm) per task, part of its memory. Default: half.",
        examples=["16G"],
    )
    env: Annotated[
        dict[str, str] | None,
        _read(forms.read_env),
        _schema(
            {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            }
        ),
    ] = Field(None, description="Environment variables.", examples=[{"LR": "0.1"}])
    secrets: Annotated[
        dict[str, str] | None,
        _read(forms.read_secrets),
        _schema(
            {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
                "additionalProperties": _NAME,
            },
            {"type": "array", "items": _text(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")},
        ),
    ] = Field(
        None,
        description="Variables with the value of a stored secret: {VARIABLE: name of the secret}.",
        examples=[{"WANDB_API_KEY": "wandb"}],
    )
    mounts: Annotated[
        tuple[Mount, ...] | None,
        _read(ties.read_mounts),
        _schema(
            {
                "type": "array",
                "maxItems": ties.MOST_MOUNTS,
                "items": {
                    "anyOf": [
                        _text(pattern=f"^{NAME_PATTERN}:/[^:]+(:ro|:rw)?$"),
                        {
                            "type": "object",
                            "properties": {
                                "volume": _NAME,
                                "path": _text(pattern="^/[^:]+$"),
                                "read_only": {"type": "boolean"},
                                "folder": _text(minLength=1),
                            },
                            "required": ["volume", "path"],
                            "additionalProperties": False,
                        },
                    ]
                },
            }
        ),
    ] = Field(
        None,
        description="Volumes and where they appear in the task.",
        examples=[[{"volume": "fast", "path": "/fast", "read_only": True}], ["fast:/fast:ro"]],
    )
    ports: Annotated[
        dict[str, int] | None,
        _read(ties.read_ports),
        _schema(
            {"type": "integer", "minimum": 1, "maximum": ties.MOST_PORTS},
            {"type": "array", "items": _text(pattern="^[A-Za-z][A-Za-z0-9_]{0,31}$")},
            {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_]{0,31}$"},
                "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 64},
            },
        ),
    ] = Field(
        None,
        description="Ports leased per task: a number, labels, or labels with numbers.",
        examples=[2, ["http"], {"http": 1}],
    )
    workdir: Annotated[
        str | None, _read(fields.read_absolute), _schema(_text(pattern="^/[ -~]*$"))
    ] = Field(
        None, description="Working directory as the task sees it.", examples=["/userhome/project"]
    )
    processes: Annotated[
        Processes | None, _read(fields.choice(Processes)), _schema(_words(Processes))
    ] = Field(
        None,
        description="Processes per task: one, or one per GPU; batch: the command runs in the "
        "first task only, and the others wait for its `srun`.",
        examples=["one"],
    )
    count: Annotated[int | None, *_integer(1, MOST_COUNT)] = Field(
        None, description="Number of equal tasks.", examples=[1]
    )
    min_failed: Annotated[int | None, *_integer(0, MOST_COUNT)] = Field(
        None,
        description="This many failed tasks of this role fail the job. Default: 1; 0: never.",
        examples=[1],
    )
    min_succeeded: Annotated[int | None, *_integer(0, MOST_COUNT)] = Field(
        None,
        description="This many succeeded tasks of this role complete the job, and the rest is "
        "stopped. Default or 0: every task must have ended.",
        examples=[1],
    )


class JobRequest(RoleRequest):
    """A job. Put the keys of its single role at the top level, or several roles under `roles`.

    With `roles`, `image`, `env`, `secrets`, `mounts` and `workdir` at the top level apply to all of
    them.
    """

    model_config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,
        json_schema_extra={
            "examples": [
                {"command": "python train.py", "gpus": 1},
                {
                    "name": "mnist",
                    "gpus": "2:RTX3090",
                    "memory": "64G",
                    "time_limit": "12h",
                    "command": ["python", "train.py", "--lr", "0.1"],
                },
                {
                    "name": "gang",
                    "image": "pytorch:2.4",
                    "roles": {"worker": {"count": 2, "gpus": 4, "command": "python train.py"}},
                },
            ]
        },
    )

    name: JobName = Field(
        None,
        description="Letters, digits, '_', '.' and '-', up to 64. Default: from the command.",
        examples=["mnist"],
    )
    kind: Annotated[Kind | None, _read(fields.choice(Kind)), _schema(_words(Kind))] = Field(
        None, description="What the job is for. Default: train.", examples=["train"]
    )
    roles: dict[str, RoleRequest] | None = Field(
        None,
        description="Several roles by name (a letter, then letters, digits or '_', up to 32);"
        " all their tasks start together or not at all.",
        examples=[{"worker": {"count": 2, "gpus": 4, "command": "python train.py"}}],
    )
    queue: Name = Field(None, description="Default: default.", examples=["default"])
    group: Name = Field(
        None, description="The group whose quota it counts against.", examples=["vision"]
    )
    priority: Annotated[int | None, *_integer(-HIGHEST_PRIORITY, HIGHEST_PRIORITY)] = Field(
        None, description="Higher goes first.", examples=[0]
    )
    time_limit: Annotated[
        float | None, _read(fields.duration(1, LONGEST_DURATION)), _schema(*_DURATION)
    ] = Field(
        None,
        description="Time limit of one attempt: seconds, or 90m, 12h, 2d, 1:30:00, 1-12:00:00.",
        examples=["12h", 5400],
    )
    idle_limit: Annotated[
        float | None, _read(fields.duration(0, LONGEST_DURATION)), _schema(*_DURATION)
    ] = Field(
        None,
        description="Time without use (CPU, GPU, connections, kernels) after which it is stopped, "
        "after a warning. 0: never.",
        examples=["2h"],
    )
    retries: Annotated[int | None, *_integer(-2, MOST_RETRIES)] = Field(
        None,
        description="How often a failed attempt is retried; -1: always; -2: also after success.",
        examples=[0],
    )
    grace: Annotated[
        float | None, _read(fields.duration(0, LONGEST_GRACE)), _schema(*_DURATION)
    ] = Field(
        None,
        description="Time between SIGTERM and SIGKILL when a task is stopped.",
        examples=["10s"],
    )
    after: Annotated[
        tuple[Dependency, ...] | None,
        _read(ties.read_after),
        _schema(
            {
                "type": "array",
                "maxItems": ties.MOST_DEPENDENCIES,
                "items": {
                    "anyOf": [
                        _REFERENCE,
                        {
                            "type": "object",
                            "properties": {
                                "job": _REFERENCE,
                                "when": _words(After),
                            },
                            "required": ["job"],
                            "additionalProperties": False,
                        },
                    ]
                },
            },
        ),
    ] = Field(
        None,
        description="Jobs to wait for; `when`: succeeded (the default), failed, ended or started.",
        examples=[["mnist-2", {"job": "prep-1", "when": "ended"}]],
    )
    array: Annotated[
        Array | None,
        _read(parse_array),
        _schema(
            {"type": "integer", "minimum": 1, "maximum": 10_000},
            {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
            },
            _text(pattern=r"^[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*(%[0-9]+)?$"),
        ),
    ] = Field(
        None,
        description="Many equal jobs distinguished by an index: a count, indexes, or ranges; a "
        "limit after % says how many may be active at once.",
        examples=["0-9%4", 10, [1, 3, 5]],
    )
    stdin: Annotated[Stdin | None, _read(fields.choice(Stdin)), _schema(_words(Stdin))] = Field(
        None, description="Whether input can be sent while it runs.", examples=["none"]
    )
    split_output: Flag = Field(None, description="Keep stderr as a separate stream.")
    log_cap: LogCap = Field(
        None, description="Bytes of log kept per task; the task continues beyond.", examples=["1G"]
    )
    held: Flag = Field(None, description="Queue it, but start it only when released.")
    variables: Annotated[
        Variables | None, _read(fields.choice(Variables)), _schema(_words(Variables))
    ] = Field(
        None,
        description="Another platform's variables, with its names and meanings, in addition to "
        "Danlu's (docs/variables.md).",
        examples=["danlu"],
    )
    search: Annotated[
        Search | None,
        _read(read_search),
        _schema(
            {
                "type": "object",
                "properties": {
                    "space": {"type": "object"},
                    "sampling": _text(enum=["grid", "random"]),
                    "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
                },
                "required": ["space"],
                "additionalProperties": False,
            }
        ),
    ] = Field(
        None,
        description="Values to try: each element of the array gets a point of `space` as variables"
        " (HP_*) and as JSON (DANLU_HPARAMS).",
        examples=[{"space": {"lr": {"type": "log", "minval": -4, "maxval": -1}}}],
    )
    files: Annotated[
        Files | None,
        _read(ties.read_files),
        _schema(
            {
                "type": "object",
                "properties": {
                    "output": _text(minLength=1),
                    "error": _text(minLength=1),
                    "input": _text(minLength=1),
                    "append": {"type": "boolean"},
                },
                "additionalProperties": False,
            }
        ),
    ] = Field(
        None,
        description="Files the output is also written to and the input is read from, as seen by "
        "the task; %j is the job's number, %a its array index.",
        examples=[{"output": "train-%j.out"}],
    )
    nodes: Annotated[
        NodeChoice | None,
        _read(ties.read_nodes),
        _schema(
            _NAMES,
            {
                "type": "object",
                "properties": {"only": _NAMES, "exclude": _NAMES, "labels": _NAMES},
                "additionalProperties": False,
            },
        ),
    ] = Field(
        None,
        description="Nodes that may be used: names, or {only, exclude, labels}; a node must have "
        "all the labels.",
        examples=[["n1", "n2"], {"exclude": ["n3"], "labels": ["infiniband"]}],
    )
    preemptible: Flag = Field(
        None,
        description="May be preempted (ended and queued again) if others need its GPUs: for work "
        "that resumes from a checkpoint.",
    )
    bundle: Annotated[
        Bundle | None,
        _read(ties.read_bundle),
        _schema(
            _text(pattern="^[0-9a-f]{64}$"),
            {
                "type": "object",
                "properties": {
                    "id": _text(pattern="^[0-9a-f]{64}$"),
                    "folder": _text(minLength=1),
                },
                "required": ["id"],
                "additionalProperties": False,
            },
        ),
    ] = Field(
        None,
        description="A folder brought along with `--carry`: the job starts in a copy of it, or in "
        "a `folder` of that.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )
    datasets: Annotated[
        tuple[str, ...] | None,
        _read(ties.read_datasets),
        _schema({"type": "array", "items": _NAME, "maxItems": ties.MOST_DATASETS}),
    ] = Field(
        None,
        description="Datasets the job reads, at /gdata/NAME; nodes with a fast copy are preferred.",
        examples=[["imagenet"]],
    )
    id: Annotated[str | None, _read(fields.read_id), _schema(_text(format="uuid"))] = Field(
        None,
        description="A UUIDv7 chosen by the client: repeating the request returns the same job.",
        examples=["01890a5d-ac96-774b-bcce-b302099a8057"],
    )


ROLE_KEYS = tuple(RoleRequest.model_fields)
JOB_KEYS = (
    "name",
    "kind",
    *ROLE_KEYS,
    *(
        key
        for key in JobRequest.model_fields
        if key not in ROLE_KEYS and key not in ("name", "kind")
    ),
)
