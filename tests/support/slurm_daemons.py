"""The daemons of a real Slurm of our own: in a temporary folder, on ports and sockets of their own.

Knows nothing of tests: benchmarks use it too. As root the daemons use the users that Debian's
packages made; without root everything runs as the caller, which Slurm allows for the caller's own
jobs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "sinfo")
PACKAGES = ("slurm-wlm", "munge")
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
# Below the ports that the kernel gives to outgoing connections.
PORTS = range(18000, 32000)
PATIENCE = 120.0
TRIES = 4
NODE_MARK = "DANLU_TEST_NODE"
RUN_MARK = "DANLU_TEST_RUN"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class NotStarted(Exception):
    """A daemon did not start; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Site:
    """What slurm.conf says about this machine; the rest is up to whoever writes it."""

    folder: Path
    host: str
    port: int  # of the controller
    ports: Mapping[str, int]  # of each node
    slurm_user: str
    slurmd_user: str

    def common(self) -> dict[str, str]:
        """Where everything is: the same for every Slurm of ours."""
        folder = self.folder
        return {
            "SlurmctldHost": f"{self.host}(127.0.0.1)",
            "SlurmctldPort": str(self.port),
            "SlurmUser": self.slurm_user,
            "SlurmdUser": self.slurmd_user,
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            "AuthInfo": f"socket={folder}/munge/socket",
            "StateSaveLocation": f"{folder}/state",
            "SlurmdSpoolDir": f"{folder}/spool/%n",
            "SlurmctldPidFile": f"{folder}/run/slurmctld.pid",
            "SlurmdPidFile": f"{folder}/run/slurmd-%n.pid",
            "SlurmctldLogFile": f"{folder}/log/slurmctld.log",
            "SlurmdLogFile": f"{folder}/log/slurmd-%n.log",
            # Several slurmd on one machine, with more CPUs and memory than it has.
            "SlurmdParameters": "config_overrides",
        }

    def node(self, name: str) -> str:
        """The part of a NodeName line that puts the node on this machine."""
        return (
            f"NodeName={name} NodeHostname={self.host} NodeAddr=127.0.0.1 Port={self.ports[name]}"
        )


