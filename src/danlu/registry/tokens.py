"""Tokens of the registry: made by the server, verified by the registry without asking it.

JSON Web Tokens with HMAC-SHA256. The registry holds the key too; with all images in its hands there
is nothing that a token would add.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

AUDIENCE = "danlu-registry"
SECONDS = 300
"""Docker asks for another when this is over, also within a push."""
LONGEST = 86400.0
"""Of any token: those of jobs that pull."""
PULL, PUSH, DELETE = "pull", "push", "delete"
ACTIONS = (PULL, PUSH, DELETE)
_HEADER = {"alg": "HS256", "typ": "JWT"}


@dataclass(frozen=True, slots=True)
class Claims:
    name: str
    user_id: str
    issued: float
    access: dict[str, frozenset[str]] = field(default_factory=dict)  # repository -> actions
    sees: frozenset[str] | None = frozenset()  # for the catalogue: owners; None: all

    def may(self, repository: str, action: str) -> bool:
        return action in self.access.get(repository, ())


def sign(key: bytes, claims: Claims, seconds: float = SECONDS) -> str:
    access = [
        {"type": "repository", "name": name, "actions": sorted(actions)}
        for name, actions in claims.access.items()
    ]
    values = {
        "aud": AUDIENCE,
        "sub": claims.name,
        "uid": claims.user_id,
        "iat": claims.issued,
        "exp": claims.issued + seconds,
        "access": access,
        "sees": None if claims.sees is None else sorted(claims.sees),
    }
    head = b".".join(_pack(json.dumps(each).encode()) for each in (_HEADER, values))
    return (head + b"." + _pack(_mac(key, head))).decode()


def verify(key: bytes, token: str) -> Claims | None:
    """None: not ours, or over."""
    head, _, signature = token.rpartition(".")
    try:
        good = hmac.compare_digest(_unpack(signature), _mac(key, head.encode()))
        if not good:
            return None
        values: dict[str, Any] = json.loads(_unpack(head.partition(".")[2]))
    except ValueError:
        return None
    if values.get("aud") != AUDIENCE or values["exp"] < time.time():
        return None
    access = {each["name"]: frozenset(each["actions"]) for each in values["access"]}
    sees = values["sees"]
    return Claims(
        values["sub"],
        values["uid"],
        values["iat"],
        access,
        None if sees is None else frozenset(sees),
    )


def read_scopes(scopes: Iterable[str]) -> list[tuple[str, str, frozenset[str]]]:
    """`repository:alice/x:pull,push` as type, name and actions; several may be in one text."""
    found = []
    for scope in " ".join(scopes).split()[:_MOST_SCOPES]:
        kind, _, rest = scope.partition(":")
        name, _, actions = rest.rpartition(":")
        wanted = frozenset(actions.split(","))
        found.append((kind, name, frozenset(ACTIONS) if "*" in wanted else wanted))
    return found


_MOST_SCOPES = 50


def _mac(key: bytes, head: bytes) -> bytes:
    return hmac.new(key, head, hashlib.sha256).digest()


def _pack(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _unpack(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
