"""Determined YAML: shells, notebooks, commands, TensorBoards and experiments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects.determined_environment import WORK_DIR, Environment
from danlu.spec.dialects.determined_resources import Resources
from danlu.spec.dialects.determined_search import Experiment, is_experiment
from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.overrides import apply_overrides
from danlu.spec.dialects.source import draft_of, read_yaml
from danlu.spec.errors import Path
from danlu.spec.fields import read_absolute, read_text
from danlu.spec.read import RawJob
from danlu.spec.text import Text

KINDS = ("shell", "notebook", "command", "tensorboard", "experiment")
WAIT = "exec sleep infinity"

_LATER = Text(
    "is not available here yet; use danlu exec JOB -- bash to enter the task",
    "这里暂未提供；用 danlu exec 任务 -- bash 进入任务",
)
_NOTED: dict[str, Text] = {
    "idle_timeout": Text(
        "the task runs until it is stopped or reaches its time limit",
        "任务运行到被停止或达到时间上限",
    ),
    "notebook_idle_type": Text(
        "the task runs until it is stopped or reaches its time limit",
        "任务运行到被停止或达到时间上限",
    ),
    "tensorboard_args": _LATER,
    "debug": Text("logs are complete anyway", "日志本来就是完整的"),
    "integrations": Text("has no effect here", "在这里不起作用"),
    "preemption_timeout": Text(
        "the job's grace sets the time between SIGTERM and SIGKILL",
        "SIGTERM 与 SIGKILL 之间的时间由 grace 决定",
    ),
}
_COMMON = (
    "description",
    "name",
    "resources",
    "bind_mounts",
    "environment",
    "entrypoint",
    "work_dir",
    "slurm",
    "pbs",
    *_NOTED,
)


def read(text: str, options: Options, site: Site, defaults: Defaults) -> Converted:
    raw = read_yaml(text, numbers=True)
    apply_overrides(raw.values, options.overrides)
    draft = draft_of(raw)
    _Task(draft, raw, options, site).build()
    submission = draft.finish(options.values, options.offers, defaults)
    return Converted(Dialect.DETERMINED, (submission,), tuple(draft.notes))


class _Task:
    def __init__(self, draft: Draft, raw: RawJob, options: Options, site: Site) -> None:
        self.draft = draft
        self.values: Mapping[str, Any] = raw.values
        self.keys = Keys(draft, raw.values)
        self.site = site
        self.kind = self._kind(options.run_as)

    def _kind(self, wanted: str | None) -> str:
        if wanted in KINDS:
            return wanted
        if is_experiment(self.values):
            return "experiment"
        if self.keys.has("entrypoint"):
            return "command"
        return "tensorboard" if self.keys.has("tensorboard_args") else "shell"

    def build(self) -> None:
        draft, keys = self.draft, self.keys
        draft.put(("variables",), "determined", ())
        self._name()
        resources = Resources(draft, keys, self.kind == "experiment", self.site)
        resources.build()
        Environment(draft, keys, self.site, resources.slots).build()
        folder = keys.read("work_dir", read_absolute)
        if folder is not None:
            draft.put(("workdir",), folder, ("work_dir",))
        elif self.kind != "experiment" and draft.get(("image",)) and self._mounted_below(WORK_DIR):
            draft.put(("workdir",), WORK_DIR, ("bind_mounts",))  # where Determined starts tasks
        if self.kind == "experiment":
            experiment = Experiment(draft, keys, resources.at_once)
            experiment.build()
            command = self._entrypoint(trial=True)
            if command is not None:
                draft.put(("command",), experiment.around(command), ("entrypoint",))
            known = (*_COMMON, *Experiment.KEYS)
        else:
            self._command()
            known = _COMMON
        for key, message in _NOTED.items():
            keys.note(key, message)
        keys.refuse_rest(known)

    def _mounted_below(self, folder: str) -> bool:
        mounts = self.draft.get(("mounts",)) or ()
        return any(f"{mount['path'].rstrip('/')}/".startswith(f"{folder}/") for mount in mounts)

    def _name(self) -> None:
        keys = self.keys
        described = keys.text("description")
        named = keys.text("name")
        chosen, key = (named, "name") if named else (described, "description")
        if chosen and chosen.strip():
            # In a text of several lines, the first is the title.
            self.draft.name(chosen.strip().splitlines()[0], (key,))
        lines = (described or "").strip().splitlines()
        unused = lines if named else lines[1:]
        if unused and self.kind != "experiment":  # whose program gets the whole file
            self.draft.note(
                ("description",),
                Text(
                    "what does not fit into the name stays in the file",
                    "没有作为名称的部分只留在文件中",
                ),
            )
        if not self.draft.get(("name",)):
            self.draft.put(("name",), self.kind, ())

    def _command(self) -> None:
        draft = self.draft
        if self.kind == "command" and self.keys.has("entrypoint"):
            command = self._entrypoint(trial=False)
            if command is not None:
                draft.put(("command",), command, ("entrypoint",))
            return
        if self.kind == "command":
            draft.missing(("entrypoint",), Text("write what to run", "请写要运行的命令"))
            return
        self.keys.raw("entrypoint")
        draft.put(("command",), WAIT, ())
        draft.put(("kind",), "service" if self.kind == "tensorboard" else "environment", ())
        names = {
            "shell": Text("shell", "shell"),
            "notebook": Text("notebook", "Notebook"),
            "tensorboard": Text("TensorBoard", "TensorBoard"),
        }
        name = names[self.kind]
        draft.note(
            (),
            Text(
                f"This is a {name.en}: for now it runs as a waiting shell. Enter it with danlu "
                "exec JOB -- bash, stop it with danlu stop JOB",
                f"这是 {name.zh}：目前作为等待的 shell 运行。danlu exec 任务 -- bash 进入；"
                "danlu stop 任务 结束",
            ),
        )

    def _launcher(self, text: str) -> None:
        found = _LAUNCHER.search(text)
        if found is None:
            return
        instead = _INSTEAD.get(found[1], "python3 train.py")
        self.draft.note(
            ("entrypoint",),
            Text(
                f"{found[0]} needs a Determined cluster: the job will fail here. Start the program "
                f"itself, such as {instead}",
                f"{found[0]} 需要 Determined 集群：任务在这里会失败。"
                f"请直接启动程序，例如 {instead}",
            ),
        )

    def _entrypoint(self, trial: bool) -> str | list[str] | None:
        key: Path = ("entrypoint",)
        value = self.keys.raw("entrypoint")
        if value is None:
            self.draft.missing(key, Text("write what to run", "请写要运行的命令"))
            return None
        if isinstance(value, list):
            words = [self.draft.read(read_text, word, (*key, at)) for at, word in enumerate(value)]
            whole = [word for word in words if word is not None]
            if not whole or len(whole) != len(words):
                return None
            self._launcher(shlex.join(whole))
            return shlex.join(whole) if trial else whole
        text = self.draft.read(read_text, value, key)
        if text:
            self._launcher(text)
        if text and trial and _is_trial_class(text):
            self.draft.note(
                key,
                Text(
                    f"{text.strip()} is a trial class, which only a Determined cluster can run: "
                    "the job will fail here. Write a script with its own training loop as the "
                    "entrypoint, such as python3 train.py",
                    f"{text.strip()} 是试验类，只有 Determined 集群能运行：任务在这里会失败。"
                    "请把自带训练循环的脚本写作 entrypoint，例如 python3 train.py",
                ),
            )
            return f"python3 -m determined.exec.harness {text.strip()}"
        return text


_LAUNCHER = re.compile(r"\bdetermined\.(?:launch|exec)\.(\w+)")
_INSTEAD = {
    "torch_distributed": "torchrun --nproc-per-node=gpu train.py",
    "deepspeed": "deepspeed train.py",
    "horovod": "horovodrun -np 4 python3 train.py",
}


def _is_trial_class(text: str) -> bool:
    """`model_def:MyTrial`, the older way to name what an experiment runs."""
    module, colon, name = text.strip().partition(":")
    parts = module.split(".")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in parts)
