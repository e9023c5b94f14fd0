"""Shared by both OpenPAI languages: resources, ports, retries, completion, folders."""

from __future__ import annotations

import re
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path, wrong
from danlu.spec.fields import integer
from danlu.spec.text import Text

ALWAYS_PORTS = ("ssh", "http")
"""Every OpenPAI task has these two ports."""

_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
_HDFS = re.compile(r"(?:hdfs|webhdfs|viewfs)://|\$\{?PAI_DEFAULT_FS_URI", re.IGNORECASE)
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+/()-]{0,63}", re.ASCII)

COUNT = integer(1, 100_000)
CPUS = integer(1, 100_000)
GPUS = integer(0, 4096)
MEGABYTES = integer(1, 1 << 30)
SHARED = integer(0, 1 << 30)
AMOUNT_OF_PORTS = integer(0, 64)
RETRIES = integer(-2, 1_000_000)
MOST_RETRIES = 100


class Ports:
    """The ports of one role, with labels Danlu allows."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.found: dict[str, int] = {}

    def add(self, label: str, count: int, key: Path) -> None:
        plain = label if _LABEL.fullmatch(label) else self._allowed(label, key)
        known = {each.lower(): each for each in self.found}
        if plain.lower() in known:
            self._draft.refuse(key, label, Text("is a duplicate port label", "端口标签重复"))
            return
        self.found[plain] = count

    def _allowed(self, label: str, key: Path) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", label)[:32]
        plain = plain if plain[:1].isalpha() else f"p{plain}"[:32]
        self._draft.note(
            key,
            Text(
                f"the port's label is {plain!r} here, also in its variables",
                f"端口标签在这里是 {plain!r}，变量名中也是",
            ),
        )
        return plain

    def with_always(self) -> dict[str, int]:
        """`ssh` and `http` always exist."""
        known = {label.lower() for label in self.found}
        return {**{label: 1 for label in ALWAYS_PORTS if label not in known}, **self.found}


def retries(draft: Draft, count: int | None, key: Path) -> None:
    if not count:
        return
    if count > MOST_RETRIES:
        draft.note(
            key,
            Text(
                f"is limited to {MOST_RETRIES} retries; -1 means always retry",
                f"最多重试 {MOST_RETRIES} 次；-1 表示一直重试",
            ),
        )
        count = MOST_RETRIES
    draft.put(("retries",), count, key)
    if count == -2:
        draft.put(("kind",), "service", key)
        draft.note(
            key,
            Text(
                "-2 is a service: it is also run again after success, until stopped",
                "-2 是常驻服务：成功后也会重新运行，直到有人停止",
            ),
        )


def gpus(draft: Draft, role: Path, count: int, model: str | None, keys: tuple[Path, Path]) -> None:
    """GPUs per task; a model without a GPU is noted."""
    if count and model:
        draft.put((*role, "gpus"), {"count": count, "model": model}, keys[0])
        draft.came_from((*role, "gpus", "model"), keys[1])
    elif count:
        draft.put((*role, "gpus"), count, keys[0])


def read_model(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    if _MODEL.fullmatch(text):
        return text
    raise wrong(
        value,
        Text(
            "is not a GPU model; use a name shown by `danlu gpus`, or leave it empty",
            "不是一种 GPU 型号；请写 `danlu gpus` 显示的名称，或留空",
        ),
    )


def is_hdfs(text: str) -> bool:
    return bool(_HDFS.search(text))


def refuse_hdfs(draft: Draft, key: Path, value: object) -> None:
    draft.refuse(
        key,
        value,
        Text(
            "is an HDFS address, and there is no HDFS here; copy the files to a volume "
            "(/userhome, /gdata) and use that path",
            "是 HDFS 地址，这里没有 HDFS；请把文件放到存储卷（/userhome、/gdata），再写该路径",
        ),
    )


def folder(draft: Draft, site: Site, text: str, key: Path) -> tuple[str, dict[str, Any] | None]:
    """A folder named by the job: its path in the task, and the mount it needs."""
    found = site.volume_of(text)
    if found is None:
        return text, None
    volume, rest = found
    path = volume.target.rstrip("/") + rest
    if path != text:
        draft.note(
            key,
            Text(
                f"is in the volume {volume.name}, mounted at {volume.target}: {path}",
                f"在存储卷 {volume.name} 中，任务在 {volume.target} 看到它：{path}",
            ),
        )
    return path, {"volume": volume.name, "path": volume.target}


def completion(
    draft: Draft, role: Path, failed: tuple[int, Path], succeeded: tuple[int, Path]
) -> None:
    """0: failed tasks never fail the job; all tasks must have ended."""
    if failed[0] != 1:
        draft.put((*role, "min_failed"), failed[0], failed[1])
    if succeeded[0]:
        draft.put((*role, "min_succeeded"), succeeded[0], succeeded[1])
