"""The addresses the server listens on."""

from __future__ import annotations

import errno
import socket

from danlu.server.settings import DEFAULT_PORT, Address, ConfigError

_TRIES = 100


def listen(addresses: tuple[Address, ...]) -> list[socket.socket]:
    return [_listen(address) for address in addresses]


def _listen(address: Address) -> socket.socket:
    if address.port is not None:
        return _bind(address.host, address.port)
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _TRIES):
        try:
            return _bind(address.host, port)
        except PortTaken:
            continue
    return _bind(address.host, 0)


class PortTaken(ConfigError):
    pass


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        # A restarted server takes its address back at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        kind = PortTaken if error.errno == errno.EADDRINUSE else ConfigError
        raise kind(
            f"Cannot listen on {host}:{port}: {error.strerror}. Choose another with --port",
            f"无法监听 {host}:{port}：{error.strerror}。可用 --port 指定其他端口",
        ) from None
    return listener


def url_of(listener: socket.socket, tls: bool) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{port}"
