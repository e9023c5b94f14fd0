"""`srun` inside a batch job: starts a step's tasks on the job's nodes and waits for them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from danlu.steps import frames, warning
from danlu.steps.greeting import greet
from danlu.steps.layout import Layout, job_nodes, lay_out
from danlu.steps.main import Trouble
from danlu.steps.node import bound
from danlu.steps.options import Options, read
from danlu.steps.programs import Programs
from danlu.steps.rendezvous import PATIENCE, find
from danlu.steps.sinks import Sinks
from danlu.steps.times import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def srun(words: list[str]) -> int:
    options, command = read(words)
    if options.has("version"):
        print("danlu srun")
        return 0
    if not command:
        raise Trouble("no command given to run")
    layout = lay_out(options)
    env = _environment(options, layout)
    folder = options.get("chdir") or os.getcwd()
    if options.has("pty"):
        os.chdir(folder)
        own = {**env, **_own(layout, 0, 0, 0)}
        os.execvpe(command[0], command, own)  # noqa: S606
    return Step(options, layout, Programs(options, command), env, folder).run()


class Step:
    def __init__(
        self, options: Options, layout: Layout, programs: Programs, env: dict[str, str], folder: str
    ) -> None:
        self._options = options
        self._layout = layout
        self._programs = programs
        self._env = env
        self._folder = folder
        self._gpus = options.number("gpus-per-task") or _number(env.get("SLURM_GPUS_PER_TASK"))
        self._here = int(os.environ.get("DANLU_TASK_INDEX", "0"))
        self._sinks = Sinks(options, layout.tasks, env)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._links: list[socket.socket] = []
        self._codes: dict[int, int] = {}
        self._changed = threading.Condition()

    def run(self) -> int:
        for each in SIGNALS:
            signal.signal(each, lambda got, _: self._signal(got))
        self._arm()
        by_node: dict[int, list[tuple[int, int, int]]] = {}
        for task in self._layout.places():
            by_node.setdefault(self._layout.nodes[task[1]], []).append(task)
        for node, tasks in by_node.items():
            if node == self._here:
                for number, place, local in tasks:
                    self._start(number, place, local)
            else:
                self._send(node, tasks)
        self._wait()
        self._sinks.close()
        return max(_status(code) for code in self._codes.values())

    def _arm(self) -> None:
        limit = seconds(self._options.get("time") or "")
        wish = warning.read(self._options.get("signal") or "")
        if limit:
            warning.later(limit, signal.SIGTERM, self._signal)
        if limit and wish is not None:
            warning.later(limit - wish[2], wish[1], self._signal)
        else:
            warning.arm(False, self._signal)

    # -- on this node ---------------------------------------------------------------------------

    def _start(self, number: int, place: int, local: int) -> None:
        env = {**self._env, **_own(self._layout, number, place, local)}
        words = self._programs.words(number, local)
        out, err = self._sinks.of(number)
        first = number == 0 and self._options.get("input") != "none"
        try:
            child = subprocess.Popen(
                words,
                env=bound(env, self._gpus, local),
                cwd=self._folder,
                stdin=None if first else subprocess.DEVNULL,
                stdout=out.popen(),
                stderr=err.popen(),
            )
        except OSError as error:
            self._complain(f"task {number}: {words[0]}: {error.strerror}")
            self._ended(number, 127)
            return
        self._children[number] = child
        threading.Thread(target=self._watch, args=(number, child), daemon=True).start()

    def _watch(self, number: int, child: subprocess.Popen[bytes]) -> None:
        out, err = self._sinks.of(number)
        readers = []
        for pipe, sink in ((child.stdout, out), (child.stderr, err)):
            if pipe is not None:
                reader = threading.Thread(target=sink.drain, args=(pipe,), daemon=True)
                reader.start()
                readers.append(reader)
        code = child.wait()
        for reader in readers:
            reader.join(1.0)
        self._ended(number, code)

    # -- on the others --------------------------------------------------------------------------

    def _send(self, node: int, tasks: list[tuple[int, int, int]]) -> None:
        link = _reach(node)
        self._links.append(link)
        order: dict[str, Any] = {"tasks": []}
        for number, place, local in tasks:
            order["tasks"].append(
                {
                    "task": number,
                    "local": local,
                    "words": self._programs.words(number, local),
                    "env": self._env,
                    "own": _own(self._layout, number, place, local),
                    "folder": self._folder,
                    "gpus": self._gpus,
                }
            )
        frames.send(link, frames.ORDER, 0, json.dumps(order).encode())
        numbers = [number for number, _, _ in tasks]
        threading.Thread(target=self._follow, args=(link, node, numbers), daemon=True).start()

    def _follow(self, link: socket.socket, node: int, numbers: list[int]) -> None:
        open_tasks = set(numbers)
        while open_tasks:
            frame = frames.receive(link)
            if frame is None:
                name = job_nodes()[node]
                self._complain(f"{name}: connection lost; its tasks are gone")
                for number in open_tasks:
                    self._ended(number, 1)
                return
            kind, number, data = frame
            if kind == frames.EXIT:
                self._ended(number, int(data))
                open_tasks.discard(number)
            else:
                out, err = self._sinks.of(number)
                (out if kind == frames.OUT else err).write(data)

    # -- together -------------------------------------------------------------------------------

    def _ended(self, number: int, code: int) -> None:
        if code:
            what = f"Exited with exit code {code}" if code > 0 else f"Ended by signal {-code}"
            self._complain(f"task {number}: {what}")
        with self._changed:
            self._codes[number] = code
            self._changed.notify_all()
        if code and self._kills():
            self._signal(signal.SIGTERM)

    def _kills(self) -> bool:
        given = self._options.get("kill-on-bad-exit")
        if given is None:
            given = os.environ.get("SLURM_KILL_BAD_EXIT", "0")
        return given != "0"

    def _wait(self) -> None:
        with self._changed:
            while len(self._codes) < self._layout.tasks:
                # Without a timeout, signals would not be handled.
                self._changed.wait(1.0)

    def _signal(self, number: int) -> None:
        for child in list(self._children.values()):
            if child.poll() is None:
                child.send_signal(number)
        for link in self._links:
            with contextlib.suppress(OSError):
                frames.send(link, frames.SIGNAL, 0, str(int(number)).encode())

    def _complain(self, text: str) -> None:
        if not self._options.has("quiet"):
            sys.stderr.write(f"srun: error: {text}\n")
            sys.stderr.flush()


def _reach(node: int) -> socket.socket:
    """A link to a node that knows the key. A node with many callers may turn some away."""
    host, port, key = find(node)
    end = time.monotonic() + PATIENCE
    while True:
        link = socket.create_connection((host, port), timeout=30)
        if greet(link, key):
            return link
        link.close()
        if time.monotonic() > end:
            raise Trouble(f"node {node} of this job failed authentication at {host}:{port}")
        time.sleep(0.1)


def _environment(options: Options, layout: Layout) -> dict[str, str]:
    """Variables shared by all tasks of the step."""
    env = _exported(options.get("export"))
    names = job_nodes()
    used = ",".join(names[index] for index in layout.nodes)
    step = str(_next_step())
    counts = ",".join(str(count) for count in layout.counts)
    env.update(
        {
            "SLURM_STEP_ID": step,
            "SLURM_STEPID": step,
            "SLURM_NTASKS": str(layout.tasks),
            "SLURM_NPROCS": str(layout.tasks),
            "SLURM_STEP_NUM_TASKS": str(layout.tasks),
            "SLURM_STEP_NUM_NODES": str(len(layout.nodes)),
            "SLURM_STEP_NODELIST": used,
            "SLURM_STEP_TASKS_PER_NODE": counts,
            "SLURM_TASKS_PER_NODE": counts,
            "SLURM_NNODES": str(len(layout.nodes)),
            "SLURM_NODELIST": used,
            "SLURM_SRUN_COMM_HOST": env.get("SLURM_LAUNCH_NODE_IPADDR", ""),
        }
    )
    cpus = options.get("cpus-per-task")
    if cpus:
        env["SLURM_CPUS_PER_TASK"] = cpus
    return env


def _own(layout: Layout, number: int, place: int, local: int) -> dict[str, str]:
    """Variables of one task."""
    first = sum(layout.counts[:place])
    mine = range(first, first + layout.counts[place])
    node = layout.nodes[place]
    return {
        "SLURM_PROCID": str(number),
        "SLURM_LOCALID": str(local),
        "SLURM_NODEID": str(place),
        "SLURM_GTIDS": ",".join(map(str, mine)),
        "SLURMD_NODENAME": job_nodes()[node],
        "DANLU_TASK_INDEX": str(node),
    }


def _exported(text: str | None) -> dict[str, str]:
    env = dict(os.environ)
    for name in ("srun", "scontrol"):
        env.pop(f"BASH_FUNC_{name}%%", None)
    if text is None or text == "ALL":
        return env
    kept = {
        name: value
        for name, value in env.items()
        if name.startswith(("SLURM", "DANLU_", "CUDA_", "NVIDIA_")) or name in ("PATH", "HOME")
    }
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if part == "ALL":
            kept = {**env, **kept}
        elif equals:
            kept[name] = value
        elif name in env:
            kept[name] = env[name]
    return kept


def _next_step() -> int:
    """Steps count from 0 within a job; the counter is stored next to the nodes' addresses."""
    from danlu.steps.rendezvous import folder

    where = folder()
    try:
        os.makedirs(where, mode=0o700, exist_ok=True)
        for number in range(100_000):
            try:
                fd = os.open(
                    os.path.join(where, f"step.{number}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY
                )
            except FileExistsError:
                continue
            os.close(fd)
            return number
    except OSError:
        pass
    return 0


def _status(code: int) -> int:
    return 128 - code if code < 0 else code


def _number(text: str | None) -> int | None:
    plain = (text or "").rpartition(":")[2]
    return int(plain) if plain.isdigit() and int(plain) else None
