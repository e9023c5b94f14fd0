"""Error answers: one shape for every error, with messages in both languages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from danlu.access.errors import AccessError, TooMany
from danlu.api.faults import fault_words
from danlu.engines.api import Unreachable
from danlu.services.values import StoreError
from danlu.spec.errors import SpecError, shorten
from danlu.spec.read import LARGEST_FILE
from danlu.spec.text import Text
from danlu.spec.units import format_size

log = logging.getLogger("danlu.api")

_PRIVATE = frozenset({"password", "value", "old", "new", "code"})
"""Body keys whose values are never echoed in an answer."""


class ErrorDetail(BaseModel):
    key: str = ""
    value: Any = None
    line: int | None = None
    job: int | None = None
    message_en: str
    message_zh: str


class ErrorBody(BaseModel):
    code: str = Field(examples=["not_found"])
    message_en: str = Field(examples=["There is no job mnist-3"])
    message_zh: str = Field(examples=["没有任务 mnist-3"])
    details: list[ErrorDetail] = []


class ErrorAnswer(BaseModel):
    error: ErrorBody


class ApiProblem(Exception):
    """Raised by routes and turned into an error answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: Text,
        details: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message.en)
        self.status = status
        self.code = code
        self.message = message
        self.details = details or []
        self.headers = headers or {}


BASE = "/danlu/v1"
OLD_BASE = "/api/v1/"
"""The former base path, now used by the API of another platform."""

_HTTP_WORDS = {
    400: (
        "bad_request",
        Text(
            "Cannot read the body: send JSON in UTF-8", "无法读取请求体：请发送 UTF-8 编码的 JSON"
        ),
    ),
    404: ("not_found", Text("Nothing at this address", "此地址没有内容")),
    405: ("method_not_allowed", Text("Method not allowed at this address", "此地址不支持该方法")),
}


def too_large(most: int) -> ApiProblem:
    size = format_size(most)
    return ApiProblem(
        413,
        "too_large",
        Text(
            f"A job file may have at most {size}. Put data and long scripts into separate files",
            f"任务文件最大 {size}。数据和长脚本请放到单独的文件里",
        ),
    )


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: errors a route may return besides the common ones."""
    words = {
        400: "The body cannot be read",
        403: "Not allowed",
        409: "Not possible in its current state",
        413: "The body is too large",
        416: "`Range` begins beyond its end",
        421: "Unknown host name",
        429: "Too many attempts; `Retry-After` says when to try again",
    }
    return {status: {"model": ErrorAnswer, "description": words[status]} for status in statuses}


def answer(problem: ApiProblem) -> JSONResponse:
    body = {
        "error": {
            "code": problem.code,
            **problem.message.values("message"),
            "details": problem.details,
        }
    }
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    return JSONResponse(body, problem.status, {**headers, **problem.headers})


def from_access(error: AccessError) -> ApiProblem:
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, TooMany) else None
    return ApiProblem(error.status, error.code, error.message, headers=headers)


def from_spec(error: SpecError) -> ApiProblem:
    details = [dict(problem.values()) for problem in error.problems]
    message = Text("The job cannot be accepted", "任务无法接受")
    if error.language:
        message += Text(f" (read as {error.language})", f"（按 {error.language} 读取）")
    return ApiProblem(422, "invalid_job", message, details)


def install(app: FastAPI) -> None:
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


async def _api_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiProblem)
    return answer(error)


async def _spec_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SpecError)
    return answer(from_spec(error))


async def _access_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AccessError)
    return answer(from_access(error))


async def _store_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StoreError)
    return answer(ApiProblem(503, "database", error.message))


async def _engine_away(request: Request, error: Exception) -> JSONResponse:
    return answer(
        ApiProblem(
            503,
            "engine",
            Text(
                f"The engine does not answer: {error}. Tasks keep running; try again",
                f"引擎没有响应：{error}。任务不受影响，请稍后重试",
            ),
        )
    )


async def _bad_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    details = [_parameter(found) for found in error.errors()[:50]]
    return answer(
        ApiProblem(422, "invalid_request", Text("Invalid request", "请求不合法"), details)
    )


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 413:
        return answer(too_large(LARGEST_FILE))
    plain = "http", Text(str(error.detail), str(error.detail))
    code, message = _HTTP_WORDS.get(error.status_code, plain)
    path = request.url.path
    if error.status_code == 404 and path.startswith(OLD_BASE):
        moved = shorten(f"{BASE}/{path.removeprefix(OLD_BASE)}", 200)
        message = Text(f"This address has moved to {moved}", f"此地址已改为 {moved}")
    response = answer(ApiProblem(error.status_code, code, message))
    if error.headers:
        response.headers.update(error.headers)
    return response


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # never reaches the client, but keeps the log quiet


async def _surprise(request: Request, error: Exception) -> JSONResponse:
    return answer(
        ApiProblem(
            500,
            "internal",
            Text(
                "Internal server error; see the server's log. Tasks keep running",
                "服务器内部出错，详见服务器日志；任务不受影响",
            ),
        )
    )


_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    ApiProblem: _api_problem,
    SpecError: _spec_error,
    AccessError: _access_error,
    StoreError: _store_error,
    Unreachable: _engine_away,
    RequestValidationError: _bad_request,
    HTTPException: _http_error,
    ClientDisconnect: _gone,
    Exception: _surprise,
}


def _parameter(found: Any) -> dict[str, Any]:
    place = [str(part) for part in found.get("loc", ())]
    key = ".".join(place[1:] or place)
    value = found.get("input")
    # For a missing key, pydantic reports the whole body as the input.
    hidden = isinstance(value, dict | list) or not _PRIVATE.isdisjoint(place[-1:])
    shown = None if hidden else shorten(value, 200)
    words = fault_words(str(found.get("type", "")), found.get("ctx") or {})
    if not words:
        message = str(found.get("msg", "invalid"))
        words = Text(message, f"不合法（{message}）")
    # Values from a path or a query have no line number to point to, so the message quotes them.
    if shown is not None and found.get("type") not in ("missing", "extra_forbidden"):
        given = shorten(value, 60)
        words = Text(f"{given} {words.en}", f"{given} {words.zh}")
    return {"key": key, "value": shown, **words.after(key).values("message")}
