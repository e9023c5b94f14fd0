"""The HTTP application: thin routers over the services."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from danlu import __version__
from danlu.api import (
    dialects,
    direct,
    downloads,
    jobs,
    listing,
    logs,
    pages,
    platform,
    prometheus,
    session,
    websockets,
)
from danlu.api.bounds import STREAMED, Bounded
from danlu.api.dav import Dav
from danlu.api.demo import MarkedAsDemo
from danlu.api.later import Later
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

# Loaded when first asked for: which paths, and the modules with their routes.
LATER = {
    "session": "browser",
    "tickets": "browser",
    "stream": "sse",
    "cluster": "cluster",
    "snapshot": "cluster",
    "nodes/*/drain": "cluster",
    "nodes/*/resume": "cluster",
    "nodes/*/metrics": "metrics",
    "jobs/*/metrics": "metrics",
    "jobs/*/doors": "doors",
    "environments": "environments",
    "ssh-keys": "ssh_keys",
    "users": "people",
    "groups": "groups",
    "sign-up": "signup",
    "requests": "signup",
    "invites": "signup",
    "audit": "audit",
    "queues": "queues",
    "quotas": "quotas",
    "registry": "registry",
    "files": "files file_transfers file_uploads",
    "images": "images",
    "saves": "saves",
    "jobs/*/save": "saves",
    "environments/*/save": "saves",
    "tensorboards": "tensorboards",
    "jobs/*/tensorboard": "tensorboards",
    "bundles": "bundles",
    "datasets": "datasets",
    "disks": "disks folder_quotas",
    "volume-requests": "storage",
    "backup": "backup",
    "secrets": "secrets",
    "volumes": "volumes",
    "waiting": "waiting",
}


def create_app(services: Services, hosts: Hosts = NO_NAMES, demo: bool = False) -> FastAPI:
    app = FastAPI(
        title="Danlu",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{BASE}/openapi.json",
        generate_unique_id_function=_operation_id,
    )
    app.state.services = services
    app.state.hosts = hosts
    install(app)
    app.add_middleware(Bounded, streamed=STREAMED)
    app.add_middleware(Noticed, services=services)
    if demo:
        app.add_middleware(MarkedAsDemo)
    if hosts.always:
        app.add_middleware(KnownHost, hosts=hosts)

    def include(router: APIRouter) -> None:
        app.include_router(router, prefix=BASE, responses=_ERRORS)

    # Routes match in this order: the most frequent first, and fixed names such as
    # /jobs/convert before parameters such as /jobs/{ref}.
    for module in (
        listing,
        dialects,
        jobs,
        logs,
        session,
        platform,
        websockets,
    ):
        include(module.router)
    later = Later(BASE, LATER, app.router.routes, include)
    app.router.routes.append(later)

    app.router.routes.insert(0, direct.submit())
    downloads.install(app)
    app.router.routes.append(Dav())
    prometheus.install(app)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> JSONResponse:
        ok = services.server.healthy()
        return JSONResponse({"ok": ok}, 200 if ok else 503)

    _document(app, later)
    pages.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    """The operation's name in generated clients."""
    return f"{route.endpoint.__module__.rpartition('.')[2]}_{route.name}"


def _document(app: FastAPI, later: Later) -> None:
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            from danlu.api.document import complete

            later.load_all()
            app.openapi_schema = complete(make())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
