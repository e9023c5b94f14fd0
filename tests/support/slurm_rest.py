"""slurmrestd on a Slurm of our own, as an admin would offer it: on a socket, as nobody special."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.parts import missing
from tests.support.slurm import Slurm
from tests.support.slurm_daemons import PATH, end_with_parent
from tests.support.waiting import until

USER = "nobody"


class RestDaemon:
    def __init__(self, slurm: Slurm) -> None:
        program = shutil.which("slurmrestd", path=PATH)
        if program is None:
            missing("slurmrestd", "apt-get install --no-install-recommends slurmrestd")
        self._program = program
        self._slurm = slurm
        self._daemon: subprocess.Popen[bytes] | None = None
        folder = slurm.folder / "rest"
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, USER)
        self.socket: Path = folder / "socket"

    @property
    def address(self) -> str:
        return f"unix:{self.socket}"

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        argv = [self._program, "-a", "rest_auth/local", "-s", "openapi/v0.0.38", self.address]
        with (self._slurm.folder / "log" / "slurmrestd.out").open("ab") as output:
            self._daemon = subprocess.Popen(
                argv, env=self._slurm.env, cwd="/", user=USER, group="nogroup", extra_groups=[],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=end_with_parent,
            )  # fmt: skip
        until(self.socket.exists)

    def stop(self) -> None:
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.terminate()
            daemon.wait()
