"""Docker, Podman and images for tests; what is missing is said as for every part."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support import daemons
from tests.support.daemons import (
    BUSYBOX,
    IMAGE,
    ContainerDaemon,
    DockerDaemon,
    PodmanDaemon,
    bare_image,
    host_programs,
)
from tests.support.parts import missing, need

__all__ = [
    "BUSYBOX",
    "IMAGE",
    "ContainerDaemon",
    "bare_image",
    "busybox_image",
    "docker",
    "host_programs",
    "podman",
    "rootless_podman",
]


def docker(*options: str) -> DockerDaemon:
    _need_root("Docker")
    need("dockerd", "docker.io")
    return DockerDaemon(*options)


def podman(plain_http: str = "") -> PodmanDaemon:
    """`plain_http`: a registry that speaks no TLS."""
    _need_root("Podman")
    need("podman")
    need("runc")
    daemon = PodmanDaemon()
    config = daemon.folder / "registries.conf"
    config.write_text(f'[[registry]]\nlocation = "{plain_http}"\ninsecure = true\n')
    if plain_http:
        daemon.env["CONTAINERS_REGISTRIES_CONF"] = str(config)
    return daemon


def _need_root(what: str) -> None:
    if os.geteuid() != 0:
        missing(f"{what} for tests", "run them as root")


def rootless_podman(user: int) -> ContainerDaemon:
    _need_root("Podman as another user")
    need("podman")
    need("runc")
    return daemons.RootlessPodman(user)


def busybox_image() -> bytes:
    return daemons.busybox_image(Path(need("busybox", "busybox-static")))
