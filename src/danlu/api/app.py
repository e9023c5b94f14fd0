"""The HTTP application: thin routers over the services."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from danlu import __version__
from danlu.api import (
    audit,
    backup,
    browser,
    bundles,
    cluster,
    datasets,
    dialects,
    direct,
    disks,
    document,
    doors,
    downloads,
    environments,
    groups,
    jobs,
    listing,
    logs,
    metrics,
    pages,
    people,
    platform,
    prometheus,
    queues,
    quotas,
    secrets,
    session,
    signup,
    sse,
    ssh_keys,
    storage,
    volumes,
    waiting,
    websockets,
)
from danlu.api.bounds import Bounded
from danlu.api.demo import MarkedAsDemo
from danlu.api.notices import Noticed
from danlu.api.origins import KnownHost
from danlu.api.problems import BASE, ErrorAnswer, install
from danlu.services.services import Services
from danlu.spec.hosts import Hosts

_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "Not signed in"},
    403: {"model": ErrorAnswer, "description": "Not allowed"},
    404: {"model": ErrorAnswer, "description": "Not found"},
    414: {"model": ErrorAnswer, "description": "The URL is too long"},
    422: {"model": ErrorAnswer, "description": "Invalid request"},
    429: {
        "model": ErrorAnswer,
        "description": "Too many attempts; `Retry-After` says when to try again",
    },
    503: {"model": ErrorAnswer, "description": "Temporarily unavailable; try again"},
}
NO_NAMES = Hosts()


def create_app(services: Services, hosts: Hosts = NO_NAMES, demo: bool = False) -> FastAPI:
    app = FastAPI(
        title="Danlu",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{BASE}/openapi.json",
        generate_unique_id_function=document.operation_id,
    )
    app.state.services = services
    app.state.hosts = hosts
    install(app)
    app.add_middleware(Bounded, streamed=(f"{BASE}/bundles",))
    app.add_middleware(Noticed, services=services)
    if demo:
        app.add_middleware(MarkedAsDemo)
    if hosts.always:
        app.add_middleware(KnownHost, hosts=hosts)
    # Routes match in this order: the most frequent first, and fixed names such as
    # /jobs/convert before parameters such as /jobs/{ref}.
    for module in (
        listing,
        dialects,
        jobs,
        logs,
        metrics,
        environments,
        session,
        browser,
        ssh_keys,
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
        sse,
        websockets,
        doors,
        volumes,
        bundles,
        datasets,
        disks,
        storage,
        waiting,
    ):
        app.include_router(module.router, prefix=BASE, responses=_ERRORS)

    app.router.routes.insert(0, direct.submit())
    downloads.install(app)
    prometheus.install(app)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> JSONResponse:
        ok = services.server.healthy()
        return JSONResponse({"ok": ok}, 200 if ok else 503)

    document.install(app)
    pages.install(app)
    return app
