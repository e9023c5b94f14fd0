"""What a handler of the API is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from danlu.registry.messages import Request
from danlu.registry.store import Store
from danlu.registry.tokens import Claims


@dataclass(slots=True)
class Call:
    """One request to one repository, by somebody who may."""

    request: Request
    store: Store
    repository: str
    reference: str  # the last part of the address: a tag, a digest, an upload
    who: Claims


Handler = Callable[[Call], Awaitable[None]]
