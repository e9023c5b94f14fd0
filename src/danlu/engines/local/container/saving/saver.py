"""Saves the container of a task as an image.

With root and a native overlay, the changed files go straight into the registry: one pass, no copy
on the node, exact progress, and the container is not frozen. Otherwise the runtime commits it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from danlu.engines.api import (
    CannotSave,
    Saved,
    SaveEstimate,
    SaveOrder,
    SaveProgress,
    Unreachable,
)
from danlu.engines.local.container import holder, refs
from danlu.engines.local.container.daemon import ATTEMPT, LABEL
from danlu.engines.local.container.pulls import Layers
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.container.saving import documents, layer
from danlu.engines.local.container.saving.daemon import SavingDaemon
from danlu.engines.local.container.saving.registry import Sender
from danlu.engines.local.container.saving.upper import Elsewhere
from danlu.engines.local.container.wire import Away, Failed
from danlu.engines.local.keeper import linux
from danlu.engines.local.keeper.folders import RUN
from danlu.registry.client import Refused
from danlu.spec.text import Text

Progress = Callable[[SaveProgress], None]

_PATIENCE = 3600.0  # seconds; a commit of many gigabytes says nothing meanwhile
_LABELS = (LABEL, ATTEMPT, "danlu.job", "danlu.user")
_ACCOUNTS = ("etc/passwd", "etc/group")
_RUNTIMES_OWN = (
    *(".dockerenv", "run/.containerenv", "etc/hosts", "etc/hostname", "etc/resolv.conf"),
    *("etc/mtab", "dev/console", holder.INSIDE[1:], RUN[1:]),
)


class NotWanted(Exception):
    """Somebody has cancelled it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A container and the image it was made from, as the runtime tells them."""

    container: dict[str, Any]
    image: dict[str, Any]

    @property
    def upper(self) -> str:
        driver = self.container.get("GraphDriver") or {}
        if str(driver.get("Name", "")) not in ("overlay", "overlay2"):
            return ""
        return str((driver.get("Data") or {}).get("UpperDir") or "")

    def left_out(self, accounts: bool) -> frozenset[str]:
        """What the platform put there: mount points, and the entry for the task's user."""
        points = {str(mount["Destination"]).strip("/") for mount in self._mounts()}
        points |= {path.strip("/") for path in self._in_memory()}
        return frozenset({*points, *_RUNTIMES_OWN, *(() if accounts else _ACCOUNTS)})

    def _mounts(self) -> list[dict[str, Any]]:
        return [each for each in self.container.get("Mounts") or () if each.get("Destination")]

    def _in_memory(self) -> list[str]:
        """Podman tells of these apart from the others."""
        return list((self.container.get("HostConfig") or {}).get("Tmpfs") or ())


