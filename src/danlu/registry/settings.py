"""How the registry is run: [registry] of danlu.toml, as its process is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from danlu.registry.names import Owner

GB = 1 << 30
PORT = 5000
LOCK, SOCKET, CONTENT, DATABASE = "lock", "control.sock", "content", "registry.db"


@dataclass(frozen=True, slots=True)
class Mirror:
    """An outside registry that is cached as hub/<name>/..."""

    name: str
    url: str  # http://host:port or https://host
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""  # where the server has it from


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    quota: int | None = 100 * GB  # of each user; None: no limit
    group_quota: int | None = 300 * GB
    users: dict[str, int] = field(default_factory=dict)  # other quotas
    groups: dict[str, int] = field(default_factory=dict)
    hub_size: int = 100 * GB
    free: int = 5 * GB  # of the disk, which pushes leave alone
    grace: float = 3600.0  # seconds that a blob without a manifest is kept
    untagged: float | None = 30 * 86400.0  # seconds without a pull; None: kept forever
    read_only: bool = False
    mirrors: tuple[Mirror, ...] = ()
    connections: int = 1000
    public: str = ""  # address as clients know it, where it is not what they ask for

    def quota_of(self, owner: Owner) -> int | None:
        if owner.kind == "user":
            return self.users.get(owner.name, self.quota)
        if owner.kind == "group":
            return self.groups.get(owner.name, self.group_quota)
        return None

    def text(self) -> str:
        """Without passwords: arguments of processes can be seen by everybody on the machine."""
        values = asdict(self)
        for mirror in values["mirrors"]:
            del mirror["password"]
        return json.dumps(values, sort_keys=True)

    def secret_text(self) -> str:
        return json.dumps(asdict(self))


def read_settings(text: str) -> RegistrySettings:
    values: dict[str, Any] = json.loads(text)
    values["mirrors"] = tuple(Mirror(**each) for each in values["mirrors"])
    return RegistrySettings(**values)
