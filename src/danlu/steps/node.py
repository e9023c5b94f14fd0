"""A node of a batch job that waits for the script's srun and runs the tasks it sends."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import threading

from danlu.steps import frames
from danlu.steps.greeting import PATIENCE, welcome
from danlu.steps.rendezvous import announce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Specific to each task and node: never inherited from the script's node.
OWN = (
    *("DANLU_TASK", "DANLU_TASK_INDEX", "DANLU_ROLE_INDEX", "DANLU_NODE"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "SLURMD_NODENAME", "SLURM_NODEID"),
    *("SLURM_TOPOLOGY_ADDR", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"),
)


_MOST_STRANGERS = 64  # connections not yet authenticated


def node(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    index = int(os.environ.get("DANLU_TASK_INDEX", "0"))
    hosts = os.environ.get("DANLU_HOSTS", "").split(",")
    peers = os.environ.get("DANLU_PEERS", "").split(",")
    host = hosts[index] if index < len(hosts) else "127.0.0.1"
    port = int(peers[index].rpartition(":")[2] or 0) if index < len(peers) else 0
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, port))
        except OSError:
            door.bind((host, 0))
        door.listen(64)
        key = secrets.token_hex(32)
        announce(index, f"{host}:{door.getsockname()[1]}", key)
        print(f"node {index} ({os.environ.get('DANLU_NODE', '')}) waits for srun", flush=True)
        waiting = threading.BoundedSemaphore(_MOST_STRANGERS)
        while True:
            link, _ = door.accept()
            if not waiting.acquire(timeout=PATIENCE):
                link.close()  # too many silent clients: their connections time out
                continue
            threading.Thread(target=_serve, args=(link, key, waiting), daemon=True).start()


def _serve(link: socket.socket, key: str, waiting: threading.BoundedSemaphore) -> None:
    with link:
        try:
            known = welcome(link, key)
        finally:
            waiting.release()
        first = frames.receive(link) if known else None
        if first is None or first[0] != frames.ORDER:
            return
        Part(link, json.loads(first[2])["tasks"]).run()


class Part:
    """The tasks of one step that run on this node."""

    def __init__(self, link: socket.socket, tasks: list[dict[str, Any]]) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._tasks = tasks
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def run(self) -> None:
        watchers = [
            threading.Thread(target=self._one, args=(task,), daemon=True) for task in self._tasks
        ]
        for watcher in watchers:
            watcher.start()
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        for watcher in watchers:
            watcher.join()

    def _one(self, task: dict[str, Any]) -> None:
        number = int(task["task"])
        env = {**task["env"], **{name: os.environ[name] for name in OWN if name in os.environ}}
        env.update(task["own"])
        try:
            child = subprocess.Popen(
                task["words"],
                env=bound(env, task.get("gpus"), int(task["local"])),
                cwd=task["folder"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            self._say(frames.ERR, number, f"{task['words'][0]}: {error.strerror}\n".encode())
            self._say(frames.EXIT, number, b"127")
            return
        self._children[number] = child
        readers = [
            threading.Thread(target=self._read, args=(pipe, kind, number), daemon=True)
            for pipe, kind in ((child.stdout, frames.OUT), (child.stderr, frames.ERR))
        ]
        for reader in readers:
            reader.start()
        code = child.wait()
        for reader in readers:
            reader.join(1.0)
        self._say(frames.EXIT, number, str(code).encode())

    def _read(self, pipe: Any, kind: int, number: int) -> None:
        while True:
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                return
            self._say(kind, number, data)

    def _say(self, kind: int, number: int, data: bytes) -> None:
        with self._lock:
            try:
                frames.send(self._link, kind, number, data)
            except OSError:
                self._signal(signal.SIGKILL)  # srun is gone

    def _listen(self) -> None:
        while True:
            frame = frames.receive(self._link)
            if frame is None:
                self._signal(signal.SIGKILL)
                return
            if frame[0] == frames.SIGNAL:
                self._signal(int(frame[2]))

    def _signal(self, number: int) -> None:
        for child in list(self._children.values()):
            with contextlib.suppress(OSError):
                os.killpg(child.pid, number)


def bound(env: dict[str, str], gpus: int | None, local: int) -> dict[str, str]:
    """With --gpus-per-task each task gets its own GPUs."""
    if not gpus:
        return env
    every = [gpu for gpu in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    mine = ",".join(every[local * gpus : (local + 1) * gpus])
    return {**env, "CUDA_VISIBLE_DEVICES": mine, "SLURM_STEP_GPUS": mine}
