"""A keeper whose task runs in a container.

Docker or Podman make the container and hold it open; the keeper enters it and starts the command
there as it starts any command. So output comes through the keeper's own pipes, byte for byte,
whether the daemon is there or not; the exit status is the kernel's; and nothing but the command
itself has to be in the image.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from danlu.engines.local.container.account import add_account
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.enter import Container
from danlu.engines.local.container.wire import Away, Failed
from danlu.engines.local.keeper import inputs, linux, record
from danlu.engines.local.keeper.keeper import Keeper

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_END_PATIENCE = 10.0  # a process in an uninterruptible call may need this long


class ContainerKeeper(Keeper):
    _container: Container | None = None
    _over = False  # we ended it
    _ended_outside = False

    # -- before the command -------------------------------------------------------------------

    def _prepare(self) -> None:
        task = self._task
        self._inputs = inputs.Inputs(self._folder, task)
        wanted: dict[str, Any] = task["container"]
        sources = [(mount, _open(mount)) for mount in task["mounts"]]
        container, image_env = self._make(wanted)
        self._container = self._group = container  # type: ignore[assignment]
        self._note_group(container.memory_folder)
        self._translate(container)
        container.join()
        for mount, source in sources:
            _check(mount, source)
        if task["uid"] is not None:
            add_account(task["uid"], task["gid"], wanted["user"], wanted["groups"])
        task["processes"] = [_merged(image_env, env) for env in task["processes"]]
        linux.hide_memory()

    def _make(self, wanted: dict[str, Any]) -> tuple[Container, dict[str, str]]:
        daemon = Daemon(wanted["kind"], wanted["socket"])
        name = wanted["name"]
        try:
            _create(daemon, wanted)
            daemon.start(name)
            found = daemon.look(name)
            pid = int(found["State"]["Pid"])
            if not pid:
                raise OSError("the container ended at once")
            return Container(pid, name), _env(found)
        except (Away, Failed, OSError) as error:
            with contextlib.suppress(Away, Failed):
                daemon.remove(name)
            raise OSError(f"{wanted['kind']}: {error}") from error
        finally:
            daemon.close()

    def _note_group(self, folder: str) -> None:
        """Where the server finds out how much memory it uses."""
        claim = record.read(self._record, record.CLAIM)
        if claim is not None and folder:
            with contextlib.suppress(OSError):
                record.write(self._record, record.CLAIM, claim | {"measured": [folder]})

    def _translate(self, container: Container) -> None:
        """Users of the machine to users of the container: files must belong to the same ones."""
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
                # Their end lets the container end: it waits for all that is inside.
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

    def _has_own_shm(self) -> bool:
        return self._container is not None

    def _finish(self) -> None:
        self._ooms = self._container.oom_kills() if self._container is not None else 0
        killed = self._result == -signal.SIGKILL
        if killed and self._container is not None and not self._over:
            self._ended_outside = not self._container.takes_processes()
        super()._finish()

    def _status(self, ooms: int) -> dict[str, Any]:
        status = super()._status(self._ooms)
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


def _open(mount: dict[str, Any]) -> int:
    try:
        return linux.open_without_links(mount["source"])
    except OSError as error:
        why = {2: "does not exist on this node", 40: "is, or is below, a symbolic link"}
        what = why.get(error.errno or 0, error.strerror)
        raise OSError(f"volume {mount['name']}: {mount['source']} {what}") from error


def _check(mount: dict[str, Any], source: int) -> None:
    """Is it what was meant? Somebody may have put a link in its place in the meantime."""
    meant, there = os.fstat(source), os.stat(mount["target"])
    os.close(source)
    if (meant.st_dev, meant.st_ino) != (there.st_dev, there.st_ino):
        raise OSError(f"volume {mount['name']}: {mount['source']} was changed while it started")
    if mount["read_only"]:  # older runtimes leave what is mounted below it writable
        linux.make_read_only(mount["target"])


def _env(found: dict[str, Any]) -> dict[str, str]:
    """What the image sets."""
    pairs = (entry.partition("=") for entry in found["Config"].get("Env") or ())
    return {name: value for name, _, value in pairs}


def _merged(image: dict[str, str], env: dict[str, str]) -> dict[str, str]:
    """The image knows best where its programs are; all else is the task's."""
    merged = {"PATH": _PATH} | image | env
    if "SHELL" not in env:
        merged["SHELL"] = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return merged
