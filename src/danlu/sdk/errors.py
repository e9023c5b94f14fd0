"""Errors between a client and its server."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BadAddress(ValueError):
    """The server's address is invalid."""


class NoServer(Exception):
    """No server is configured."""


class Unreachable(OSError):
    """No connection: nothing was sent."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")
        self.where = where
        self.cause = cause


class Lost(OSError):
    """The connection ended before the answer was complete: the request may have been processed."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")
        self.where = where
        self.cause = cause


class ProtocolError(Exception):
    """The answer did not come from a Danlu server."""


class ApiError(Exception):
    """The server rejected the request, or failed."""

    def __init__(
        self,
        status: int,
        code: str,
        message_en: str,
        message_zh: str = "",
        details: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(f"{message_en} ({status} {code})")
        self.status = status
        self.code = code
        self.message_en = message_en
        self.message_zh = message_zh or message_en
        self.details: list[dict[str, Any]] = details or []
        self.server = ""  # that was asked, where it is known
        self.token_source = ""  # "--token" or "DANLU_TOKEN"; "": a login

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in (429, 502, 503, 504)


class NotDanlu(ApiError):
    """Something else answered: another program at this address, or a proxy before the server."""


class NotSignedIn(ApiError):
    """No token, or an invalid one."""


class NotAllowed(ApiError):
    """Authenticated, but not allowed."""


class NotFound(ApiError):
    """It does not exist, or is hidden from you."""


class Conflict(ApiError):
    """Not possible in its current state."""


class Invalid(ApiError):
    """The request or job is invalid; `details` lists the errors."""


class TooMany(ApiError):
    """Too many requests; try again later."""


class ServerTrouble(ApiError):
    """The server failed, or something it needs is unavailable."""


def _kind(status: int) -> type[ApiError]:
    kinds: dict[int, type[ApiError]] = {
        400: Invalid,
        401: NotSignedIn,
        403: NotAllowed,
        404: NotFound,
        409: Conflict,
        413: Invalid,
        422: Invalid,
        429: TooMany,
    }
    return kinds.get(status, ServerTrouble if status >= 500 else ApiError)


def api_error(status: int, body: bytes) -> ApiError:
    from danlu.sdk.fastjson import loads

    try:
        answer = loads(body)
    except (ValueError, RecursionError):
        answer = None
    found = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(found, dict):
        details = found.get("details")
        return _kind(status)(
            status,
            str(found.get("code", status)),
            str(found.get("message_en", "")),
            str(found.get("message_zh", "")),
            [d for d in details if isinstance(d, dict)] if isinstance(details, list) else None,
        )
    return _foreign(status, body)


def _foreign(status: int, body: bytes) -> ApiError:
    """An error that Danlu did not write. Pages of HTML are of no use in a terminal."""
    text = body[:300].decode("utf-8", "replace").strip()
    shown = f"HTTP {status}" if not text or text.startswith(("<", "{", "[")) else text
    if status == 429 or status >= 500:  # a proxy whose server is away says so
        return _kind(status)(
            status,
            f"http_{status}",
            f"This does not look like a Danlu server: {shown}. Something else is at this address, "
            "or a proxy in front of the server answered",
            f"对方不像是 Danlu 服务：{shown}。该地址上是别的程序，或是服务前面的代理作了回答",
        )
    return NotDanlu(
        status,
        "not_danlu",
        f"Not a Danlu server: {shown}. Check the address",
        f"对方不是 Danlu 服务：{shown}。请检查地址",
    )
