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
from danlu.steps.greeting import welcome
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
        door.listen(1024)
        key = secrets.token_hex(32)
        announce(index, f"{host}:{door.getsockname()[1]}", key)
        print(f"node {index} ({os.environ.get('DANLU_NODE', '')}) waits for srun", flush=True)
        strangers = Strangers()
        while True:
            link, _ = door.accept()
            strangers.add(link)
            threading.Thread(target=_serve, args=(link, key, strangers), daemon=True).start()


class Strangers:
    """Links that have not shown the key. The oldest makes room: whoever knows it is quick."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[socket.socket, None] = {}

    def add(self, link: socket.socket) -> None:
        with self._lock:
            if len(self._links) >= _MOST_STRANGERS:
                oldest = next(iter(self._links))
                del self._links[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread closes it
            self._links[link] = None

    def remove(self, link: socket.socket) -> bool:
        """False: it had to make room."""
        with self._lock:
            return self._links.pop(link, self) is None


def _serve(link: socket.socket, key: str, strangers: Strangers) -> None:
    with link:
        try:
            known = welcome(link, key, lambda: strangers.remove(link))
        finally:
            strangers.remove(link)
        if known:
            obey(link)


def obey(link: socket.socket) -> None:
    """Runs what the first frame orders. Anything else ends the connection."""
    first = frames.receive(link)
    tasks = _tasks(first[2]) if first is not None and first[0] == frames.ORDER else None
    if tasks is not None:
        Part(link, tasks).run()


def _tasks(order: bytes) -> list[dict[str, Any]] | None:
    """None: this is no order."""
    try:
        tasks = json.loads(order)["tasks"]
        fits = all(_fits(task) for task in tasks)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return tasks if fits and isinstance(tasks, list) else None


def _fits(task: dict[str, Any]) -> bool:
    words, folder, gpus = task["words"], task["folder"], task.get("gpus")
    pairs = [pair for env in (task["env"], task["own"]) for pair in env.items()]
    names = [name for name, _ in pairs]
    texts = [folder, *words, *(text for pair in pairs for text in pair)]
    return (
        isinstance(words, list)
        and bool(words)
        and all(isinstance(text, str) and "\0" not in text for text in texts)
        and all(name and "=" not in name for name in names)
        and all(type(task[key]) is int and 0 <= task[key] < 1 << 32 for key in ("task", "local"))
        and (gpus is None or type(gpus) is int)
    )


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
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            text = f"{task['words'][0]}: {why}\n"
            self._say(frames.ERR, number, text.encode(errors="replace"))
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
            if frame[0] == frames.SIGNAL and frame[2].isdigit() and len(frame[2]) < 3:
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
