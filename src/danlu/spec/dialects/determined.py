"""Determined YAML: shells, notebooks, commands, TensorBoards and experiments."""

from __future__ import annotations

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

KINDS = ("shell", "notebook", "command", "tensorboard", "experiment")
WAIT = "exec sleep infinity"

_LATER_EN = "is not set up here yet; danlu exec JOB -- bash enters the task"
_LATER_ZH = "这里暂未提供；用 danlu exec 任务 -- bash 进入任务"
_NOTED: dict[str, tuple[str, str]] = {
    "idle_timeout": (
        "the task runs until it is stopped or reaches its time limit",
        "任务运行到被停止或达到时间上限",
    ),
    "notebook_idle_type": (
        "the task runs until it is stopped or reaches its time limit",
        "任务运行到被停止或达到时间上限",
    ),
    "tensorboard_args": (_LATER_EN, _LATER_ZH),
    "debug": ("logs are whole anyway", "日志本来就是完整的"),
    "integrations": ("changes nothing here", "在这里不起作用"),
    "preemption_timeout": (
        "between the polite signal and the end lies the job's grace",
        "温和信号与强制结束之间的时间由 grace 决定",
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
        for key, (en, zh) in _NOTED.items():
            keys.note(key, en, zh)
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
            # A text of several lines has its title in the first.
            self.draft.name(chosen.strip().splitlines()[0], (key,))
        lines = (described or "").strip().splitlines()
        unused = lines if named else lines[1:]
        if unused and self.kind != "experiment":  # whose program gets the whole file
            self.draft.note(
                ("description",),
                "what does not become the name stays in the file",
                "没有作为名称的部分只留在文件中",
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
            draft.missing(("entrypoint",), "write what to run", "请写要运行的命令")
            return
        self.keys.raw("entrypoint")
        draft.put(("command",), WAIT, ())
        draft.put(("kind",), "service" if self.kind == "tensorboard" else "environment", ())
        names = {
            "shell": ("shell", "shell"),
            "notebook": ("notebook", "Notebook"),
            "tensorboard": ("TensorBoard", "TensorBoard"),
        }
        en, zh = names[self.kind]
        draft.note(
            (),
            f"This is a {en}: for now it runs as a waiting shell. danlu exec JOB -- bash enters it;"
            " danlu stop JOB ends it",
            f"这是 {zh}：目前作为等待的 shell 运行。danlu exec 任务 -- bash 进入；"
            "danlu stop 任务 结束",
        )

    def _entrypoint(self, trial: bool) -> str | list[str] | None:
        key: Path = ("entrypoint",)
        value = self.keys.raw("entrypoint")
        if value is None:
            self.draft.missing(key, "write what to run", "请写要运行的命令")
            return None
        if isinstance(value, list):
            words = [self.draft.read(read_text, word, (*key, at)) for at, word in enumerate(value)]
            whole = [word for word in words if word is not None]
            if not whole or len(whole) != len(words):
                return None
            return shlex.join(whole) if trial else whole
        text = self.draft.read(read_text, value, key)
        if text and trial and _is_trial_class(text):
            self.draft.note(
                key,
                "a trial class is run by the determined package, which the image must hold",
                "试验类由 determined 软件包运行，镜像中必须有它",
            )
            return f"python3 -m determined.exec.harness {text.strip()}"
        return text


def _is_trial_class(text: str) -> bool:
    """`model_def:MyTrial`, the older way of naming what an experiment runs."""
    module, colon, name = text.strip().partition(":")
    parts = module.split(".")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in parts)