class Saver:
    """Blocking: for a thread. `cancel` may be called from another."""

    def __init__(self, runtime: Runtime, container: str) -> None:
        self._runtime = runtime
        self._container = container
        self._daemon = SavingDaemon(runtime.kind, runtime.socket, _PATIENCE)
        self._over = threading.Event()

    def cancel(self) -> None:
        self._over.set()
        self._daemon.wire.break_off()

    def close(self) -> None:
        self._daemon.close()

    def estimate(self) -> SaveEstimate:
        """Raises CannotSave and Unreachable."""
        with self._answers():
            found = self._look()
            storage = _storage(self._daemon)
            if self._reads(found):
                with contextlib.suppress(Elsewhere, FileNotFoundError), _opened(found) as top:
                    seen = layer.measure(top, found.left_out(False))
                    return SaveEstimate(seen.size, seen.files, 0, *storage)
            changed = self._daemon.changed_bytes(self._container)
            # Podman writes a commit twice before it is in place.
            copies = 3 if self._runtime.kind == "podman" else 1
            return SaveEstimate(changed, 0, copies, *storage)

    def save(self, order: SaveOrder, progress: Progress) -> Saved:
        """Raises CannotSave, Unreachable and NotWanted."""
        with self._answers():
            found = self._look()
            if order.store is None:
                return self._keep(found, order.name)
            with order.store.connect() as client:
                sender = Sender(order.store, client, self._check)
                if self._reads(found):
                    with contextlib.suppress(Elsewhere, FileNotFoundError):
                        return self._stream(found, order, sender, progress)
                return self._commit_and_push(found, sender, progress)

    # -- straight into the registry -----------------------------------------------------------

    def _reads(self, found: Found) -> bool:
        if os.geteuid() != 0 or self._runtime.rootless or not found.upper:
            return False
        return self._daemon.native_overlay()

    def _stream(self, found: Found, order: SaveOrder, sender: Sender, progress: Progress) -> Saved:
        left_out = found.left_out(order.accounts)
        with _opened(found) as top:
            total = layer.measure(top, left_out).size
            base = sender.base(self._daemon, found.image, _base_progress(progress))
            progress(SaveProgress(0, total))
            written = layer.Written()
            told = _part_of(total, progress)
            tar = layer.tar_of(top, left_out, told, order.most)
            sender.layer(layer.compressed(tar, written), written)
        config = documents.plain_config(found.image)
        made = documents.with_layer(
            base, config, written.diff_id, written.digest, written.size, order.author
        )
        saved = sender.finish(made, base.diff_ids)
        progress(SaveProgress(total, total))
        return saved

    # -- by the runtime -----------------------------------------------------------------------

    def _commit_and_push(self, found: Found, sender: Sender, progress: Progress) -> Saved:
        made = self._commit(found, "", "")
        try:
            image = self._image(made)
            diff_ids = list(image["RootFS"]["Layers"])
            base = sender.push(self._daemon, made, diff_ids, _base_progress(progress))
            config = documents.plain_config(found.image)
            below = list((found.image.get("RootFS") or {}).get("Layers") or ())
            return sender.finish(documents.with_config(base, config), below)
        finally:
            with contextlib.suppress(Away, Failed):
                self._daemon.remove_image(made)

    def _keep(self, found: Found, name: str) -> Saved:
        ref = refs.parse(name)
        id = self._commit(found, ref.repository, ref.tag)
        return Saved(id, 0, int(self._image(id).get("Size") or 0))

    def _commit(self, found: Found, repository: str, tag: str) -> str:
        self._check()
        config = documents.plain_config(found.image)
        labels = {**dict.fromkeys(_LABELS, ""), **(config.get("Labels") or {})}
        return self._daemon.commit(self._container, repository, tag, config | {"Labels": labels})

    # -- details ------------------------------------------------------------------------------

    def _look(self) -> Found:
        container = self._daemon.look(self._container)
        return Found(container, self._image(str(container["Image"])))

    def _image(self, id: str) -> dict[str, Any]:
        found = self._daemon.image(id)
        if found is None:
            raise CannotSave(
                Text(
                    "The image it was started from is no longer on the node, so it cannot be "
                    "saved on top of it",
                    "它所用的基础镜像已不在节点上，无法在其上保存",
                )
            )
        return found

    def _check(self) -> None:
        if self._over.is_set():
            raise NotWanted

    @contextlib.contextmanager
    def _answers(self) -> Iterator[None]:
        kind = self._runtime.kind
        try:
            yield
        except Away as error:
            self._check()
            raise Unreachable(f"{kind} does not respond: {error}") from None
        except Failed as failure:
            self._check()
            if failure.status == 404:
                raise gone() from None
            why = " ".join(str(failure).split())[:300]
            raise CannotSave(Text(f"{kind} refuses: {why}", f"{kind} 拒绝：{why}")) from None
        except Refused as no:
            self._check()
            if no.status == 0:
                raise Unreachable(str(no)) from None
            raise CannotSave(Text(f"The registry refuses: {no}", f"镜像仓库拒绝：{no}")) from None


def gone() -> CannotSave:
    return CannotSave(
        Text(
            "Its container is gone, and with it what was not in a volume",
            "它的容器已不存在，未放进存储卷的内容也随之消失",
        )
    )


@contextlib.contextmanager
def _opened(found: Found) -> Iterator[int]:
    """The runtime's own folder, in folders that are root's alone: the path has no links."""
    named = linux.open_without_links(os.path.realpath(found.upper))
    top = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=named)
    os.close(named)
    try:
        yield top
    finally:
        os.close(top)


def _storage(daemon: SavingDaemon) -> tuple[int | None, int, str]:
    """(free, size, path) of the disk with the runtime's images."""
    where = daemon.storage()
    try:
        disk = os.statvfs(where)
    except OSError:
        return None, 0, where
    return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, where


def _part_of(total: int, progress: Progress) -> Callable[[int], None]:
    return lambda done: progress(SaveProgress(done, total))


def _base_progress(progress: Progress) -> Callable[[dict[str, Any]], None]:
    layers = Layers("")

    def told(report: dict[str, Any]) -> None:
        layers.take(report)
        now = layers.progress()
        progress(SaveProgress(now.done, now.total, base=True))

    return told
