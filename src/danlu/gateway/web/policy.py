"""What a request has to be like before anybody looks at who sends it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from danlu.gateway.web.heads import Request
from danlu.gateway.web.pages import Page
from danlu.gateway.web.settings import WebSettings
from danlu.spec.hosts import is_loopback, without_port
from danlu.spec.text import Text

OWN = "/.danlu/"
ENTER = "/.danlu/enter"
STRIP = "/.danlu/strip"
SAVE = "/.danlu/save"
_ELSEWHERE = (b"cross-site", b"same-site")
_LONGEST_TICKET = 200


def host_of(request: Request) -> str:
    return (request.one(b"host") or b"").decode("latin-1")


def path_of(request: Request) -> str:
    return request.target.partition("?")[0]


def ticket_of(request: Request) -> str:
    return asked_of(request, "ticket")[:_LONGEST_TICKET]


def asked_of(request: Request, name: str) -> str:
    """A value of the query."""
    values = parse_qs(request.target.partition("?")[2], max_num_fields=10)
    return values.get(name, [""])[0]


def unknown_host(request: Request, settings: WebSettings) -> Page | None:
    """A name that somebody else owns could be made to point here (DNS rebinding)."""
    host = host_of(request)
    if settings.known(host):
        return None
    name = without_port(host)[:100]
    return Page(
        421,
        Text(
            f"Unknown host name {name!r}. If this server has that name, list it in hosts under "
            "[server] in danlu.toml",
            f"服务器不认识域名 {name!r}。如果这是它的域名，请把它写入 danlu.toml 中 [server] 的 "
            "hosts",
        ),
    )


def must_encrypt(request: Request, encrypted: bool) -> bool:
    return not encrypted and not is_loopback(host_of(request))


def foreign(request: Request, encrypted: bool) -> bool:
    """Whether a page of another origin makes the browser send this. Other doors and the platform
    are other origins, though on the same host and therefore the same site."""
    origin = request.one(b"origin")
    if origin is not None and not _own(origin.decode("latin-1"), host_of(request), encrypted):
        return True
    if request.one(b"sec-fetch-site") not in _ELSEWHERE:
        return False
    framed = request.one(b"sec-fetch-dest") not in (None, b"document", b"empty")
    return framed or request.one(b"sec-fetch-mode") != b"navigate"


def _own(origin: str, host: str, encrypted: bool) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    scheme = "https" if encrypted else "http"
    return parts.scheme == scheme and parts.netloc.lower() == host.lower()


def registers_worker(request: Request) -> bool:
    """A script that would answer in place of this door, for all of its pages.

    It would outlive the job in the browser, and see the tickets of the next door on this port.
    """
    path = path_of(request)
    return request.one(b"service-worker") is not None and "/" not in path.lstrip("/").rstrip("/")


def wants_html(request: Request) -> bool:
    return b"text/html" in b",".join(request.all(b"accept")).lower()
