"""The parts of danlu.toml about what is stored: folders brought along, disks, mirrors.

[carry]
size = "4G"
keep = "90d"

[disks]
warning = 80
images = "14d"

[mirrors]
pip = "https://mirror.example.org/pypi/simple"
"""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from danlu.control.settings import CarrySettings, DiskSettings
from danlu.files.settings import Mirrors
from danlu.server.values import Values
from danlu.spec.text import Text
from danlu.spec.units import parse_duration, parse_size

KEYS = ("carry", "disks", "mirrors")
_CARRY = tuple(each.name for each in fields(CarrySettings))
_DISKS = tuple(each.name for each in fields(DiskSettings))
_MIRRORS = tuple(each.name for each in fields(Mirrors))
_PERCENT = ("warning", "high", "critical", "clean_from", "clean_to")
_SHORTEST = 1.0  # seconds


class StorageTables(Values):
    def carry(self, values: dict[str, Any]) -> CarrySettings:
        table = self._table(values, "carry", _CARRY)
        found: dict[str, Any] = {}
        for name, value in table.items():
            key = f"carry.{name}"
            if name in ("size", "total"):
                found[name] = int(self._parsed(key, value, parse_size))
            elif name in ("keep", "folders"):
                found[name] = self._parsed(key, value, parse_duration)
            else:
                found[name] = int(self._number(key, value))
        return CarrySettings(**found)

    def disks(self, values: dict[str, Any]) -> DiskSettings:
        table = self._table(values, "disks", _DISKS)
        found: dict[str, Any] = {}
        for name, value in table.items():
            key = f"disks.{name}"
            if name in _PERCENT:
                found[name] = self._percent(key, value)
            elif name == "clean":
                found[name] = self._flag(key, value)
            elif name == "free":
                found[name] = int(self._parsed(key, value, parse_size))
            else:
                found[name] = max(
                    self._parsed(key, value, parse_duration),
                    _SHORTEST if name in ("every", "count_every", "bins") else 0.0,
                )
        made = DiskSettings(**found)
        self._rising("disks", made, ("warning", "high", "critical"))
        self._rising("disks", made, ("clean_to", "clean_from"))
        return made

    def mirrors(self, values: dict[str, Any]) -> Mirrors:
        table = self._table(values, "mirrors", _MIRRORS)
        found: dict[str, Any] = {}
        for name, value in table.items():
            key = f"mirrors.{name}"
            if name == "pip_extra":
                found[name] = tuple(self._url(key, each) for each in self._texts(key, value))
            else:
                found[name] = self._url(key, self._text(key, value))
        return Mirrors(**found)

    def _percent(self, key: str, value: Any) -> float:
        number = self._number(key, value)
        if not 1 <= number <= 100:
            raise self._wrong(
                key, value, Text("write a percentage from 1 to 100", "请写 1 到 100 的百分数")
            )
        return number

    def _rising(self, table: str, made: DiskSettings, names: tuple[str, ...]) -> None:
        for lower, higher in pairwise(names):
            if getattr(made, lower) >= getattr(made, higher):
                raise self._wrong(
                    f"{table}.{higher}",
                    getattr(made, higher),
                    Text(f"must be above {lower}", f"必须大于 {lower}"),
                )

    def _url(self, key: str, text: str) -> str:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or not text.isprintable():
            raise self._wrong(
                key,
                text,
                Text(
                    'write an address such as "https://mirror.example.org/pypi/simple"',
                    '请写地址，例如 "https://mirror.example.org/pypi/simple"',
                ),
            )
        if any(sign in text for sign in " '\"\\\n"):
            raise self._wrong(key, text, Text("contains spaces or quotes", "含有空格或引号"))
        return text
