"""The `If` header: which locks a client says to hold, and what must be so for its request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_PART = re.compile(r"\s*(?:<([^<>]{1,2000})>|\[([^\[\]]{1,500})\]|(\()|(\))|(Not\b))", re.I)
MOST_PARTS = 200


@dataclass(frozen=True, slots=True)
class Condition:
    negated: bool
    token: str  # or, if empty:
    etag: str


@dataclass(frozen=True, slots=True)
class List:
    path: str | None  # None: what the request is about
    conditions: tuple[Condition, ...]


class Malformed(Exception):
    pass


def parse(header: str) -> list[List]:
    """Raises Malformed."""
    found: list[List] = []
    path: str | None = None
    inside: list[Condition] | None = None
    negated = False
    at = count = 0
    while header[at:].strip():
        match = _PART.match(header, at)
        count += 1
        if match is None or count > MOST_PARTS:
            raise Malformed
        at = match.end()
        token, etag, opens, closes, _ = match.groups()
        if opens and inside is None:
            inside = []
        elif closes and inside:
            found.append(List(path, tuple(inside)))
            inside = None
        elif token and inside is None:
            path = _path(token)
        elif inside is not None and (token or etag):
            inside.append(Condition(negated, token or "", etag or ""))
            negated = False
        elif inside is not None and not (opens or closes):
            negated = True
        else:
            raise Malformed
    if inside is not None or not found:
        raise Malformed
    return found


def _path(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError as error:  # a host such as [::1
        raise Malformed from error


def tokens(lists: list[List]) -> set[str]:
    return {c.token for each in lists for c in each.conditions if c.token and not c.negated}
