"""One task on its compute node: reads what it is to do, meets its peers, runs it, keeps its door.

The batch script has claimed the attempt before; a second submission of it never gets here.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from danlu.engines.local.keeper import birth, linux, record, tree
from danlu.engines.local.keeper.points import Kept
from danlu.engines.slurm.node import door, places
from danlu.engines.slurm.node.keeper import NOTHING_FOUND, NodeKeeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_KEPT_FROM_SLURM = ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES",
                    "ZE_AFFINITY_MASK", "TMPDIR", "HOSTNAME", "KRB5CCNAME")  # fmt: skip
_SERVERS_OWN = ("/userhome", "/gdata")


def main(folder: str, *adopted: str) -> NoReturn:
    if adopted:
        from danlu.engines.slurm.node.adopting import take_over

        take_over(folder, *adopted)
    index = int(os.environ.get("SLURM_PROCID", "0")) if "SLURM_STEP_ID" in os.environ else 0
    task = read(folder, index)
    listener = open_door(task)
    sockets = task["sockets"]
    linux.adopt_orphans()  # if the keeper is killed, what it leaves behind comes here
    child = os.fork()
    if child == 0:
        listener.close()
        _keep(folder, task)
    status = door.Door(listener, child, sockets, index, task["token"]).run()
    if "image_run" in task:
        from danlu.engines.slurm.node.container_keeper import clean_up_after

        clean_up_after(sockets)
    tree.end(False, [])
    record.remove(sockets)
    os._exit(status)


def open_door(task: dict[str, Any]) -> socket.socket:
    listener = door.listen()
    task["claims"] = {"port": listener.getsockname()[1], "host": socket.gethostname()}
    task["sockets"] = door.make_folder()
    return listener


def read(folder: str, index: int) -> dict[str, Any]:
    """What the server wrote. The secrets are gone afterwards, before anybody can ask for them."""
    with open(f"{folder}/{index}.task", encoding="utf-8") as file:
        task: dict[str, Any] = json.load(file)
    secrets: dict[str, str] = {}
    path = f"{folder}/{index}.secrets"
    try:
        with open(path, encoding="utf-8") as file:
            secrets = json.load(file)
        os.unlink(path)
    except FileNotFoundError:
        pass
    task["secrets"] = secrets
    return task


def _keep(folder: str, task: dict[str, Any]) -> NoReturn:
    code = NOTHING_FOUND
    try:
        linux.end_with_parent(int(signal.SIGTERM))
        os.umask(task["umask"])
        around = around_of(folder)
        start = birth.begin(around)
        dress(task, places.meet(folder, task))
        kind = NodeKeeper
        if "image_run" in task:
            from danlu.engines.slurm.node.container_keeper import ContainerKeeper, own_folders

            own_folders(task)
            kind = ContainerKeeper
        else:
            _without_servers_folders(task)
        logs = [open_log(path) for path in task["logs"]]
        mine = kind(around, folder, task, logs, start)
        code = mine.keep(code)
    except BaseException as error:
        os.write(said(folder, task), f"danlu: {error!r}\n".encode())
    finally:
        os._exit(code)


def around_of(folder: str) -> birth.Around:
    data = os.path.dirname(os.path.dirname(folder))
    return birth.Around(data, [], linux.boot_id(), False, None, Kept([], []), [])


def said(folder: str, task: dict[str, Any]) -> int:
    """Where the server looks for why nothing was claimed."""
    path = f"{folder}/{task['index']}.said"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def dress(task: dict[str, Any], where: places.Where) -> None:
    """The variables of each process: Slurm's, then ours, then the user's own."""
    slurms = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("SLURM", "PMI", "OMPI_")) or name in _KEPT_FROM_SLURM
    }
    # What our own batch script asked for; a user's script would take it for its own wish, and
    # its first process for all GPUs.
    slurms.pop("SLURM_GPUS_PER_TASK", None)
    slurms.setdefault("CUDA_VISIBLE_DEVICES", "")
    own = task["secrets"]
    task["processes"] = [
        slurms | {name: where.fill(value) for name, value in env.items()} | own
        for env in task["processes"]
    ]
    task["claims"].update(where.claims)
    task["node"] = where.node
    task.pop("secrets")


def _without_servers_folders(task: dict[str, Any]) -> None:
    """The folders that Danlu makes for people may be on the server's own disk. Here they have
    their own home; a volume somebody asked for is another matter, see NodeKeeper.run.
    """
    own = {mount["source"] for mount in task["mounts"] if mount["target"] in _SERVERS_OWN}
    missing = {source for source in own if not os.path.isdir(source)}
    task["mounts"] = [mount for mount in task["mounts"] if mount["source"] not in missing]
    for source in missing:
        for env in task["processes"]:
            for name in [name for name, value in env.items() if value == source]:
                env.pop(name)
            env.setdefault("HOME", task["own_home"])
        if f"{task['workdir']}/".startswith(f"{source}/"):
            task["workdir"] = task["own_home"] + task["workdir"][len(source) :]


def open_log(path: str) -> int:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    main(*sys.argv[1:])