class SlurmDaemons:
    """munged, slurmctld and one slurmd for each node; they end with us."""

    prefix = "danlu-slurm-"

    def __init__(self, nodes: Sequence[str], configure: Callable[[Site], None]) -> None:
        """`configure` writes slurm.conf, and what it names, into the site's folder."""
        self.nodes = tuple(nodes)
        self._configure = configure
        self.munged: subprocess.Popen[bytes] | None = None
        self.controller: subprocess.Popen[bytes] | None = None
        self.slurmds: dict[str, subprocess.Popen[bytes]] = {}
        self.more: list[subprocess.Popen[bytes]] = []  # of a Slurm that needs others
        _end_left_behind()
        # Short: the path of a socket may have about a hundred letters only.
        self.folder = Path(tempfile.mkdtemp(prefix=self.prefix))
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        # Otherwise each slurmstepd loads hwloc's OpenCL and X11 plugins, slowing down every job.
        self.env["HWLOC_PLUGINS_PATH"] = str(self.folder / "none")
        try:
            self._start_somewhere()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SlurmDaemons:
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

    def start_controller(self, *options: str) -> None:
        """It continues from its state on disk; `-c` forgets that."""
        user = "slurm" if os.geteuid() == 0 else None
        self.controller = self._daemon(["slurmctld", "-D", *options], "slurmctld", user)

    def start_node(self, name: str) -> None:
        (self.folder / "spool" / name).mkdir(exist_ok=True)
        # Its slurmstepds inherit the mark; nothing else tells of which node they are.
        mark = {NODE_MARK: name, RUN_MARK: str(os.getpid())}
        self.slurmds[name] = self._daemon(["slurmd", "-D", "-N", name], f"slurmd-{name}", env=mark)

    def pids(self) -> list[int]:
        """slurmctld and slurmd; munged is not counted."""
        found = [self.controller, *self.slurmds.values()]
        return [daemon.pid for daemon in found if daemon is not None]

    def step_daemons(self, node: str = "") -> list[int]:
        """One slurmstepd per running job. They detach from slurmd, so they are found by name."""
        marks, found = [str(self.folder).encode()], []
        if node:
            marks.append(f"{NODE_MARK}={node}\0".encode())
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    here = Path("/proc") / name
                    ours = (here / "comm").read_text().strip() == "slurmstepd"
                    environ = (here / "environ").read_bytes() + b"\0" if ours else b""
                    if ours and all(mark in environ for mark in marks):
                        found.append(int(name))
        return found

    def log(self, name: str) -> str:
        """The last words of a daemon: `slurmctld`, `slurmd-n1`, `munged`."""
        words = ""
        for path in (self.folder / "log" / f"{name}.log", self.folder / "log" / f"{name}.out"):
            with contextlib.suppress(OSError):
                words += path.read_text(errors="replace")[-2000:]
        return words or "(no log)"

    def close(self) -> None:
        if self.controller is not None and self.controller.poll() is None:
            with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
                self.end_jobs()
        self._stop_daemons()
        # One that still has to report would retry forever.
        for pid in self.step_daemons():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_jobs(self) -> None:
        """Everybody's, and waits until no process of theirs is left."""
        if self.controller is not None:
            self.controller.send_signal(signal.SIGCONT)
        users = self.run("squeue", "--noheader", "-o", "%u").split()
        for user in dict.fromkeys(users):
            self.run("scancel", "--state=pending", f"--user={user}")
            self.run("scancel", "--signal=KILL", f"--user={user}")
        until = time.monotonic() + 60
        while users and time.monotonic() < until:
            if self.idle() and not self.step_daemons():
                return
            time.sleep(0.1)

    def _stop_daemons(self) -> None:
        daemons = [*self.slurmds.values(), self.controller, *reversed(self.more), self.munged]
        alive = [daemon for daemon in daemons if daemon is not None]
        for daemon in alive:
            end(daemon)
        self.munged, self.controller = None, None
        self.slurmds.clear()
        self.more.clear()

    def _start_somewhere(self) -> None:
        """Another program may take a port between our choice and the start: then once more."""
        for last in (*[False] * (TRIES - 1), True):
            self._prepare()
            try:
                self._start()
            except NotStarted as error:
                self._stop_daemons()
                if last or "ddress already in use" not in str(error):
                    raise
            else:
                return

    def _prepare(self) -> None:
        root = os.geteuid() == 0
        # munged requires folders that only its user can write to.
        self.folder.chmod(0o755)
        for name in ("munge", "state", "spool", "log", "run"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        if root:
            for path in (key, key.parent):
                shutil.chown(path, "munge", "munge")
            for name in ("state", "log", "run"):
                shutil.chown(self.folder / name, "slurm", "slurm")
        me = str(os.geteuid())
        ports = free_ports(len(self.nodes) + 1)
        self._configure(
            Site(
                self.folder,
                socket.gethostname().partition(".")[0],
                ports[0],
                dict(zip(self.nodes, ports[1:], strict=True)),
                "slurm" if root else me,
                "root" if root else me,
            )
        )

    def _start(self) -> None:
        munge = self.folder / "munge"
        paths = [f"--{kind}-file={munge / kind}" for kind in ("key", "pid", "log", "seed")]
        munged = ["munged", "--foreground", f"--socket={munge / 'socket'}", *paths]
        self.munged = self._daemon(munged, "munged", "munge" if os.geteuid() == 0 else None)
        self._until("munged", ready=(munge / "socket").exists, daemons=[self.munged])
        self._start_more()
        self.start_controller("-c")
        for name in self.nodes:
            self.start_node(name)
        self.wait_until_ready()

    def _start_more(self) -> None:
        """What the controller needs, if anything."""

    def wait_until_answering(self) -> None:
        assert self.controller is not None
        self._until("slurmctld", ready=self._answers, daemons=[self.controller])

    def wait_until_ready(self, *nodes: str) -> None:
        """Until these nodes (all, if none is named) take jobs."""
        names = nodes or self.nodes
        assert self.controller is not None
        daemons = [self.controller, *(self.slurmds[name] for name in names)]
        logs = ("slurmctld", *(f"slurmd-{name}" for name in names))
        self._until(*logs, ready=lambda: self._ready(names), daemons=daemons)

    def _answers(self) -> bool:
        with contextlib.suppress(RuntimeError):
            return bool(self.run("sinfo", "--noheader"))
        return False

    def _ready(self, names: Iterable[str]) -> bool:
        with contextlib.suppress(RuntimeError):
            lines = self.run("sinfo", "--noheader", "-N", "-o", "%N %t").splitlines()
            states = dict(line.split() for line in lines)
            return all(states.get(name) in ("idle", "mix", "alloc") for name in names)
        return False

    def _daemon(
        self,
        argv: list[str],
        name: str,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        program = shutil.which(argv[0], path=PATH)
        assert program is not None
        with (self.folder / "log" / f"{name}.out").open("ab") as output:
            return subprocess.Popen(
                [program, *argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**self.env, **(env or {})},
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=end_with_parent,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )

    def _until(
        self,
        *logs: str,
        ready: Callable[[], bool],
        daemons: Sequence[subprocess.Popen[bytes]],
    ) -> None:
        until = time.monotonic() + PATIENCE
        while not ready():
            ended = any(daemon.poll() is not None for daemon in daemons)
            if ended or time.monotonic() > until:
                tails = "\n".join(f"{name}: {self.log(name)}" for name in logs)
                raise NotStarted(f"Slurm did not start: {tails}")
            time.sleep(0.05)


def end(daemon: subprocess.Popen[bytes], patience: float = 60) -> None:
    """Ends one of our daemons, also one that is stopped, and waits for it."""
    for number in (signal.SIGCONT, signal.SIGTERM):
        daemon.send_signal(number)
    try:
        daemon.wait(patience)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def absent() -> list[str]:
    """Slurm's programs that this machine does not have."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def free_ports(count: int) -> list[int]:
    """Nobody listens on them now; others that start a Slurm choose by chance as well."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            one = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                port = random.choice(PORTS)
                one.bind(("", port))
                found.append(port)
    return found


def _end_left_behind() -> None:
    """A slurmstepd of a run that was killed would try to report for ever."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            here = Path("/proc") / name
            if name.isdigit() and (here / "comm").read_text().strip() == "slurmstepd":
                for word in (here / "environ").read_bytes().split(b"\0"):
                    mark, _, run = word.decode(errors="replace").partition("=")
                    if mark == RUN_MARK and not Path(f"/proc/{run}").exists():
                        os.kill(int(name), signal.SIGKILL)


def end_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
