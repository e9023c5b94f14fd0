"""`<% $parameters.x %>`: references in OpenPAI v2 commands.

Parameters and addresses are substituted as text. Secrets are not: they become a variable set when
the task starts, quoted for its position in the shell text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_REFERENCE = re.compile(r"<%\s*\$([A-Za-z_][\w.\[\]-]*)\s*%>", re.ASCII)
_PART = re.compile(r"([A-Za-z_][\w-]*)((?:\[\d{1,3}\])*)", re.ASCII)
_INDEX = re.compile(r"\[(\d+)\]")
_MISSING = object()


@dataclass(slots=True)
class References:
    """The references of one role."""

    parameters: Mapping[str, Any]
    secrets: Mapping[str, Any]
    # script, output, data: by name, and the one the role itself names
    things: Mapping[str, Mapping[str, Mapping[str, Any]]]
    own: Mapping[str, str]
    used_secrets: dict[str, str] = field(default_factory=dict)  # variable -> secret's key
    unknown: list[str] = field(default_factory=list)

    def render(self, text: str) -> str:
        """The text with references substituted; unknown ones are kept."""
        parts: list[str] = []
        at = 0
        quotes = _Quotes()
        for match in _REFERENCE.finditer(text):
            before = text[at : match.start()]
            quotes.pass_over(before)
            parts.append(before)
            parts.append(self._value(match, quotes))
            at = match.end()
        parts.append(text[at:])
        return "".join(parts)

    def _value(self, match: re.Match[str], quotes: _Quotes) -> str:
        root, _, rest = match[1].partition(".")
        if root == "secrets":
            if secret_of(self.secrets, rest) is None:
                return self._left(match)
            variable = f"PAI_SECRET_{re.sub(r'[^A-Za-z0-9_]', '_', rest)}"
            self.used_secrets[variable] = rest
            return quotes.reference(variable)
        found = self._find(root, rest)
        if found is _MISSING or isinstance(found, Mapping | list):
            return self._left(match)
        text = _as_text(found)
        quotes.pass_over(text)
        return text

    def _left(self, match: re.Match[str]) -> str:
        self.unknown.append(match[1])
        return match[0]

    def _find(self, root: str, rest: str) -> Any:
        if root == "parameters":
            return _walk(self.parameters, rest)
        things = self.things.get(root)
        if things is None:
            return _MISSING
        name, _, below = rest.partition(".")
        own = things.get(self.own.get(root, ""))
        if own is not None:
            found = _walk(own, rest)
            if found is not _MISSING:
                return found
        return _walk(things[name], below) if name in things else _MISSING


def secret_of(secrets: Mapping[str, Any], path: str) -> str | None:
    """A secret's text, also if nested: registry.password. None: no such secret."""
    found = secrets[path] if path in secrets else _walk(secrets, path)
    return None if found is _MISSING or isinstance(found, Mapping | list) else _as_text(found)


def _walk(value: Any, path: str) -> Any:
    for part in path.split("."):
        match = _PART.fullmatch(part)
        if match is None or not isinstance(value, Mapping) or match[1] not in value:
            return _MISSING
        value = value[match[1]]
        for index in _INDEX.findall(match[2]):
            if not isinstance(value, list) or int(index) >= len(value):
                return _MISSING
            value = value[int(index)]
    return value


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class _Quotes:
    """The quoting state at a position in shell text."""

    def __init__(self) -> None:
        self.inside = ""

    def pass_over(self, text: str) -> None:
        escaped = False
        for char in text:
            if escaped:
                escaped = False
            elif char == "\\" and self.inside != "'":
                escaped = True
            elif self.inside:
                if char == self.inside:
                    self.inside = ""
            elif char in "'\"":
                self.inside = char

    def reference(self, variable: str) -> str:
        if self.inside == '"':
            return f"${{{variable}}}"
        if self.inside == "'":
            return f"'\"${{{variable}}}\"'"
        return f'"${{{variable}}}"'
