"""The keeper of a task that runs in an image, on a node of Slurm's."""

from __future__ import annotations

import json
import os
import select
import tempfile

from danlu.engines.local.keeper import record
from danlu.engines.slurm.node import containers, nested
from danlu.engines.slurm.node.keeper import NodeKeeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import Any

_TERM = 15
_LOOK = 200  # milliseconds
_CLEANUP = "container-cleanup.json"
_SERVERS_OWN = ("/userhome", "/gdata")


def own_folders(task: dict[str, Any]) -> None:
    """The folders that Danlu makes for people may be on the server's own disk. Here their home is
    their own, and one that is nowhere else is at its usual place.
    """
    home = task["own_home"]
    mounts = []
    for mount in task["mounts"]:
        missing = mount["target"] in _SERVERS_OWN and not os.path.isdir(mount["source"])
        if missing and mount["target"] == "/userhome":
            mounts.append({**mount, "source": home})
        elif not missing:
            mounts.append(mount)
    if not any(mount["target"] == "/userhome" for mount in mounts) and home != "/":
        mounts.append({"name": "home", "source": home, "target": home, "read_only": False})
    task["mounts"] = mounts


def clean_up_after(sockets: str) -> None:
    """Removes what a keeper that was killed left behind."""
    try:
        with open(f"{sockets}/{_CLEANUP}", encoding="utf-8") as file:
            left = json.load(file)
    except (OSError, ValueError):
        return
    for words in left["commands"]:
        containers.run_to_end(words, left["env"])


class ContainerKeeper(NodeKeeper):
    _container: containers.Container | None = None

    def run(self) -> None:
        try:
            ready = self._fetch()
        except containers.NoContainer as error:
            self._logs[0].note(f"{error.detail} ({self._task['node']})")
            self._write_status({"code": 125, "hint": error.hint, "detail": error.detail})
            return
        if not ready:
            self._write_status({"signal": _TERM})
            return
        super().run()

    def _fetch(self) -> bool:
        """Gets the image to this node. False: it was stopped meanwhile."""
        task = self._task
        gpus = [int(word) for word in task["claims"]["gpus"].split(",") if word]
        container = self._container = containers.make(task, self._container_name(), gpus)
        words = container.fetch()
        if words is None:
            return True
        self._logs[0].note(
            f"pulling {container.image} on {task['node']}. 正在拉取 {container.image}"
        )
        with tempfile.TemporaryFile() as said:
            process = container.client(words, said)
            if not self._wait_for(process):
                process.kill()
                process.wait()
                return False
            said.seek(0)
            text = said.read(1 << 16).decode(errors="replace")
        if process.returncode != 0:
            raise containers.why_not(container.image, text)
        return True

    def _wait_for(self, process: subprocess.Popen[bytes]) -> bool:
        """False: a stop order, or Slurm's signal, came first."""
        ended = os.pidfd_open(process.pid)
        poll = select.poll()
        for fd in (ended, self._woken):
            poll.register(fd, select.POLLIN)
        try:
            while process.poll() is None:
                ready = dict(poll.poll(_LOOK))
                if self._woken in ready and _TERM in os.read(self._woken, 4096):
                    if self._asked or record.read(self._record, record.ORDER) is not None:
                        return False
                    self._asked = True
            return True
        finally:
            os.close(ended)

    def _container_name(self) -> str:
        return f"danlu-{os.path.basename(self._folder)}-{self._task['index']}"

    def _start(self) -> None:
        container, task = self._container, self._task
        assert container is not None
        task["own_run"] = self._own_folder
        task["mounts"] = nested.spread(task["mounts"])
        with open(f"{task['sockets']}/{_CLEANUP}", "w", encoding="utf-8") as file:
            json.dump(container.cleanup(len(task["processes"])), file)
        task["in_container"] = container
        container.main = True
        try:
            super()._start()
        finally:
            container.main = False

    def _end_tree(self, until: list[int] | None = None) -> None:
        super()._end_tree(until)
        if self._container is not None:
            self._container.remove()
