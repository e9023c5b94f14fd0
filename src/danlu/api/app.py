"""The HTTP application: thin routers over the control loop."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from danlu import __version__
from danlu.api import (
    audit,
    backup,
    cluster,
    dialects,
    direct,
    document,
    downloads,
    groups,
    jobs,
    listing,
    logs,
    people,
    platform,
    queues,
    quotas,
    secrets,
    session,
    signup,
    stream,
    streams,
    volumes,
)
from danlu.api.bounds import Bounded
from danlu.api.problems import ErrorAnswer, install
from danlu.api.services import Services

_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "Not signed in"},
    403: {"model": ErrorAnswer, "description": "Not allowed"},
    404: {"model": ErrorAnswer, "description": "No such thing"},
    422: {"model": ErrorAnswer, "description": "The request is not valid"},
    429: {
        "model": ErrorAnswer,
        "description": "Too many tries; `Retry-After` says when to try again",
    },
    503: {"model": ErrorAnswer, "description": "Something is away for now; try again"},
}


def create_app(services: Services) -> FastAPI:
    app = FastAPI(
        title="Danlu",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        generate_unique_id_function=document.operation_id,
    )
    app.state.services = services
    install(app)
    app.add_middleware(Bounded)
    # In this order a request looks for its route: what is asked most comes first, and a name as
    # in /jobs/convert before any name as in /jobs/{ref}.
    for module in (
        listing,
        dialects,
        jobs,
        logs,
        session,
        people,
        groups,
        signup,
        audit,
        platform,
        cluster,
        queues,
        quotas,
        backup,
        secrets,
        stream,
        streams,
        volumes,
    ):
        app.include_router(module.router, prefix="/api/v1", responses=_ERRORS)

    app.router.routes.insert(0, direct.submit())
    downloads.install(app)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> JSONResponse:
        health = services.controller.rooms.store.health
        return JSONResponse({"ok": health.ok}, 200 if health.ok else 503)

    document.install(app)
    return app
