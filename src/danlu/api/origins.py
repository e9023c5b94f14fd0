"""Checks the origin and host name of browser requests.

Pages of other sites can make a browser send requests here (CSRF), and an attacker's host name can
point here (DNS rebinding). Clients that send a token are safe from both, since other sites have
none.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from danlu.api.problems import ApiProblem, answer
from danlu.services.services import Services
from danlu.spec.hosts import Hosts, without_port
from danlu.spec.text import Text


def hosts(listen: Iterable[str], named: Iterable[str], tls: bool) -> Hosts:
    """The machine's names, those it listens on and those in danlu.toml."""
    machine = socket.gethostname().lower()
    own = {machine, machine.partition(".")[0]}
    own |= {f"{name}.local" for name in own}
    listed = {name.lower().rstrip(".") for name in named}
    return Hosts(frozenset({*own, *(name.lower() for name in listen), *listed}), bool(listed), tls)


class KnownHost:
    """Rejects requests for host names the admin did not list."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            host = next((value for name, value in scope["headers"] if name == b"host"), b"")
            shown = host.decode("latin-1")
            if shown and not self._hosts.known(shown):
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 4421, "reason": "unknown host"})
                else:
                    await answer(unknown_host(shown))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def check_browser(connection: HTTPConnection) -> None:
    """Call before trusting what a browser sends by itself (cookie, form). Raises ApiProblem.

    Other clients send neither Origin nor Sec-Fetch-Site and pass.
    """
    asked = asked_host(connection)
    known: Hosts = connection.app.state.hosts
    origin = connection.headers.get("origin")
    if not (known.tls or known.known(asked)):
        raise unknown_host(asked)
    if origin is not None and not _same(origin, asked, encrypted(connection)):
        raise _cross_site(origin, asked)
    site = connection.headers.get("sec-fetch-site", "none")
    navigates = connection.headers.get("sec-fetch-mode") == "navigate"
    if site in ("cross-site", "same-site") and not navigates:
        raise _cross_site(origin or site, asked)


def encrypted(connection: HTTPConnection) -> bool:
    """Whether the browser uses TLS, directly or to a trusted proxy."""
    if connection.url.scheme in ("https", "wss"):
        return True
    return _proxied(connection) and connection.headers.get("x-forwarded-proto") == "https"


def asked_host(connection: HTTPConnection) -> str:
    """The requested host."""
    forwarded = connection.headers.get("x-forwarded-host") if _proxied(connection) else None
    return (forwarded or connection.headers.get("host", "")).strip()[:300]


def _proxied(connection: HTTPConnection) -> bool:
    found = connection.app.state.services
    peer = connection.client.host if connection.client else ""
    return isinstance(found, Services) and peer in found.proxies


def _same(origin: str, host: str, encrypted: bool) -> bool:
    """Ports matter: another port on this host may belong to someone else's program."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme != "https" and (encrypted or parts.scheme != "http"):
        return False
    return bool(parts.netloc) and parts.netloc.lower() == host.lower()


def unknown_host(host: str) -> ApiProblem:
    name = without_port(host)[:100]
    return ApiProblem(
        421,
        "unknown_host",
        Text(
            f'Unknown host name {name!r}. If this server has that name, add hosts = ["{name}"] '
            "under [server] in danlu.toml and restart it, or use its IP address",
            f"服务器不认识域名 {name!r}。如果这是它的域名，请在 danlu.toml 的 [server] 下添加 "
            f'hosts = ["{name}"] 并重启；也可以改用 IP 地址访问',
        ),
    )


def _cross_site(origin: str, host: str) -> ApiProblem:
    return ApiProblem(
        403,
        "cross_site",
        Text(
            f"Pages from {origin[:100]!r} may not do this at {host[:100]!r}. If there is a proxy, "
            "let it pass the Host header, and list it in proxies under [server] in danlu.toml",
            f"来自 {origin[:100]!r} 的页面不能对 {host[:100]!r} 执行此操作。如果使用了反向代理，"
            "请让它转发 Host 请求头，并在 danlu.toml 的 [server] 下的 proxies 中填写它的地址",
        ),
    )
