"""GET /metrics: the platform's numbers in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials

from danlu.access.principal import Principal
from danlu.api.dependencies import Our, address_of, bearer, principal
from danlu.services.export import Metric, Point

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def reader(
    request: Request,
    our: Our,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Principal | None:
    """None: the address alone is enough."""
    if credentials is None and our.export.open_to(address_of(request)):
        return None
    return await principal(request, credentials)


def install(app: FastAPI) -> None:
    @app.get("/metrics", include_in_schema=False)
    async def metrics(our: Our, who: Annotated[Principal | None, Depends(reader)]) -> Response:
        return Response(exposition(our.export.points(who)), media_type=CONTENT_TYPE)


def exposition(points: Iterable[Point]) -> str:
    """All points of a metric together, as the format requires."""
    families: dict[Metric, list[Point]] = {}
    for point in points:
        families.setdefault(point.metric, []).append(point)
    lines: list[str] = []
    for metric, found in families.items():
        lines.append(f"# HELP {metric.name} {_escaped(metric.help)}")
        lines.append(f"# TYPE {metric.name} gauge")
        lines += [_line(point) for point in found]
    return "\n".join(lines) + "\n"


def _line(point: Point) -> str:
    pairs = zip(point.metric.labels, point.labels, strict=True)
    labels = ",".join(f'{name}="{_quoted(value)}"' for name, value in pairs)
    value = point.value
    shown = str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    return f"{point.metric.name}{{{labels}}} {shown}" if labels else f"{point.metric.name} {shown}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
