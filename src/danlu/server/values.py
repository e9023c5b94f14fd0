"""Reads single values of danlu.toml. An error names the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Literal

from danlu.spec.errors import Wrong
from danlu.spec.text import Text


class ConfigError(Exception):
    """A configuration error. `key`: where in the file."""

    def __init__(self, message: Text, key: str = "") -> None:
        super().__init__(message.en)
        self.message = message
        self.key = key


class Values:
    def __init__(self, where: str) -> None:
        self._where = where

    def _table(self, values: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
        table = values.get(name, {})
        if not isinstance(table, dict):
            raise self._wrong(name, table, Text(f"must be a [{name}] table", f"请写 [{name}] 表"))
        self._known(name, table, known)
        return table

    def _known(self, place: str, values: dict[str, Any], known: tuple[str, ...]) -> None:
        for name in values:
            if name not in known:
                key = f"{place}.{name}" if place else name
                near = get_close_matches(name, known, 1)
                listed = ", ".join(known)
                hint = (
                    Text(f"did you mean {near[0]}?", f"是不是 {near[0]}？")
                    if near
                    else Text(f"known: {listed}", f"可用：{listed}")
                )
                message = Text("unknown key; ", "未知的键；") + hint
                raise ConfigError(message.after(key).after(self._where), key)

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise self._wrong(key, value, Text("must be text in quotes", "请写带引号的文本"))
        return value

    def _texts(self, key: str, value: Any) -> list[str]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise self._wrong(key, value, Text("must name at least one", "至少写一个"))
        return [self._text(key, one) for one in values]

    def _flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(key, value, Text("must be true or false", "请写 true 或 false"))
        return value

    def _number(self, key: str, value: Any) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not 0 < value < 1e18:
            raise self._wrong(key, value, Text("must be a number above 0", "请写大于 0 的数"))
        return float(value)

    def _choice(self, key: str, value: Any) -> Literal["auto", "off"]:
        if value == "auto":
            return "auto"
        if value == "off":
            return "off"
        raise self._wrong(key, value, Text('must be "auto" or "off"', '请写 "auto" 或 "off"'))

    def _parsed(self, key: str, value: Any, parse: Callable[[Any], Any]) -> Any:
        try:
            return parse(value)
        except Wrong as error:
            found = error.findings[0]
            raise self._wrong(key, value, found.message) from None

    def _wrong(self, key: str, value: Any, message: Text) -> ConfigError:
        return ConfigError(message.after(repr(value)[:80]).after(key).after(self._where), key)
