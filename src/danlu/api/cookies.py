"""Browser sessions: the cookie and CSRF protection."""

from __future__ import annotations

import hmac
from hashlib import sha256

from starlette.requests import HTTPConnection
from starlette.responses import Response

from danlu.access.gate import BROWSER_SECONDS
from danlu.access.principal import Principal
from danlu.api.origins import check_browser, encrypted
from danlu.api.problems import ApiProblem
from danlu.services.services import Services
from danlu.spec.text import Text

CSRF_HEADER = "X-CSRF-Token"


def cookie_name(connection: HTTPConnection) -> str:
    """Unique per installation, since browsers send cookies to all ports of a host.

    With TLS, a prefix binds it to this host and to TLS.
    """
    prefix = "__Host-" if encrypted(connection) else ""
    found = connection.app.state.services
    assert isinstance(found, Services)
    return f"{prefix}danlu-{found.server.installation[:8]}"


def secret_of(connection: HTTPConnection) -> str:
    """The value of the cookie, or empty."""
    return connection.cookies.get(cookie_name(connection), "")


def csrf_of(secret: str) -> str:
    """The CSRF token: other sites can send the cookie, but cannot read this."""
    return hmac.new(secret.encode(), b"csrf", sha256).hexdigest()


async def visitor(connection: HTTPConnection, address: str) -> Principal | None:
    """The user of the session. Raises ApiProblem if the request may come from another site."""
    secret = secret_of(connection)
    if not secret:
        return None
    check_browser(connection)
    found = connection.app.state.services
    assert isinstance(found, Services)
    who = await found.gate.visitor(secret, address, encrypted(connection))
    method = connection.scope.get("method", "GET")
    if who is not None and method not in ("GET", "HEAD"):
        shown = connection.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(shown.encode(), csrf_of(secret).encode()):
            raise ApiProblem(
                403,
                "csrf",
                Text(
                    f"Send the csrf_token from GET /danlu/v1/session as {CSRF_HEADER}, or reload "
                    "the page",
                    f"请在 {CSRF_HEADER} 请求头中发送 GET /danlu/v1/session 返回的 csrf_token，"
                    "或刷新页面",
                ),
            )
    return who


def give(connection: HTTPConnection, response: Response, secret: str) -> None:
    # Strict: after following a link from elsewhere, the page's own requests send the cookie.
    response.set_cookie(
        cookie_name(connection),
        secret,
        max_age=int(BROWSER_SECONDS),
        path="/",
        secure=encrypted(connection),
        httponly=True,
        samesite="strict",
    )


def take_back(connection: HTTPConnection, response: Response) -> None:
    response.delete_cookie(
        cookie_name(connection),
        path="/",
        secure=encrypted(connection),
        httponly=True,
        samesite="strict",
    )
