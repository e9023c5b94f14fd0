"""A minimal HTTP/1.1 client over one socket.

The standard library's clients cost two to three times as much as starting Python; a command that
lists jobs should not.
"""

from __future__ import annotations

from danlu.sdk.address import Address, cause
from danlu.sdk.errors import Invalid, Lost, ProtocolError, Unreachable
from danlu.sdk.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import ssl
    from collections.abc import Callable, Mapping
    from typing import Any

RECEIVE = 256 * 1024
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~,/:")


def quote(text: str) -> str:
    """Percent-encodes a query value."""
    raw = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)


def segment(name: str) -> str:
    """A name as one path segment; names that would lead elsewhere are refused.

    Encoding a slash or two dots does not help: servers and proxies decode them before resolving the
    path. Raises Invalid.
    """
    if name in ("", ".", "..") or "/" in name:
        raise Invalid(
            422,
            "not_a_name",
            f"{name[:40]!r} is not a valid name; it must not be empty, contain '/', or be '.' or "
            "'..'",
            f"{name[:40]!r} 不是有效的名称；名称不能为空，不含 '/'，也不是 '.' 或 '..'",
        )
    return quote(name)


def target(path: str, query: Mapping[str, Any] | None = None) -> str:
    """Path and query; None is omitted, booleans are true and false, lists repeat their name."""
    parts = [
        f"{name}={quote(('true' if each else 'false') if isinstance(each, bool) else str(each))}"
        for name, value in (query or {}).items()
        for each in (value if isinstance(value, list) else (value,))
        if each is not None
    ]
    return f"{path}?{'&'.join(parts)}" if parts else path


class Connection:
    """A socket to the server, plain or TLS."""

    def __init__(self, address: Address, timeout: float | None, ca_file: str | None = None) -> None:
        self.address = address
        link = address.connect(timeout)
        self._link: _socket.socket = self._wrap(link, ca_file) if address.tls else link

    def _wrap(self, link: _socket.socket, ca_file: str | None) -> ssl.SSLSocket:
        import socket
        import ssl

        timeout = link.gettimeout()
        plain = socket.socket(fileno=link.detach())
        plain.settimeout(timeout)
        try:
            rules = ssl.create_default_context(cafile=ca_file)
            return rules.wrap_socket(plain, server_hostname=self.address.host)
        except OSError as error:
            plain.close()
            raise Unreachable(self.address.text, cause(error)) from None

    def fileno(self) -> int:
        return self._link.fileno()

    def set_timeout(self, timeout: float | None) -> None:
        self._link.settimeout(timeout)

    def send(self, data: bytes) -> None:
        try:
            self._link.sendall(data)
        except OSError as error:
            raise Lost(self.address.text, cause(error)) from None

    def send_some(self, data: bytes) -> int:
        """Sends what is accepted without blocking, possibly nothing."""
        timeout = self._link.gettimeout()
        self._link.settimeout(0)
        try:
            return self._link.send(data)
        except OSError as error:
            if isinstance(error, BlockingIOError) or type(error).__name__.startswith("SSLWant"):
                return 0
            raise Lost(self.address.text, cause(error)) from None
        finally:
            self._link.settimeout(timeout)

    def receive(self) -> bytes:
        """Available bytes; waits for at least one; b"" at the end."""
        try:
            data = self._link.recv(RECEIVE)
            # A TLS record may be decoded already while the socket looks idle to poll().
            while data and self.address.tls and self._link.pending():  # type: ignore[attr-defined]
                data += self._link.recv(RECEIVE)
        except OSError as error:
            raise Lost(self.address.text, cause(error)) from None
        return data

    def is_open(self) -> bool:
        """Whether the other side still has it; nothing may come that nobody has asked for."""
        timeout = self._link.gettimeout()
        try:
            self._link.settimeout(0)
            self._link.recv(1)
        except OSError as error:
            self._link.settimeout(timeout)
            return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"
        return False

    def close(self) -> None:
        self._link.close()


class Answer:
    """A complete response."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Wire:
    """Requests to one server over one kept-alive connection; streams get their own connections."""

    def __init__(
        self,
        server: str,
        token: str | None = None,
        timeout: float = 30.0,
        ca_file: str | None = None,
        agent: str = "danlu",
    ) -> None:
        self.address = Address(server)
        self.token = token
        self.timeout = timeout
        self.ca_file = ca_file
        self.on_disk_full: Callable[[str], None] | None = None  # gets the time, in seconds
        self.on_disk_low: Callable[[str, str], None] | None = None  # and the bytes left
        self.meanwhile: Callable[[], None] | None = None  # done once, while waiting for an answer
        self.language = ""  # zh or en, for the few answers in only one language
        self.demo = False  # whether the server said that its data is made up
        self._agent = agent
        self._kept: Connection | None = None

    def connect(self) -> Connection:
        return Connection(self.address, self.timeout, self.ca_file)

    def head(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> bytes:
        """The request line and headers, ready to send."""
        lines = [
            f"{method} {self.address.base}{path} HTTP/1.1",
            f"Host: {self.address.name}",
            f"User-Agent: {self._agent}",
        ]
        if self.language:
            lines.append(f"Accept-Language: {self.language}")
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        text = "\r\n".join(lines)
        if text.count("\n") != len(lines) - 1 or not text.isascii():
            raise ProtocolError("a header or path contains a character that HTTP does not allow")
        return (text + "\r\n\r\n").encode("ascii")

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
        repeatable: bool = True,
    ) -> Answer:
        """One request, one complete answer.

        A kept-alive connection that the server has closed is replaced. If it closes it just when
        the request is on its way, that is repeated once, where this is safe.
        """
        headers = {}
        if body is not None or method == "POST":
            headers = {"Content-Type": content_type, "Content-Length": str(len(body or b""))}
        message = self.head(method, path, headers) + (body or b"")
        kept, self._kept = self._kept, None
        if kept is not None and not kept.is_open():
            kept.close()
            kept = None
        if kept is not None:
            try:
                return self._exchange(kept, method, message, timeout)
            except Lost:
                kept.close()
                if not repeatable:
                    raise
        return self._exchange(self.connect(), method, message, timeout)

    def _exchange(
        self, link: Connection, method: str, message: bytes, timeout: float | None
    ) -> Answer:
        parser = Parser(method)
        parts: list[bytes] = []
        sent = True
        try:
            link.set_timeout(timeout or self.timeout)
            try:
                link.send(message)
            except Lost:
                # A server that refuses a large body answers and hangs up while we are still
                # sending.
                sent = False
            if self.meanwhile is not None:
                work, self.meanwhile = self.meanwhile, None
                work()
            while not parser.done:
                data = link.receive()
                if not data and not parser.feed_end():
                    raise Lost(self.address.text, "the connection ended before the answer")
                parts.append(parser.feed(data) if data else b"")
        except BaseException:
            link.close()
            raise
        self.demo = "danlu-demo" in parser.headers
        if sent and parser.keep_alive:
            self._kept = link
        else:
            link.close()
        full_since = parser.headers.get("x-danlu-disk-full-since")
        if full_since is not None and self.on_disk_full is not None:
            self.on_disk_full(full_since)
        low_since = parser.headers.get("x-danlu-disk-low-since")
        if low_since is not None and full_since is None and self.on_disk_low is not None:
            self.on_disk_low(low_since, parser.headers.get("x-danlu-disk-free", "0"))
        return Answer(parser.status, parser.headers, b"".join(parts))

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None
