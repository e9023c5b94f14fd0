"""`danlu run --carry` with a folder of 1 GB: the first time, and with one changed file."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Options, median
from bench.server import DANLU, Danlu
from bench.table import Goal, Row

SUMMARY = "danlu run --carry of a 1 GB folder, the first time and with one changed file"
SIZE, FILES = 1 << 30, 2000
SETTLE = 2.5  # seconds; files changed just now are always read again
PAUSE = 10.0  # seconds in which somebody looks at the result and changes a file


def run(options: Options) -> Iterator[Row]:
    rounds = options.times(usual=5, quick=2)
    size = SIZE // (8 if options.quick else 1)
    with Danlu(slots=4) as danlu, danlu.client() as client:
        project = danlu.folder / "project"
        _fill(project, size)
        env = {**danlu.env, "XDG_CACHE_HOME": str(danlu.folder / "cache")}
        time.sleep(SETTLE)
        first = _carry(project, env)
        submits, runs, hasty = [], [], []
        for number in range(rounds):
            time.sleep(PAUSE)
            (project / "train.py").write_text(f"print({number})\n")
            runs.append(_carry(project, env))
            (project / "train.py").write_text(f"print('at once', {number})\n")
            hasty.append(_carry(project, env))
            (project / "train.py").write_text(f"print('again', {number})\n")
            submits.append(_carry(project, env, detach=True))
            client.wait(client.jobs(limit=1)["jobs"][0]["id"])
        copies = [_copy(project, danlu.folder / "copy") for _ in range(rounds)]
        what = f"{size >> 20} MB in {FILES} files"
        yield Row(f"first --carry, {what} (s)", first)
        copied = median(copies)
        goal = Goal("at most", 2, "s")
        yield Row("second, until it is queued (s)", median(submits), copied, "cp -a", goal)
        yield Row("second, until the job has run (s)", median(runs), copied, "cp -a", goal)
        yield Row("the same at once after another (s)", median(hasty), copied, "cp -a")


def _fill(folder: Path, size: int) -> None:
    for number in range(FILES):
        path = folder / f"part{number % 50}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size // FILES))
    (folder / "train.py").write_text("print(0)\n")


def _carry(folder: Path, env: dict[str, str], detach: bool = False) -> float:
    words = [DANLU, "run", *(["-d"] if detach else []), "--carry", "--", "python3", "train.py"]
    begun = time.perf_counter()
    subprocess.run(
        words, cwd=folder, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    return time.perf_counter() - begun


def _copy(source: Path, target: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    took = time.perf_counter() - begun
    shutil.rmtree(target)
    return took
