"""The addresses the server listens on."""

from __future__ import annotations

import errno
import socket
import ssl
from pathlib import Path

from danlu.server.settings import DEFAULT_PORT, Address, ConfigError, ServerConfig
from danlu.spec.text import Text

_TRIES = 100


def listen(addresses: tuple[Address, ...]) -> list[socket.socket]:
    return [listen_on(address) for address in addresses]


def listen_on(address: Address, usual: int = DEFAULT_PORT) -> socket.socket:
    """`usual`: the first port to try if the address names none."""
    if address.port is not None:
        return _bind(address.host, address.port)
    for port in range(usual, usual + _TRIES):
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
        # A restarted server can bind its address again at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        kind = PortTaken if error.errno == errno.EADDRINUSE else ConfigError
        foreign = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        option, what = ("--host", "地址") if foreign else ("--port", "端口")
        raise kind(
            Text(
                f"Cannot listen on {host}:{port}: {error.strerror}. Choose another with {option}",
                f"无法监听 {host}:{port}：{error.strerror}。可用 {option} 指定其他{what}",
            ),
        ) from None
    return listener


def check_tls(config: ServerConfig) -> None:
    """Reports an unusable certificate before anything starts."""
    if config.tls_cert is None or config.tls_key is None:
        return
    for key, path in (("tls_cert", config.tls_cert), ("tls_key", config.tls_key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise ConfigError(
                Text(
                    f"server.{key}: cannot read {path}: {error.strerror}",
                    f"server.{key}：无法读取 {path}：{error.strerror}",
                ),
            ) from None
    try:
        tls_context(config.tls_cert, config.tls_key)
    except (ssl.SSLError, OSError) as error:
        pair = f"{config.tls_cert}, {config.tls_key}"
        raise ConfigError(
            Text(
                f"server.tls_cert and server.tls_key: not a PEM certificate and its key ({pair}): "
                f"{error}",
                f"server.tls_cert 和 tls_key：不是 PEM 格式的证书和对应的私钥（{pair}）：{error}",
            ),
        ) from None


def tls_context(cert: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def url_of(listener: socket.socket, tls: bool) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{port}"
