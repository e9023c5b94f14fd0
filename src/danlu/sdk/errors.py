"""What can go wrong between a client and its server."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BadAddress(ValueError):
    """The server's address cannot be read."""


class NoServer(Exception):
    """No server is named anywhere."""


class Unreachable(OSError):
    """No connection could be made: nothing was sent."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")
        self.where = where
        self.cause = cause


class Lost(OSError):
    """The connection ended before the answer was whole: the request may have been carried out."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")
        self.where = where
        self.cause = cause


class ProtocolError(Exception):
    """Something answered that does not speak as a Danlu server does."""


class ApiError(Exception):
    """The server understood the request and refused it, or failed."""

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

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in (429, 502, 503, 504)


class NotSignedIn(ApiError):
    """No token, or one that is not valid (any more)."""


class NotAllowed(ApiError):
    """Known, but not allowed to do this."""


class NotFound(ApiError):
    """There is no such thing, or it is not to be seen."""


class Conflict(ApiError):
    """Not possible in its present state."""


class Invalid(ApiError):
    """The request or the job is wrong; `details` name each mistake."""


class TooMany(ApiError):
    """Asked too often; a little later it is answered again."""


class ServerTrouble(ApiError):
    """The server failed, or something it needs is away."""


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
    text = body[:300].decode("utf-8", "replace").strip()
    return _kind(status)(status, f"http_{status}", text or f"HTTP {status}")
