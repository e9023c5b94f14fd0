"""Keys of [server] in danlu.toml for web doors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from danlu.server.values import Values
from danlu.spec.text import Text

WEB_PORTS = (8800, 8899)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class PortRange:
    host: str
    first: int
    last: int


class Web(Values):
    def ports(self, value: Any) -> PortRange | Literal["off"] | None:
        """None: the file says nothing."""
        if value is None:
            return None
        if value == "off":
            return "off"
        host, colon, ports = self._text("server.web", value).rpartition(":")
        first, _, last = ports.partition("-")
        numbers = [_number(each) for each in (first, last or first)]
        if not colon or not 0 < numbers[0] <= numbers[1] < 65536:
            raise self._wrong(
                "server.web",
                value,
                Text(
                    'must be "off" or like "127.0.0.1:8800-8899"',
                    '请写 "off" 或 "127.0.0.1:8800-8899" 这样的值',
                ),
            )
        return PortRange(host.strip("[]") or "0.0.0.0", *numbers)  # noqa: S104 - as written

    def domain(self, value: Any) -> str:
        if value == "":
            return ""
        text = self._text("server.web_domain", value).lower()
        name, colon, port = text.partition(":")
        if not _NAME.fullmatch(name) or (colon and not 0 < _number(port) < 65536):
            raise self._wrong(
                "server.web_domain",
                value,
                Text(
                    'write a name such as "jobs.example.org", whose subdomains all point here, '
                    "and the port if browsers use another than this server",
                    '请写 "jobs.example.org" 这样的域名（其所有子域名都指向本机）；'
                    "如果浏览器使用的端口不同，请加上端口",
                ),
            )
        return text


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 6 else 0
