"""Server addresses, and connecting to them."""

from __future__ import annotations

import _socket

from danlu.sdk.errors import BadAddress, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Address:
    """A server address: http://host:port, https://host, or unix:/path/of/socket."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tls = False
        self.path = ""  # path of a Unix socket
        self.base = ""  # prefix of every request's path
        scheme, found, rest = text.partition("://")
        if text.startswith("unix:"):
            self.path = text[5:].removeprefix("//")
            self.host, self.port, self.name = "localhost", 0, "localhost"
            if not self.path:
                raise BadAddress(text)
            return
        if not found:
            scheme, rest = "http", text
        if scheme not in ("http", "https"):
            raise BadAddress(text)
        self.tls = scheme == "https"
        place, slash, base = rest.partition("/")
        self.base = (slash + base).rstrip("/")
        self.host, self.port = _host_and_port(text, place, 443 if self.tls else 80)
        self.name = place

    def connect(self, timeout: float | None) -> _socket.socket:
        try:
            return self._connect(timeout)
        except OSError as error:
            raise Unreachable(self.text, cause(error)) from None

    def _connect(self, timeout: float | None) -> _socket.socket:
        if self.path:
            return _dial(_socket.AF_UNIX, self.path, timeout)
        failure: OSError | None = None
        for family, place in self._places():
            try:
                link = _dial(family, place, timeout)
            except OSError as error:
                failure = error
                continue
            link.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return link
        raise failure or OSError("no address found")

    def _places(self) -> list[tuple[int, Any]]:
        # A literal address needs no resolver, and passing the name as bytes saves importing
        # Python's IDNA codec.
        if ":" in self.host:
            return [(_socket.AF_INET6, (self.host, self.port))]
        if self.host.replace(".", "").isdigit():
            return [(_socket.AF_INET, (self.host, self.port))]
        try:
            name = self.host.encode("ascii" if self.host.isascii() else "idna")
        except UnicodeError:
            raise OSError("not a host name") from None
        found = _socket.getaddrinfo(name, self.port, 0, _socket.SOCK_STREAM)
        return [(entry[0], entry[4]) for entry in found]


def _host_and_port(text: str, place: str, default: int) -> tuple[str, int]:
    host, port = place, ""
    if place.startswith("["):
        host, _, after = place[1:].partition("]")
        if after and not after.startswith(":"):
            raise BadAddress(text)
        port = after[1:]
    elif ":" in place:
        host, _, port = place.rpartition(":")
    fits = not port or (port.isascii() and port.isdigit() and 0 < int(port) < 65536)
    if not host or not fits or "@" in host or not host.isprintable() or " " in host:
        raise BadAddress(text)
    return host, int(port or default)


def _dial(family: int, place: Any, timeout: float | None) -> _socket.socket:
    link = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        link.settimeout(timeout)
        link.connect(place)
    except BaseException:
        link.close()
        raise
    return link


def cause(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
