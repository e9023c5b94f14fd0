"""Readers for values with several notations: GPUs, commands, variables, secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from danlu.spec.errors import Finding, Path, Wrong, unknown_key, wrong
from danlu.spec.fields import LONGEST_WORD, read_line, read_name, read_number, read_text
from danlu.spec.job import Command, GpuRequest, RunAs
from danlu.spec.text import Text

MOST_WORDS = 10_000
MOST_VARIABLES = 1_000
MOST_GPUS = 4_096
SMALLEST_FRACTION = 0.01

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+/()-]{0,63}", re.ASCII)

T = TypeVar("T")


class Collected:
    """Collects the errors inside one value, so that all are reported."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add(self, value: object, message: Text, path: Path = ()) -> None:
        self.findings.append(Finding(path, value, message))

    def read(self, reader: Callable[[Any], T], value: object, *path: str | int) -> T | None:
        try:
            return reader(value)
        except Wrong as error:
            self.findings.extend(found.below(path) for found in error.findings)
            return None

    def keys(self, value: Mapping[str, object], known: tuple[str, ...]) -> None:
        for key in value:
            if key not in known:
                self.findings.append(unknown_key(key, known))

    def done(self) -> None:
        if self.findings:
            raise Wrong(self.findings)


# GPUs

_GPUS = Text(
    "is not a number of GPUs; use an integer (2), a fraction of one GPU (0.5), a count and a "
    "model (2:RTX3090), or {count: 2, model: RTX3090}",
    "不是 GPU 数量；请写整数（2）、一张卡的几分之几（0.5）、数量和型号（2:RTX3090），"
    "或 {count: 2, model: RTX3090}",
)


def read_gpus(value: object) -> GpuRequest:
    if isinstance(value, Mapping):
        return _gpus_from_mapping(value)
    if isinstance(value, str):
        count, colon, model = value.partition(":")
        return _gpus(count, read_model(model.strip()) if colon else None, value)
    return _gpus(value, None, value)


def _gpus_from_mapping(value: Mapping[str, object]) -> GpuRequest:
    found = Collected()
    found.keys(value, ("count", "model", "fraction", "indexes"))
    model = value.get("model")
    name = None if model is None else found.read(read_model, model, "model")
    amount = value.get("count")
    fraction = value.get("fraction")
    if value.get("indexes") is not None:
        indexes = found.read(_gpu_indexes, value["indexes"], "indexes") or ()
        if fraction is not None or amount not in (None, len(indexes)):
            found.add(
                value["indexes"],
                Text(
                    "already say how many GPUs; omit count and fraction",
                    "已经说明了卡数；请不写 count 和 fraction",
                ),
                ("indexes",),
            )
        found.done()
        return GpuRequest(len(indexes), name, None, indexes)
    if fraction is not None:
        number = read_number(fraction)
        if number is None or not SMALLEST_FRACTION <= number < 1 or amount not in (None, 1):
            found.add(
                fraction,
                Text(
                    "is not a fraction of one GPU; use a number from 0.01 to 0.99, without count",
                    "不是一张卡的几分之几；请写 0.01 到 0.99 的数，且不写 count",
                ),
                ("fraction",),
            )
        found.done()
        return GpuRequest(1, name, number)
    found.done()
    return _gpus(1 if amount is None else amount, name, value)


def _gpu_indexes(value: object) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else []
    good = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]
    if not good or good != numbers or len(set(good)) != len(good) or len(good) > MOST_GPUS:
        good = []
    if not good or min(good) < 0 or max(good) >= MOST_GPUS:
        raise wrong(
            value,
            Text(
                "are not GPU numbers; use those shown by `danlu gpus`, e.g. [0, 1]",
                "不是卡号；请写 `danlu gpus` 显示的编号，例如 [0, 1]",
            ),
        )
    return tuple(sorted(good))


