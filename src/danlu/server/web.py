"""What the gateway has to know for its web doors."""

from __future__ import annotations

from urllib.parse import urlsplit

from danlu.api.origins import hosts
from danlu.gateway.web.settings import WebSettings
from danlu.server.settings import ServerConfig
from danlu.spec.hosts import Hosts


def known_hosts(config: ServerConfig) -> Hosts:
    listens = [address.host for address in config.listen]
    return hosts(listens, config.hosts, config.tls_cert is not None)


def web_settings(config: ServerConfig, url: str) -> WebSettings | None:
    """`url`: of the pages. None: there are no web doors."""
    ports = config.web_ports
    if ports is None:
        return None
    pages = urlsplit(url)
    return WebSettings(
        ports.host,
        ports.first,
        ports.last,
        domain=config.web_domain.partition(":")[0],
        names=tuple(sorted(known_hosts(config).names)),
        proxies=tuple(sorted(config.proxies)),
        cert=str(config.tls_cert.absolute()) if config.tls_cert else "",
        key=str(config.tls_key.absolute()) if config.tls_key else "",
        pages=f"{pages.scheme}:{pages.port}",
    )
