"""Amounts in sbatch notation: sizes, GPUs with their model, lists of both."""

from __future__ import annotations

import re

from danlu.spec.errors import Wrong, wrong
from danlu.spec.text import Text
from danlu.spec.units import G, K, M, T

_MEMORY = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_ALL = ("maxmempernode", "maxmempercpu")
_UNITS = {"": M, "K": K, "M": M, "G": G, "T": T}
# A model may start with a digit (2080ti, 3g.40gb); digits alone are a count, as in Slurm.
_GPUS = re.compile(r"(?:([A-Za-z0-9][\w.+-]*)[:=])?(\d{1,5})", re.ASCII)
_ONE_GPU = re.compile(r"(?=[\w.+-]*[A-Za-z])([A-Za-z0-9][\w.+-]*)", re.ASCII)


def count_and_model(text: str) -> tuple[int | None, str | None]:
    """`4`, `a100` or `a100:4`; no count if it is none of them."""
    match = _GPUS.fullmatch(text)
    if match is not None:
        return int(match[2]), match[1]
    return (1, text) if _ONE_GPU.fullmatch(text) else (None, None)


def read_memory(value: object) -> int:
    """Bytes. A bare number is MB; 0 is all of a node."""
    if str(value).strip().lower() in _ALL:
        return 0
    match = _MEMORY.fullmatch(str(value).strip())
    if match is None:
        raise wrong(
            value,
            Text(
                "is not a size; use MB, or a number with K, M, G or T",
                "不是大小；请写 MB 数，或带 K、M、G、T 的数",
            ),
        )
    size = int(float(match[1]) * _UNITS[match[2].upper()])
    if size >= 1 << 60:
        raise Wrong(
            wrong(value, Text("exceeds any machine's memory", "超过任何机器的内存")).findings
        )
    return size


def split_parts(value: str) -> list[str]:
    """Comma-separated parts, ignoring commas in parentheses."""
    parts = [match[0].strip() for match in re.finditer(r"(?:\([^()]*\)|[^,])+", value)]
    return [part for part in parts if part]