def _gpus(amount: object, model: str | None, value: object) -> GpuRequest:
    number = read_number(amount)
    if number is None or not 0 <= number <= MOST_GPUS or (0 < number < SMALLEST_FRACTION):
        raise wrong(value, _GPUS)
    if number == 0 and model is not None:
        raise wrong(value, Text("names a model but asks for no GPU", "写了型号但数量为 0"))
    if 0 < number < 1:
        return GpuRequest(1, model, number)
    if not number.is_integer():
        raise wrong(value, _GPUS)
    return GpuRequest(int(number), model)


def read_model(value: object) -> str:
    text = read_line(value).strip()
    if _MODEL.fullmatch(text):
        return text
    raise wrong(
        text,
        Text(
            "is not a GPU model; use a name shown by `danlu gpus`, e.g. RTX3090",
            "不是 GPU 型号；请写 `danlu gpus` 显示的名称，例如 RTX3090",
        ),
    )


# Commands


def read_command(value: object) -> Command:
    if isinstance(value, list):
        words = read_words(value)
        if words and words[0].strip():
            return Command(RunAs.ARGV, words)
    elif isinstance(value, str):
        text = read_text(value)
        if text.strip():
            return Command(RunAs.SHELL, (text,))
    raise wrong(
        value,
        Text(
            "is not a command; write text for the shell (python train.py) or a list of words "
            "([python, train.py])",
            "不是命令；请写交给 shell 的文字（python train.py），或逐词列表（[python, train.py]）",
        ),
    )


def read_words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise wrong(
            value, Text("is not a list of words; write [one, two]", "不是词的列表；请写 [one, two]")
        )
    bounded(value, MOST_WORDS)
    found = Collected()
    words = [found.read(read_text, word, index) for index, word in enumerate(value)]
    found.done()
    return tuple(word for word in words if word is not None)


def bounded(value: list[Any] | Mapping[str, Any], most: int) -> None:
    if len(value) > most:
        raise wrong(value, Text(f"has more than {most} entries", f"超过 {most} 项"))


# Variables and secrets


def read_env(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise wrong(
            value, Text("is not a mapping; write {NAME: value}", "不是映射；请写 {NAME: value}")
        )
    bounded(value, MOST_VARIABLES)
    found = Collected()
    env: dict[str, str] = {}
    for name, content in value.items():
        found.read(_read_variable, name, name)
        text = found.read(_read_content, content, name)
        if text is not None:
            env[name] = text
            if len(name) + len(text) > LONGEST_WORD // 4:
                found.read(_read_assignment, f"{name}={text}", name)
    found.done()
    return env


def _read_variable(value: object) -> str:
    if isinstance(value, str) and _VARIABLE.fullmatch(value):
        return value
    raise wrong(
        value,
        Text(
            "is not a valid variable name; use letters, digits and '_', not starting with a "
            "digit, at most 128",
            "不是变量名；请用字母、数字和 '_'，不以数字开头，最多 128 个字符",
        ),
    )


def _read_content(value: object) -> str:
    if value is None:
        raise wrong(
            value, Text('is not text; write "" for an empty variable', '不是文字；空变量请写 ""')
        )
    return read_text(value)


def _read_assignment(text: str) -> str:
    return read_text(text)


def read_secrets(value: object) -> dict[str, str]:
    if isinstance(value, list):
        bounded(value, MOST_VARIABLES)
        found = Collected()
        names = [found.read(_read_variable, name, index) for index, name in enumerate(value)]
        found.done()
        return {name: name for name in names if name is not None}
    if not isinstance(value, Mapping):
        raise wrong(
            value,
            Text(
                "does not name secrets; write {VARIABLE: secret} or a list of names",
                "不是密钥；请写 {变量: 密钥名} 或名称列表",
            ),
        )
    bounded(value, MOST_VARIABLES)
    found = Collected()
    secrets: dict[str, str] = {}
    for name, secret in value.items():
        found.read(_read_variable, name, name)
        secrets[name] = found.read(read_name, secret, name) or ""
    found.done()
    return secrets
