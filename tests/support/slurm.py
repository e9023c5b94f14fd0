"""A real Slurm for tests: a controller and four nodes with five declared GPUs each.

slurm = real_slurm()             # skips (fails with CI=true) where there is no Slurm or root
ann = slurm.people["ann"]        # a real account: name, uid, gid, home on the shared folder
slurm.sbatch(ann, "--gres=gpu:1", "--wrap=sleep 60")
slurm.env                        # for Danlu: PATH with counted commands, SLURM_CONF
slurm.calls("squeue")            # how often it was called with that PATH
slurm.pause_controller()         # commands hang; resume_controller()
slurm.kill_node("n2")            # slurmd and all it runs; start_node("n2")
slurm.close()
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.accounts import Account, Accounts, end_all_of
from tests.support.parts import missing
from tests.support.slurm_daemons import PACKAGES, PATH, Site, SlurmDaemons, absent, end

PARTITION = "makkapakka"
NODES = ("n1", "n2", "n3", "n4")
GPUS = 5
MODEL = "3090"
PEOPLE = ("ann", "bob", "cy")
CPUS = 16
MEMORY = 64_000  # MB
COMMANDS = (
    "sacct", "salloc", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio", "squeue",
    "srun", "sshare", "sstat",
)  # fmt: skip
SETTINGS = {
    "ClusterName": "test",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,sched_interval=2,"
    "bf_interval=3",
    "PriorityType": "priority/basic",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU_Memory",
    "DefMemPerCPU": "1000",
    "GresTypes": "gpu",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "MpiDefault": "none",
    "AccountingStorageType": "accounting_storage/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "SlurmctldDebug": "info",
    "SlurmdDebug": "info",
    "KillWait": "5",
    "InactiveLimit": "0",
    "SlurmdTimeout": "30",
    "MessageTimeout": "20",
    "ReturnToService": "2",
    "MinJobAge": "60",
    "PropagateResourceLimits": "NONE",
}


class Slurm(SlurmDaemons):
    def __init__(
        self,
        partitions: Mapping[str, Sequence[str]] | None = None,
        people: Sequence[str] = PEOPLE,
        **settings: str,
    ) -> None:
        """`settings` are keys of slurm.conf, in place of those above."""
        self._partitions = partitions or {PARTITION: NODES}
        self._settings = {**SETTINGS, **settings}
        self._accounts: Accounts | None = None
        self._names = people
        super().__init__(NODES, self._write)

    @property
    def people(self) -> Mapping[str, Account]:
        assert self._accounts is not None
        return self._accounts.people

    @property
    def shared(self) -> Path:
        """The folder that all nodes see: one machine has no other kind."""
        return self.folder / "shared"

    @property
    def conf(self) -> Path:
        return self.folder / "slurm.conf"

    def fresh_folder(self) -> Path:
        """For one test. Not pytest's own: the next pytest on this machine closes those above it."""
        folder = Path(tempfile.mkdtemp(dir=self.shared))
        folder.chmod(0o755)
        return folder

    def as_user(
        self,
        who: Account,
        *argv: str,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """A command of this person's, in their home, with what a login would set."""
        base = {key: self.env[key] for key in ("PATH", "SLURM_CONF")}
        own = {"HOME": str(who.home), "USER": who.name, "LOGNAME": who.name, "LANG": "C.UTF-8"}
        done = subprocess.run(
            argv, env={**base, **own, **(env or {})}, cwd=who.home, capture_output=True, text=True,
            timeout=300, user=who.uid, group=who.gid, extra_groups=list(who.groups),
        )  # fmt: skip
        if check and done.returncode != 0:
            raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def sbatch(self, who: Account, *argv: str, env: Mapping[str, str] | None = None) -> int:
        """Submits as a person who does not use Danlu; the job's number."""
        done = self.as_user(who, "sbatch", *argv, env=env)
        found = re.search(r"Submitted batch job (\d+)", done.stdout)
        assert found, done.stdout + done.stderr
        return int(found[1])

    def job(self, number: int) -> dict[str, str]:
        """What the controller knows of a job, without counting the call."""
        done = self._uncounted("scontrol", "--oneliner", "show", "job", str(number))
        return dict(word.split("=", 1) for word in done.split() if "=" in word)

    def jobs(self, *options: str) -> list[str]:
        """squeue's lines, without counting the call."""
        return self._uncounted("squeue", "--noheader", *options).splitlines()

    def calls(self, command: str) -> int:
        """How often it was called through this PATH."""
        return len(self.called_with(command))

    def called_with(self, command: str) -> list[str]:
        """The words of each call."""
        return (self.folder / "calls" / command).read_text().splitlines()

    def forget_calls(self) -> None:
        for command in COMMANDS:
            (self.folder / "calls" / command).write_text("")

    def spoil(self, command: str, script: str) -> None:
        """Runs a line of sh before each call: `exit 1`, `sleep 90`, `"$real" "$@"; exit 1`."""
        path = self.folder / "faults" / command
        fresh = path.with_name(f".{command}")
        fresh.write_text(script + "\n")
        fresh.rename(path)

    def heal(self, command: str) -> None:
        (self.folder / "faults" / command).unlink(missing_ok=True)

    def pause_controller(self) -> None:
        """It keeps its port and answers nobody."""
        assert self.controller is not None
        self.controller.send_signal(signal.SIGSTOP)

    def resume_controller(self) -> None:
        assert self.controller is not None
        self.controller.send_signal(signal.SIGCONT)

    def stop_controller(self) -> None:
        """It is gone: connections are refused until start_controller()."""
        assert self.controller is not None
        end(self.controller)

    def kill_node(self, name: str) -> None:
        """As when the power fails: slurmd and all it runs, at once."""
        daemon = self.slurmds[name]
        daemon.kill()
        daemon.wait()
        steps = self.step_daemons(name)
        for pid in steps:  # so that they start nothing while we look for what they have started
            _send(pid, signal.SIGSTOP)
        for pid in [*steps, *_below(steps)]:
            _send(pid, signal.SIGKILL)

    def lose_node(self, name: str, reason: str = "lost its network") -> None:
        """The same, and the controller does not have to wait for its timeout to notice."""
        self.kill_node(name)
        words = ("update", f"nodename={name}", "state=down", f"reason={reason}")
        self._uncounted("scontrol", *words)

    def tidy(self) -> None:
        """As at the start: nothing spoilt, everything up, no jobs."""
        for command in COMMANDS:
            self.heal(command)
        assert self.controller is not None
        if self.controller.poll() is None:
            self.resume_controller()
        else:
            self.start_controller()
        for name, daemon in self.slurmds.items():
            if daemon.poll() is not None:
                self.start_node(name)
        self.wait_until_answering()
        self.end_jobs()
        for name in NODES:
            with contextlib.suppress(RuntimeError):  # "Invalid node state": it is up
                self._uncounted("scontrol", "update", f"nodename={name}", "state=resume")
        self.wait_until_ready()

    def close(self) -> None:
        super().close()
        if self._accounts is not None:
            end_all_of({person.uid for person in self.people.values()})
            self._accounts.remove()
            self._accounts = None

    def _uncounted(self, command: str, *words: str) -> str:
        program = shutil.which(command, path=PATH)
        assert program is not None
        return self.run(program, *words)

    def _write(self, site: Site) -> None:
        folder = site.folder
        if self._accounts is None:
            self.shared.mkdir()
            self._accounts = Accounts(self._names, self.shared / "home")
            self._count_commands()
        settings = {**site.common(), **self._settings}
        lines = [f"{key}={value}" for key, value in settings.items()]
        lines += [
            f"{site.node(name)} CPUs={CPUS} RealMemory={MEMORY} Gres=gpu:{MODEL}:{GPUS} "
            f"Feature=rtx{MODEL} State=UNKNOWN"
            for name in NODES
        ]
        for number, (name, nodes) in enumerate(self._partitions.items()):
            default = "YES" if number == 0 else "NO"
            lines.append(
                f"PartitionName={name} Nodes={','.join(nodes)} Default={default} "
                "MaxTime=INFINITE State=UP"
            )
        self.conf.write_text("\n".join(lines) + "\n")
        devices = declare_gpus(folder / "dev", GPUS)
        gres = [f"NodeName={n} Name=gpu Type={MODEL} File={devices}" for n in NODES]
        (folder / "gres.conf").write_text("\n".join(gres) + "\n")

    def _count_commands(self) -> None:
        for name in ("bin", "calls", "faults"):
            (self.folder / name).mkdir()
        for command in COMMANDS:
            real = shutil.which(command, path=PATH)
            if real is None:
                continue
            calls = self.folder / "calls" / command
            calls.touch()
            calls.chmod(0o666)  # everybody's calls count
            fault = self.folder / "faults" / command
            wrapper = self.folder / "bin" / command
            wrapper.write_text(
                f'#!/bin/sh\nreal={real}\nprintf "%s\\n" "$(printf "%s " "$@" | tr "\\n" " ")"'
                f' >>{calls}\n[ ! -e {fault} ] || . {fault}\nexec {real} "$@"\n'
            )
            wrapper.chmod(0o755)
        self.env["PATH"] = os.pathsep.join((str(self.folder / "bin"), PATH))


def real_slurm(
    partitions: Mapping[str, Sequence[str]] | None = None,
    people: Sequence[str] = PEOPLE,
    **settings: str,
) -> Slurm:
    """One that works, or the test says what it lacks."""
    if os.geteuid() != 0:
        missing("Slurm for tests", "run them as root")
    if absent():
        missing("Slurm", f"apt-get install --no-install-recommends {' '.join(PACKAGES)}")
    return Slurm(partitions, people, **settings)


def declare_gpus(folder: Path, count: int) -> str:
    """Device files as a driver would make them, with nothing behind; Slurm only counts them."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        path = folder / f"nvidia{number}"
        if not path.exists():
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(195, 200 + number))
    return f"{folder}/nvidia[0-{count - 1}]"


def _below(pids: list[int]) -> list[int]:
    """All that these processes have started, and what those have."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        with contextlib.suppress(OSError, IndexError):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(pid)
    found, left = [], list(pids)
    while left:
        new = children.get(left.pop(), [])
        found += new
        left += new
    return found


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
