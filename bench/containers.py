"""How long a short job in a container takes, against plain `docker run` and `podman run`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.support.daemons import (
    BUSYBOX,
    ContainerDaemon,
    DockerDaemon,
    PodmanDaemon,
    busybox_image,
)

from bench.measure import Options, in_turns, median, note, timed
from bench.server import DANLU, Danlu
from bench.table import Goal, Row

# Podman's default limits exceed what some machines allow; Danlu's containers use these too.
_LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
_PROGRAMS = {
    "docker": ("dockerd", "docker.io"),
    "podman": ("podman", "podman runc"),
    "busybox": ("busybox", "busybox-static"),
}


def rows(options: Options) -> Iterator[Row]:
    if os.geteuid() != 0:
        note("no container rows: run as root to start Docker and Podman")
        return
    for kind, daemon in (("docker", DockerDaemon), ("podman", PodmanDaemon)):
        lacking = [part for part in (kind, "busybox") if shutil.which(_PROGRAMS[part][0]) is None]
        if lacking:
            packages = " ".join(_PROGRAMS[part][1] for part in lacking)
            note(f"no {kind} row: apt-get install {packages}")
            continue
        yield _row(kind, daemon(), options)


def _row(kind: str, daemon: ContainerDaemon, options: Options) -> Row:
    with contextlib.ExitStack() as stack:
        stack.callback(daemon.remove)
        daemon.start()
        daemon.import_image(BUSYBOX, busybox_image(Path(shutil.which("busybox") or "")))
        config = f'[engine]\ncontainers = "{kind}"\ncontainer_socket = "{daemon.socket}"\n'
        danlu = stack.enter_context(Danlu(8, config))
        subjects = {"danlu": _danlu(danlu), "plain": _plain(daemon)}
        times = in_turns(options.times(usual=20, quick=4), subjects, warm_up=2)
    return Row(
        f"danlu run --image of a job in a {kind} container, median (ms)",
        median(times["danlu"]) * 1000,
        median(times["plain"]) * 1000,
        f"{kind} run --rm",
        Goal("at most", 1.2, "x"),
    )


def _danlu(danlu: Danlu) -> Callable[[], float]:
    argv = [DANLU, "run", "--image", BUSYBOX, "--", "true"]
    return _after_a_rest(timed(lambda: _run(argv, danlu.env, danlu.folder)))


def _plain(daemon: ContainerDaemon) -> Callable[[], float]:
    limits = _LIMITS if daemon.kind == "podman" else ()
    argv = [*daemon.client_command(), "run", "--rm", "--network=host", *limits, BUSYBOX, "true"]
    return _after_a_rest(timed(lambda: _run(argv, os.environ | daemon.env, daemon.folder)))


def _run(argv: list[str], env: Mapping[str, str], folder: Path) -> None:
    subprocess.run(
        argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )


def _after_a_rest(subject: Callable[[], float]) -> Callable[[], float]:
    """Runtimes clean up after they have answered; keep that out of the next measurement."""

    def measure() -> float:
        time.sleep(0.5)
        return subject()

    return measure
