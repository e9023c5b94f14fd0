"""The anchor: a real Slurm on this machine, in a temporary folder.

Its configuration is slurm.conf next to this file. munged (with its own key), slurmctld and several
slurmd run as our daemons and end with us. As root they use the users created by Debian's packages;
without root everything runs as the caller, which Slurm allows for the caller's own jobs.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import string
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import processes
from bench.measure import note

NODES = 4
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "sinfo")
PACKAGES = ("slurm-wlm", "munge")
FOLDERS = ("munge", "state", "spool", "log", "run")
TEMPLATE = Path(__file__).with_name("slurm.conf")
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


class Unavailable(Exception):
    """Slurm is not available; the message says why."""


class Slurm:
    def __init__(self, slots: int, epilog: bool = False) -> None:
        """Each slot is a CPU of one of the nodes."""
        _require()
        self.folder = Path(tempfile.mkdtemp(prefix="danlu-bench-slurm-"))
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        # Otherwise each slurmstepd loads hwloc's OpenCL and X11 plugins, slowing down every job.
        self.env["HWLOC_PLUGINS_PATH"] = str(self.folder / "none")
        self.daemons: list[subprocess.Popen[bytes]] = []
        try:
            self._prepare(slots, epilog)
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Slurm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, *argv: str) -> str:
        """A Slurm command's output."""
        done = subprocess.run(argv, env=self.env, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def idle(self) -> bool:
        return not self.run("squeue", "--noheader")

    def wait_until_idle(self, pause: float = 0.1) -> None:
        while not self.idle():
            time.sleep(pause)

    def pids(self) -> list[int]:
        """slurmctld and slurmd; munged is not counted."""
        return [daemon.pid for daemon in self.daemons[1:]]

    def step_daemons(self) -> list[int]:
        """One slurmstepd per running job. They detach from slurmd, so they are found by name."""
        mark = str(self.folder)
        found = processes.named("slurmstepd", processes.all_pids())
        return [pid for pid in found if processes.has_in_environment(pid, mark)]

    def close(self) -> None:
        if len(self.daemons) > 1:
            with contextlib.suppress(RuntimeError):
                self.run("scancel", "--state=pending", f"--user={getpass.getuser()}")
                self.run("scancel", "--signal=KILL", f"--user={getpass.getuser()}")
                self._wait_a_while_until_idle()
        processes.stop(self.daemons)
        self.daemons = []
        # One that still has to report would retry forever.
        for pid in self.step_daemons():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_a_while_until_idle(self) -> None:
        for _ in range(600):
            if self.idle() and not self.step_daemons():
                return
            time.sleep(0.1)

    def _prepare(self, slots: int, epilog: bool) -> None:
        root = os.geteuid() == 0
        # munged requires folders that only its user can write to.
        self.folder.chmod(0o755)
        for name in FOLDERS:
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        if root:
            for path in (key, key.parent):
                shutil.chown(path, "munge", "munge")
            for name in ("state", "log", "run"):
                shutil.chown(self.folder / name, "slurm", "slurm")
        user = getpass.getuser()
        host = socket.gethostname().partition(".")[0]
        ports = _free_ports(NODES + 1)
        nodes = [
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]} "
            f"CPUs={-(-slots // NODES)} State=UNKNOWN"
            for number in range(1, NODES + 1)
        ]
        text = string.Template(TEMPLATE.read_text()).substitute(
            host=host,
            port=ports[0],
            slurm_user="slurm" if root else user,
            slurmd_user="root" if root else user,
            folder=self.folder,
            epilog=f"Epilog={shutil.which('true')}" if epilog else "",
            nodes="\n".join(nodes),
        )
        (self.folder / "slurm.conf").write_text(text)

    def _start(self) -> None:
        root = os.geteuid() == 0
        munge, log = self.folder / "munge", self.folder / "log"
        paths = [f"--{kind}-file={munge / kind}" for kind in ("key", "pid", "log", "seed")]
        munged = ["munged", "--foreground", f"--socket={munge / 'socket'}", *paths]
        self._daemon(munged, log / "munged.out", "munge" if root else None)
        _until("munged", lambda: (munge / "socket").exists(), munge / "log")
        self._daemon(["slurmctld", "-D", "-c"], log / "slurmctld.out", "slurm" if root else None)
        for number in range(1, NODES + 1):
            (self.folder / "spool" / f"n{number}").mkdir()
            self._daemon(["slurmd", "-D", "-N", f"n{number}"], log / f"slurmd-n{number}.out")
        _until("Slurm", self._ready, log / "slurmctld.log")

    def _daemon(self, argv: list[str], log: Path, user: str | None = None) -> None:
        program = shutil.which(argv[0], path=PATH)
        assert program is not None
        started = processes.start([program, *argv[1:]], log, self.env, self.folder, user)
        self.daemons.append(started)

    def _ready(self) -> bool:
        with contextlib.suppress(RuntimeError):
            return self.run("sinfo", "--noheader", "-o", "%t %D").split() == ["idle", str(NODES)]
        return False


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


def _missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def _require() -> None:
    if not _missing():
        return
    install = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(f"no Slurm to compare with. On Debian or Ubuntu, as root: {install}")
    note(f"installing the anchor: {install}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (["apt-get", "update"], [*install.split(), "--yes"]):
        done = subprocess.run(argv, env=quiet, capture_output=True, text=True)
    if _missing():
        raise Unavailable(f"Slurm could not be installed: {done.stderr.strip()[-300:]}")


def _until(what: str, ready: object, log: Path) -> None:
    assert callable(ready)
    end = time.monotonic() + 60
    while not ready():
        if time.monotonic() > end:
            tail = log.read_text(errors="replace")[-1000:] if log.exists() else "(no log)"
            raise Unavailable(f"{what} did not start: {tail}")
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
