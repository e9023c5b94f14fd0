"""The names under which clients know the platform's registry."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection

from danlu.spec.hosts import bare, is_loopback


class OwnHosts:
    """`names`: of this machine, without port. `addresses`: whole, as the admin wrote them."""

    def __init__(
        self,
        names: Collection[str] = (),
        addresses: Collection[str] = (),
        port: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._addresses = tuple(addresses)
        self._port = port

    @property
    def port(self) -> int | None:
        return self._port()

    @property
    def here(self) -> str:
        """On this machine itself, where Docker asks for no TLS."""
        return f"127.0.0.1:{self._port()}"

    def shown(self, asked: str) -> str:
        """To whoever has reached the pages at `asked`, perhaps with a port."""
        if self._addresses:
            return self._addresses[0]
        name = bare(asked) or "127.0.0.1"
        return f"[{name}]:{self._port()}" if ":" in name else f"{name}:{self._port()}"

    def owns(self, host: str) -> bool:
        """`host`: of an image's name."""
        host = host.lower()
        if host in self._addresses:
            return True
        port = self._port()
        if port is None or not host.endswith(f":{port}"):
            return False
        name = bare(host)
        return name in self._names or is_loopback(host) or _is_of_this_machine(name)


def _is_of_this_machine(name: str) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    if address.is_unspecified or address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))  # only an address of its own can be bound
    except OSError:
        return False
    return True
