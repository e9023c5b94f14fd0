"""A shortcut to the submit route, which may be called thousands of times in a row.

The framework's routing and parameter handling takes as long as handling the job. The regular route
remains for documentation and for requests with parameters.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from danlu.api import jobs
from danlu.api.dependencies import bearer, principal, services
from danlu.api.problems import BASE


class _Bare(Route):
    """Requests without parameters only."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"]:
            return Match.NONE, {}
        return super().matches(scope)


async def _submit(request: Request) -> Response:
    who = await principal(request, await bearer(request))
    return await jobs.submit(request, await services(request), who)


def submit() -> Route:
    return _Bare(f"{BASE}/jobs", _submit, methods=["POST"], include_in_schema=False)
