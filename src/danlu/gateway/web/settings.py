"""What the gateway's web doors need to know of danlu.toml."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from danlu.spec.hosts import Hosts, bare


@dataclass(frozen=True, slots=True)
class WebSettings:
    host: str  # to listen on
    first: int  # port
    last: int
    domain: str = ""  # doors have names below it, all on the first port
    names: tuple[str, ...] = ()  # of this machine
    proxies: tuple[str, ...] = ()
    cert: str = ""  # files of the admin
    key: str = ""
    pages: str = ""  # scheme and port of the platform: http:8080

    def text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def hosts(self) -> Hosts:
        return Hosts(frozenset(self.names))

    def known(self, host: str) -> bool:
        below = bool(self.domain) and bare(host).endswith(f".{self.domain}")
        return below or self.hosts.known(host)

    def link(self, host: str) -> str:
        """To the platform, under the name by which somebody came here."""
        scheme, _, port = self.pages.partition(":")
        name = bare(host)
        if not port or (self.domain and name.endswith(f".{self.domain}")):
            return ""
        return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}/"


def read_settings(text: str) -> WebSettings | None:
    """None: no web doors."""
    if not text:
        return None
    values = json.loads(text)
    for key in ("names", "proxies"):
        values[key] = tuple(values[key])
    return WebSettings(**values)
