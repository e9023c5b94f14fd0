"""The anchor: a real Slurm on this machine, in a temporary folder.

Its configuration is slurm.conf next to this file; its daemons are started like those of the tests.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import string
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.slurm_daemons import PACKAGES, NotStarted, Site, SlurmDaemons, absent

from bench.measure import note

NODES = ("n1", "n2", "n3", "n4")
MEMORY = 1_000_000  # MB: never what a job has to wait for
TEMPLATE = Path(__file__).with_name("slurm.conf")


class Unavailable(Exception):
    """Slurm is not available; the message says why."""


class Slurm(SlurmDaemons):
    prefix = "danlu-bench-slurm-"

    def __init__(self, slots: int, epilog: bool = False) -> None:
        """Each slot is a CPU of one of the nodes."""
        _require()
        self._cpus = -(-slots // len(NODES))
        self._epilog = epilog
        try:
            super().__init__(NODES, self._write)
        except NotStarted as error:
            raise Unavailable(str(error)) from None

    def wait_until_idle(self, pause: float = 0.1) -> None:
        while not self.idle():
            time.sleep(pause)

    def _write(self, site: Site) -> None:
        nodes = [
            f"{site.node(name)} CPUs={self._cpus} RealMemory={MEMORY} State=UNKNOWN"
            for name in NODES
        ]
        text = string.Template(TEMPLATE.read_text()).substitute(
            site="\n".join(f"{key}={value}" for key, value in site.common().items()),
            epilog=f"Epilog={shutil.which('true')}" if self._epilog else "",
            nodes="\n".join(nodes),
        )
        (site.folder / "slurm.conf").write_text(text)


@contextlib.contextmanager
def anchor(slots: int, epilog: bool = False) -> Iterator[Slurm | None]:
    """Slurm, or None with a note if unavailable: Danlu's own figures are still useful."""
    try:
        slurm = Slurm(slots, epilog)
    except Unavailable as error:
        note(str(error))
        yield None
        return
    with slurm:
        yield slurm


def _require() -> None:
    if not absent():
        return
    install = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(f"no Slurm to compare with. On Debian or Ubuntu, as root: {install}")
    note(f"installing the anchor: {install}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (["apt-get", "update"], [*install.split(), "--yes"]):
        done = subprocess.run(argv, env=quiet, capture_output=True, text=True)
    if absent():
        raise Unavailable(f"Slurm could not be installed: {done.stderr.strip()[-300:]}")
