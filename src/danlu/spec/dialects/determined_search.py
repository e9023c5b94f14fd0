"""Determined experiments: a single trial is a job, a grid or random search an array."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.openpai import MOST_RETRIES
from danlu.spec.errors import Wrong
from danlu.spec.fields import LONGEST_WORD, integer
from danlu.spec.job import Sampling, Search
from danlu.spec.search import check_space, grid_size
from danlu.spec.text import Text

_SIGNS = ("searcher", "hyperparameters", "max_restarts", "checkpoint_storage", "records_per_epoch")
_ADAPTIVE = (
    "adaptive_asha",
    "async_halving",
    "adaptive",
    "adaptive_simple",
    "sync_halving",
    "pbt",
)
_SEARCHERS = ("single", "random", "grid", *_ADAPTIVE)
_FALLBACK_TRIALS = 16

_trials = integer(1, 100_000)
_concurrent = integer(0, 100_000)
_restarts = integer(0, 1_000_000)
_seed = integer(0, 2**32 - 1)

_OWN = Text(
    "is up to the program, which finds it in DET_EXPERIMENT_CONFIG",
    "由程序自己处理；可从 DET_EXPERIMENT_CONFIG 读取",
)
_STEERED = Text(
    "training is controlled by the program alone here",
    "这里训练过程由程序自己控制",
)


_HERE = Text(
    "Files of an experiment are not uploaded: it runs in the working directory (with danlu "
    "submit: the current one)",
    "不上传实验文件：在工作目录中运行（danlu submit 为当前目录）",
)
_IN_IMAGE = Text(
    "Files of an experiment are not uploaded, and a container does not see the current directory: "
    "put them into /userhome and set e.g. work_dir: /userhome/code",
    "不上传实验文件，容器中也看不到当前目录：请放到 /userhome 下，并指定该目录："
    "work_dir: /userhome/code",
)


class Experiment:
    NOTED: ClassVar[dict[str, Text]] = {
        "labels": Text("jobs have no labels here", "这里的任务没有标签"),
        "workspace": Text(
            "groups are used instead; choose one with --group", "这里用组；--group 指定"
        ),
        "project": Text(
            "groups are used instead; choose one with --group", "这里用组；--group 指定"
        ),
        "checkpoint_storage": Text(
            "checkpoints are files written by the program; save them in /userhome",
            "检查点是程序自己写的文件；放在 /userhome 可保留",
        ),
        "tensorboard_storage": Text(
            "event files are written by the program; save them in /userhome",
            "事件文件由程序写出；放在 /userhome 可保留",
        ),
        "checkpoint_policy": _STEERED,
        "min_validation_period": _STEERED,
        "min_checkpoint_period": _STEERED,
        "perform_initial_validation": _STEERED,
        "scheduling_unit": _STEERED,
        "batches_per_step": _STEERED,
        "records_per_epoch": _OWN,
        "optimizations": _OWN,
        "profiling": _OWN,
        "log_policies": Text(
            "logs are kept in full; no actions are taken on them", "日志完整保留，不据此采取动作"
        ),
        "retention_policy": Text("jobs and their logs are kept", "任务及其日志会保留"),
        "internal": Text("has no effect here", "在这里不起作用"),
        "data_layer": _OWN,
        "security": Text("has no effect here", "在这里不起作用"),
        "notes": Text("has no effect here", "在这里不起作用"),
    }
    KEYS: ClassVar[tuple[str, ...]] = (
        "data",
        "hyperparameters",
        "searcher",
        "max_restarts",
        "reproducibility",
        *NOTED,
    )

    def __init__(self, draft: Draft, keys: Keys, at_once: int | None) -> None:
        """`at_once`: how many trials fit into resources.max_slots."""
        self._draft = draft
        self._keys = keys
        self._at_once = at_once

    def build(self) -> None:
        draft, keys = self._draft, self._keys
        restarts = keys.read("max_restarts", _restarts)
        count = 5 if restarts is None else min(restarts, MOST_RETRIES)
        if restarts is not None and restarts > count:
            draft.note(
                ("max_restarts",), Text(f"is limited to {count} retries", f"最多重试 {count} 次")
            )
        if count:
            draft.put(("retries",), count, ("max_restarts",))
        keys.raw("data")  # passed to the program with the whole configuration
        self._configuration()
        seed = Keys(draft, keys.mapping("reproducibility"), ("reproducibility",))
        number = seed.read("experiment_seed", _seed) or 0
        seed.note_rest()
        self._search(number)
        for key, message in self.NOTED.items():
            keys.note(key, message)
        blind = draft.get(("image",)) and not draft.get(("workdir",))
        draft.note((), _IN_IMAGE if blind else _HERE)

    def _configuration(self) -> None:
        """The whole file, as Determined passes it to the program; without credentials."""
        values = dict(self._keys.values)
        environment = values.get("environment")
        if isinstance(environment, Mapping):
            kept = {key: value for key, value in environment.items() if key != "registry_auth"}
            values["environment"] = kept
        text = json.dumps(values, ensure_ascii=False, default=str)
        if len(text.encode()) > LONGEST_WORD // 2:
            self._draft.note(
                (),
                Text(
                    "DET_EXPERIMENT_CONFIG is not set: the file is too long for a variable",
                    "不设置 DET_EXPERIMENT_CONFIG：文件太长，变量放不下",
                ),
            )
            return
        known = self._draft.values.setdefault("env", {})
        known.setdefault("DET_EXPERIMENT_CONFIG", text)

    def _search(self, seed: int) -> None:
        draft, keys = self._draft, self._keys
        space = keys.mapping("hyperparameters")
        before = len(draft.findings)
        draft.read(check_space, space, ("hyperparameters",))
        if len(draft.findings) > before:
            space = {}  # its errors are reported; the rest is read without it
        searcher = Keys(draft, keys.mapping("searcher"), ("searcher",))
        name = searcher.text("name") or "single"
        if name == "custom":
            draft.refuse(
                ("searcher", "name"),
                name,
                Text(
                    "lets a program control the trials through Determined's server, which does "
                    "not exist here; use random or grid",
                    "由自己的程序通过 Determined 服务控制试验，这里没有该服务；请写 random 或 grid",
                ),
            )
        elif name not in _SEARCHERS:
            every = ", ".join(_SEARCHERS)
            draft.refuse(
                ("searcher", "name"),
                name,
                Text(f"is not one of: {every}", f"不是以下之一：{every}"),
            )
        steering = [
            key
            for key in searcher.left()
            if key not in ("max_trials", "max_concurrent_trials") and searcher.has(key)
        ]
        if steering:
            listed = ", ".join(steering)
            draft.note(
                ("searcher", steering[0]),
                Text(
                    f"the platform does not compare or stop trials; the program finds {listed} in "
                    "DET_EXPERIMENT_CONFIG",
                    f"平台不比较也不提前停止试验；{listed} 通过 DET_EXPERIMENT_CONFIG 交给程序",
                ),
            )
        trials = self._trials(name, searcher, space, seed)
        at_once = searcher.read("max_concurrent_trials", _concurrent)
        if draft.findings:
            return
        if space:
            grid = name == "grid"
            search: dict[str, Any] = {"space": dict(space)}
            if grid:
                search["sampling"] = "grid"
            if seed:
                search["seed"] = seed
            draft.put(("search",), search, ("hyperparameters",))
        if trials > 1 or (name != "single" and trials):
            limit = 16 if at_once is None else at_once
            if self._at_once is not None:
                limit = min(limit or self._at_once, self._at_once)
            more = f"%{limit}" if 0 < limit < trials else ""
            draft.put(("array",), f"0-{trials - 1}{more}", ("searcher", "max_trials"))

    def _trials(self, name: str, searcher: Keys, space: Mapping[str, Any], seed: int) -> int:
        draft = self._draft
        given = searcher.read("max_trials", _trials)
        if given is None and name == "pbt":
            given = searcher.read("population_size", _trials)
        if name == "single":
            return 1
        if name == "grid":
            try:
                return grid_size(Search(space, Sampling.GRID, seed))
            except Wrong as error:
                draft.findings.extend(each.below(("hyperparameters",)) for each in error.findings)
                return 0
        if name in _ADAPTIVE:
            draft.note(
                ("searcher", "name"),
                Text(
                    f"{name} runs as a random search for now: every trial runs to the end, none is "
                    "stopped early",
                    f"{name} 目前按随机搜索运行：每个试验都运行到结束，不会提前停止",
                ),
            )
        if given is None:
            draft.note(
                ("searcher",),
                Text(
                    f"max_trials is not set: using {_FALLBACK_TRIALS} trials",
                    f"没有写 max_trials：{_FALLBACK_TRIALS} 次试验",
                ),
            )
        return given or _FALLBACK_TRIALS

    def around(self, command: str | list[str]) -> str:
        """The command, with its trial's values in a JSON file."""
        text = command if isinstance(command, str) else shlex.join(command)
        if not self._draft.get(("search",)):
            return text
        return (
            'export DET_HPARAMS_FILE="${TMPDIR:-/tmp}/hparams-${DANLU_ATTEMPT_ID}.json"\n'
            'printf \'%s\\n\' "$DET_HPARAMS" > "$DET_HPARAMS_FILE"\n'
            "trap 'rm -f \"$DET_HPARAMS_FILE\"' EXIT\n"
            f"{text}"
        )


def is_experiment(values: Mapping[str, Any]) -> bool:
    resources = values.get("resources")
    slots = isinstance(resources, Mapping) and "slots_per_trial" in resources
    return slots or any(key in values for key in _SIGNS)
