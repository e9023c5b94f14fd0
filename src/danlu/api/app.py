"""The HTTP application: thin routers over the control loop."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from danlu import __version__
from danlu.api import jobs, logs, platform, secrets, streams
from danlu.api.bounds import Bounded
from danlu.api.problems import ErrorAnswer, install
from danlu.api.services import Services
from danlu.spec.request import JobRequest

_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "Not signed in"},
    404: {"model": ErrorAnswer, "description": "No such thing"},
    422: {"model": ErrorAnswer, "description": "The request is not valid"},
    503: {"model": ErrorAnswer, "description": "Something is away for now; try again"},
}


def create_app(services: Services) -> FastAPI:
    app = FastAPI(
        title="Danlu",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.services = services
    install(app)
    app.add_middleware(Bounded)
    for module in (jobs, logs, platform, secrets, streams):
        app.include_router(module.router, prefix="/api/v1", responses=_ERRORS)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> JSONResponse:
        health = services.controller.rooms.store.health
        return JSONResponse({"ok": health.ok}, 200 if health.ok else 503)

    _add_job_schema(app)
    return app


def _add_job_schema(app: FastAPI) -> None:
    """The body of a submission is read by hand (YAML too), so its schema is added by hand."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        document = make()
        schema = JobRequest.model_json_schema(ref_template="#/components/schemas/{model}")
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        for name, part in schema.pop("$defs", {}).items():
            parts.setdefault(name, part)
        parts["JobRequest"] = schema
        app.openapi_schema = document
        return document

    app.openapi = openapi  # type: ignore[method-assign]
