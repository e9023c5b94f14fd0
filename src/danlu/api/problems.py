"""Errors as the API tells them: one shape, both languages, what to do next."""

from __future__ import annotations

import logging
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
from danlu.spec.errors import SpecError, shorten
from danlu.spec.read import LARGEST_FILE
from danlu.spec.units import format_size
from danlu.store.errors import StoreError

log = logging.getLogger("danlu.api")

_PRIVATE = frozenset({"password", "value", "old", "new", "code"})
"""Keys of bodies whose values are not repeated in an answer."""


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
    """Raised by routes; becomes an answer of this status."""

    def __init__(
        self,
        status: int,
        code: str,
        en: str,
        zh: str,
        details: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(en)
        self.status = status
        self.code = code
        self.en = en
        self.zh = zh
        self.details = details or []
        self.headers = headers or {}


_HTTP_WORDS = {
    400: (
        "bad_request",
        "The body cannot be read: send JSON in UTF-8",
        "无法读取请求体：请发送 UTF-8 编码的 JSON",
    ),
    404: ("not_found", "There is nothing at this address", "此地址没有内容"),
    405: ("method_not_allowed", "This address does not take that method", "不支持该方法"),
}


def too_large(most: int) -> ApiProblem:
    size = format_size(most)
    return ApiProblem(
        413,
        "too_large",
        f"A job file may have up to {size}. Put data and long scripts into files of their own",
        f"任务文件最大 {size}。数据和长脚本请放到单独的文件里",
    )


def not_found(what_en: str, what_zh: str) -> ApiProblem:
    return ApiProblem(404, "not_found", f"There is no {what_en}", f"没有{what_zh}")


def told(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: what a route may answer beyond what every route may."""
    words = {
        400: "The body cannot be read",
        403: "Not allowed",
        409: "Not possible in its present state",
        413: "The body is too large",
        429: "Too many tries; `Retry-After` says when to try again",
    }
    return {status: {"model": ErrorAnswer, "description": words[status]} for status in statuses}


def answer(problem: ApiProblem) -> JSONResponse:
    body = {
        "error": {
            "code": problem.code,
            "message_en": problem.en,
            "message_zh": problem.zh,
            "details": problem.details,
        }
    }
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    return JSONResponse(body, problem.status, {**headers, **problem.headers})


def from_access(error: AccessError) -> ApiProblem:
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, TooMany) else None
    return ApiProblem(error.status, error.code, error.en, error.zh, headers=headers)


def from_spec(error: SpecError) -> ApiProblem:
    details = [dict(problem.values()) for problem in error.problems]
    en, zh = "The job cannot be accepted", "任务无法接受"
    if error.language:
        en, zh = f"{en} (read as {error.language})", f"{zh}（按 {error.language} 读取）"
    return ApiProblem(422, "invalid_job", en, zh, details)


def install(app: FastAPI) -> None:
    async def api_problem(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiProblem)
        return answer(error)

    async def spec_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, SpecError)
        return answer(from_spec(error))

    async def access_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, AccessError)
        return answer(from_access(error))

    async def store_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, StoreError)
        return answer(ApiProblem(503, "database", error.en, error.zh))

    async def engine_away(request: Request, error: Exception) -> JSONResponse:
        return answer(
            ApiProblem(
                503,
                "engine",
                f"The engine does not answer: {error}. Tasks go on; try again",
                f"引擎没有响应：{error}。任务不受影响，请稍后重试",
            )
        )

    async def bad_request(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        details = [_parameter(found) for found in error.errors()[:50]]
        return answer(
            ApiProblem(422, "invalid_request", "The request is not valid", "请求不合法", details)
        )

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        if error.status_code == 413:
            return answer(too_large(LARGEST_FILE))
        plain = ("http", str(error.detail), str(error.detail))
        code, en, zh = _HTTP_WORDS.get(error.status_code, plain)
        response = answer(ApiProblem(error.status_code, code, en, zh))
        if error.headers:
            response.headers.update(error.headers)
        return response

    async def gone(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody hears it; and it is nothing for the log

    async def surprise(request: Request, error: Exception) -> JSONResponse:
        return answer(
            ApiProblem(
                500,
                "internal",
                "The server made a mistake; its log tells more. Tasks go on",
                "服务器内部出错，详见服务器日志；任务不受影响",
            )
        )

    app.add_exception_handler(ApiProblem, api_problem)
    app.add_exception_handler(SpecError, spec_error)
    app.add_exception_handler(AccessError, access_error)
    app.add_exception_handler(StoreError, store_error)
    app.add_exception_handler(Unreachable, engine_away)
    app.add_exception_handler(RequestValidationError, bad_request)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, surprise)


def _parameter(found: Any) -> dict[str, Any]:
    place = [str(part) for part in found.get("loc", ())]
    key = ".".join(place[1:] or place)
    value = found.get("input")
    # A whole body is not shown either: what is missing from it is not what it holds.
    hidden = isinstance(value, dict | list) or not _PRIVATE.isdisjoint(place[-1:])
    shown = None if hidden else shorten(value, 200)
    en, zh = fault_words(str(found.get("type", "")), found.get("ctx") or {})
    if not en:
        message = str(found.get("msg", "not valid"))
        en, zh = message, f"不合法（{message}）"
    # Whoever typed it in a path or an option has no body with lines to look at.
    if shown is not None and found.get("type") not in ("missing", "extra_forbidden"):
        given = shorten(value, 60)
        en, zh = f"{given} {en}", f"{given} {zh}"
    return {"key": key, "value": shown, "message_en": f"{key}: {en}", "message_zh": f"{key}：{zh}"}
