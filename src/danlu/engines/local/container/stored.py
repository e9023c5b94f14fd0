"""The images a runtime has, and how to take one away. For a thread."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.engines.api import StoredImage
from danlu.engines.local.container import refs
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.container.wire import Away, Failed

_PATIENCE = 60.0  # seconds
_NO_NAME = "<none>:<none>"


def folder_of(runtime: Runtime) -> str:
    """Where it keeps images. Raises Away, Failed."""
    daemon = Daemon(runtime.kind, runtime.socket, _PATIENCE)
    try:
        return str(daemon.info().get("DockerRootDir") or "")  # Podman's is its graphRoot
    finally:
        daemon.close()


def images_of(runtime: Runtime) -> tuple[StoredImage, ...]:
    """Raises Away, Failed."""
    daemon = Daemon(runtime.kind, runtime.socket, _PATIENCE)
    try:
        used = {_plain(each) for each in daemon.images_in_use()}
        return tuple(
            StoredImage(
                str(each["Id"]),
                tuple(_whole(name) for name in each.get("RepoTags") or () if name != _NO_NAME),
                int(each.get("Size") or 0),
                _plain(str(each["Id"])) in used,
            )
            for each in daemon.images()
        )
    finally:
        daemon.close()


def remove(runtime: Runtime, image: StoredImage, names: Sequence[str]) -> str:
    """Never by force: whoever else uses it keeps it. Empty: done; else why not."""
    daemon = Daemon(runtime.kind, runtime.socket, _PATIENCE)
    try:
        for name in names:
            found = daemon.image(name)
            if found is None or _plain(str(found["Id"])) != _plain(image.id):
                continue  # the name is another image's by now
            only = len(image.names) <= 1
            daemon.remove_image(image.id if only and runtime.kind == "docker" else name)
    except Failed as failure:
        return str(failure)
    except Away as trouble:
        return f"{runtime.kind} does not respond: {trouble}"
    finally:
        daemon.close()
    return ""


def _whole(name: str) -> str:
    """Docker leaves out what is usual: docker.io/library/."""
    try:
        return str(refs.parse(name))
    except refs.BadName:
        return name


def _plain(id: str) -> str:
    return id.removeprefix("sha256:")
