"""A keeper whose task runs in a container.

Docker or Podman creates the container; the keeper enters it and starts the command there like any
other. Output goes through the keeper's own pipes, byte for byte, even while the daemon is down; the
exit status comes from the kernel; and the image needs to contain nothing but the command.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from danlu.engines.local.container.account import add_account, check_accounts
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.enter import Container
from danlu.engines.local.container.layers import apply, finish, layers_of
from danlu.engines.local.container.libc import libc_is_old
from danlu.engines.local.container.links import BadLink, check_links
from danlu.engines.local.container.mounted import check_mounts, hand_over_run, view_of_container
from danlu.engines.local.container.wire import Away, Failed
from danlu.engines.local.keeper import inputs, linux, record
from danlu.engines.local.keeper.keeper import Keeper
from danlu.engines.local.keeper.points import open_source

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_END_PATIENCE = 10.0  # seconds; a process in an uninterruptible call may need this long


class ContainerKeeper(Keeper):
    _container: Container | None = None
    _over = False  # we ended it
    _ended_outside = False

    # -- before the command -------------------------------------------------------------------

    def _prepare(self) -> None:
        task = self._task
        self._inputs = inputs.Inputs(self._folder, task)
        wanted: dict[str, Any] = task["container"]
        layers = layers_of(task["mounts"])
        if layers:
            apply(layers, task)
        sources = [(mount, open_source(mount)) for mount in task["mounts"]]
        numbers = os.open("/proc/self/fd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        container, image_env = self._make(wanted, [layer.target for layer in layers])
        self._container = self._group = container  # type: ignore[assignment]
        self._note_group(container.memory_folder)
        self._translate(container)
        with container.devices_limited():
            container.join()
            self._view = view_of_container()
            finish(layers, numbers)  # before what they are in becomes read-only
            for mount, source in sources:
                _check(mount, source, numbers)
            hand_over_run(task["uid"], task["gid"])
            if task["uid"] is not None:
                add_account(numbers, task["uid"], task["gid"], wanted["user"], wanted["groups"])
        os.close(numbers)
        self._inputs.terminals = self._view.terminals
        ours = str(wanted.get("path", ""))
        if (aid := wanted.get("old_libc")) and libc_is_old():
            image_env = aid | image_env
        task["processes"] = [_merged(image_env, env, ours) for env in task["processes"]]
        linux.hide_memory()

    def _make(self, wanted: dict[str, Any], layered: list[str]) -> tuple[Container, dict[str, str]]:
        daemon = Daemon(wanted["kind"], wanted["socket"])
        name = wanted["name"]
        try:
            _create(daemon, wanted)
            targets = [mount["target"] for mount in self._task["mounts"]]
            check_links(daemon, wanted, [*layered, *targets])
            image = str(daemon.look(name)["Image"])
            check_accounts(daemon, name, image, [*layered, *targets], wanted["checked"])
            daemon.start(name)
            found = daemon.look(name)
            pid = int(found["State"]["Pid"])
            if not pid:
                raise OSError("the container ended at once")
            container = Container(pid, name)
            check_mounts(pid, targets, layered)
            return container, _env(found)
        except (Away, Failed, OSError) as error:
            with contextlib.suppress(Away, Failed):
                daemon.remove(name)
            if isinstance(error, BadLink):
                raise
            raise OSError(f"{wanted['kind']}: {error}") from error
        finally:
            daemon.close()

    def _note_group(self, folder: str) -> None:
        """Cgroups from which the server reads its memory usage."""
        claim = record.read(self._record, record.CLAIM)
        if claim is not None and folder:
            with contextlib.suppress(OSError):
                record.write(self._record, record.CLAIM, claim | {"measured": [folder]})

    def _translate(self, container: Container) -> None:
        """Maps the machine's users to the container's, so that files have the same owner."""
        if not container.own_users:
            return
        task = self._task
        uid = task["uid"] if task["uid"] is not None else os.getuid()
        gid = task["gid"] if task["gid"] is not None else os.getgid()
        task["uid"], task["gid"] = container.user(uid), container.group(gid)
        task["groups"] = []

    # -- the end ------------------------------------------------------------------------------

    def _end_tree(self, until: list[int] | None = None) -> None:
        container = self._container
        if container is None:
            return
        self._over = True
        container.end()
        limit = time.monotonic() + _END_PATIENCE
        while time.monotonic() < limit:
            try:
                # The container only ends after all of its processes have.
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid:
                if until is not None:
                    self._note_end(pid, status)
            else:
                time.sleep(0.001)
        container.wait(max(0.0, limit - time.monotonic()))
        self._running.clear()

    def _finish(self) -> None:
        killed = self._result == -signal.SIGKILL
        if killed and self._container is not None and not self._over:
            self._ended_outside = not self._container.takes_processes()
        super()._finish()

    def _status(self, ooms: int) -> dict[str, Any]:
        status = super()._status(ooms)
        if self._ended_outside and "signal" in status and self._failure is None:
            detail = f"its container was ended, not by Danlu ({self._task['container']['kind']})"
            status |= {"hint": "container_ended", "detail": detail}
        return status


def _create(daemon: Daemon, wanted: dict[str, Any]) -> None:
    *others, last = wanted["images"]
    field = "image" if daemon.kind == "podman" else "Image"
    for image in others:
        try:
            return daemon.create(wanted["name"], wanted["create"] | {field: image})
        except Failed as failure:
            if failure.status != 404 and "image not known" not in str(failure):  # Podman: 500
                raise
    daemon.create(wanted["name"], wanted["create"] | {field: last})
    return None


def _check(mount: dict[str, Any], source: int, numbers: int) -> None:
    """Checks that the source was not replaced by a link in the meantime."""
    mounted = linux.open_without_links(mount["target"])
    meant, there = os.fstat(source), os.fstat(mounted)
    os.close(source)
    if (meant.st_dev, meant.st_ino) != (there.st_dev, there.st_ino):
        raise OSError(
            f"volume {mount['name']}: {mount['source']} changed while the task was starting"
        )
    # Older runtimes leave mounts below it writable.
    linux.restrict(mounted, read_only=bool(mount["read_only"]), numbers=numbers)
    os.close(mounted)


def _env(found: dict[str, Any]) -> dict[str, str]:
    """The variables set by the image."""
    pairs = (entry.partition("=") for entry in found["Config"].get("Env") or ())
    return {name: value for name, _, value in pairs}


def _merged(image: dict[str, str], env: dict[str, str], ours: str) -> dict[str, str]:
    """The task's variables override the image's; PATH is the image's unless the job sets it.

    `ours`: a folder of programs for what the image lacks.
    """
    merged = {"PATH": _PATH} | image | env
    if ours:
        merged["PATH"] += f":{ours}"
    if "SHELL" not in env:
        shells = ("/bin/bash", "/bin/sh", *([f"{ours}/bash"] if ours else []))
        merged["SHELL"] = next((path for path in shells if os.path.exists(path)), "/bin/sh")
    return merged
