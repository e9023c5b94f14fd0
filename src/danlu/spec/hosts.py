"""Host names as clients write them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names this server answers to."""

    names: frozenset[str] = frozenset()
    always: bool = False  # listed by the admin, so clients with a token must use them too
    tls: bool = False  # the certificate only covers certain names, so no other can point here

    def known(self, host: str) -> bool:
        """`host`: with or without a port. IP addresses cannot be rebound, so they are known."""
        name = bare(host)
        if name in self.names or name == "localhost" or name.endswith(".localhost"):
            return True
        return _address(name) is not None


def bare(host: str) -> str:
    return without_port(host).lower().rstrip(".")


def without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and ":" not in name else host


def is_loopback(host: str) -> bool:
    """Whether what is sent there stays on the client's machine."""
    name = bare(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
