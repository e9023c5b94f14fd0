"""A Python client for Danlu.

from danlu.sdk import Client

with Client() as danlu:
    job = danlu.submit({"command": ["python", "train.py"], "gpus": 1})["jobs"][0]
    for piece in danlu.logs(job["id"], follow=True):
        ...
    print(danlu.wait(job["id"])["exit_code"])
"""

from __future__ import annotations

from danlu.sdk.errors import ApiError, BadAddress, Lost, NoServer, ProtocolError, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.client import Client as Client
    from danlu.sdk.ids import uuid7 as uuid7

__all__ = [
    "ApiError",
    "BadAddress",
    "Client",
    "Lost",
    "NoServer",
    "ProtocolError",
    "Unreachable",
    "uuid7",
]


def __getattr__(name: str) -> object:
    # The command line imports parts of this package where every millisecond shows.
    if name == "Client":
        from danlu.sdk.client import Client

        return Client
    if name == "uuid7":
        from danlu.sdk.ids import uuid7

        return uuid7
    raise AttributeError(name)
