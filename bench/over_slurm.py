"""Danlu over Slurm against plain `sbatch`, on the same Slurm: what the way through Danlu costs.

Both submit with as many processes at once, both wait until the last status is known. As root all
jobs are root's: the Slurm of benchmarks has no other people.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.measure import Options, in_turns, median, timed
from bench.server import DANLU, Danlu, wait_until_idle
from bench.slurm import Slurm, anchor
from bench.table import Goal, Row
from danlu.sdk import Client

SLOTS = 64
CONFIG = """\
[engine]
identities = "off"

[[nodes]]
name = "unused"
engine = "local"

[engines.slurm]
kind = "slurm"
shared = "{shared}"
conf = "{conf}"

[queues.default]
engine = "slurm"
"""
AT_ONCE = 4  # submissions of one user that Danlu makes at the same time


@contextlib.contextmanager
def both(epilog: bool) -> Iterator[tuple[Slurm, Danlu, Client] | None]:
    """None without Slurm."""
    with contextlib.ExitStack() as stack:
        slurm = stack.enter_context(anchor(SLOTS, epilog))
        if slurm is None:
            yield None
            return
        shared = slurm.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        config = CONFIG.format(shared=shared, conf=slurm.folder / "slurm.conf")
        danlu = stack.enter_context(Danlu(None, config))
        yield slurm, danlu, stack.enter_context(danlu.client())


def throughput(options: Options) -> Iterator[Row]:
    count = 100 if options.quick else 500
    rounds = options.times(usual=3, quick=1)
    with both(epilog=True) as found:
        if found is None:
            return
        slurm, _, client = found
        subjects = {
            "danlu": lambda: _through_danlu(client, count),
            "sbatch": lambda: _plain(slurm, count),
        }
        times = in_turns(rounds, subjects, warm_up=1)
    yield Row(
        f"Danlu over Slurm: {count} jobs of true in and out (s)",
        median(times["danlu"]),
        median(times["sbatch"]),
        f"sbatch, {AT_ONCE} at once",
        Goal("at most", 1.3, "x"),
    )


def latency(options: Options) -> Iterator[Row]:
    rounds = options.times(usual=20, quick=5)
    with both(epilog=False) as found:
        if found is None:
            return
        slurm, danlu, _ = found
        plain = ["sbatch", "--wait", "--quiet", "--output=/dev/null", "--wrap=true"]
        subjects: Mapping[str, Callable[[], float]] = {
            "danlu": timed(
                lambda: _run([DANLU, "run", "--quiet", "true"], danlu.env, danlu.folder)
            ),
            "sbatch": timed(lambda: _run(plain, slurm.env, slurm.folder)),
        }
        times = in_turns(rounds, subjects, warm_up=2)
    yield Row(
        "Danlu over Slurm: danlu run true, median (ms)",
        median(times["danlu"]) * 1000,
        median(times["sbatch"]) * 1000,
        "sbatch --wait",
    )


def _through_danlu(client: Client, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        client.submit({"name": "true", "command": ["true"]})
    wait_until_idle(client)
    seconds = time.perf_counter() - start
    jobs = client.jobs(limit=count)["jobs"]
    failed = [job["reason_en"] for job in jobs if job["state"] != "succeeded"]
    if failed or len(jobs) != count:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} jobs failed: {failed[:1]}")
    return seconds


def _plain(slurm: Slurm, count: int) -> float:
    """The last status is known when squeue lists none: Slurm forgets what has ended."""
    slurm.wait_until_idle()
    command = "sbatch --quiet --output=/dev/null --wrap=true"
    line = f"seq {count} | xargs -P {AT_ONCE} -I N {command}"
    start = time.perf_counter()
    _run(["sh", "-c", line], slurm.env, slurm.folder)
    slurm.wait_until_idle()
    return time.perf_counter() - start


def _run(argv: list[str], env: Mapping[str, str], folder: Path) -> None:
    subprocess.run(
        argv, env=env, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
