"""A Python client for Danlu, of the standard library only.

from danlu import Client

with Client() as danlu:
    job = danlu.submit({"command": ["python", "train.py"], "gpus": 1})["jobs"][0]
    for piece in danlu.logs(job["id"], follow=True):
        ...
    print(danlu.wait(job["id"])["exit_code"])
"""

from __future__ import annotations

from danlu.sdk.errors import (
    ApiError,
    BadAddress,
    Conflict,
    Invalid,
    Lost,
    NoServer,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ProtocolError,
    ServerTrouble,
    TooMany,
    Unreachable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.aio import AsyncClient as AsyncClient
    from danlu.sdk.client import Client as Client
    from danlu.sdk.ids import uuid7 as uuid7

__all__ = [
    "ApiError",
    "AsyncClient",
    "BadAddress",
    "Client",
    "Conflict",
    "Invalid",
    "Lost",
    "NoServer",
    "NotAllowed",
    "NotFound",
    "NotSignedIn",
    "ProtocolError",
    "ServerTrouble",
    "TooMany",
    "Unreachable",
    "uuid7",
]

_HOMES = {"AsyncClient": "aio", "Client": "client", "uuid7": "ids"}


def __getattr__(name: str) -> object:
    # The command line imports parts of this package, and every millisecond of its start-up counts.
    if name not in _HOMES:
        raise AttributeError(name)
    module = __import__(f"danlu.sdk.{_HOMES[name]}", fromlist=["*"])
    found: object = getattr(module, name)
    return found
