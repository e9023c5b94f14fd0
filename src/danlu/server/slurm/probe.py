"""Asks a machine of the cluster what `danlu slurm check` compares: a few lines of sh, run there.

Through ssh, or through Slurm itself; here without either.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from danlu.server.slurm.programs import real
from danlu.spec.text import EMPTY, Text

PATIENCE = 40.0  # seconds for one machine
_LARGEST = 1 << 20
_SCRIPT = """\
PATH=$PATH:/usr/sbin:/sbin
say() { printf '%s\\t%s\\n' "$1" "$2"; }
say time "$(date +%s.%N)"
say host "$(hostname -s 2>/dev/null || hostname)"
say slurmd "$(slurmd -V 2>/dev/null)"
for file in slurm.conf gres.conf cgroup.conf; do
  [ -r "$conf/$file" ] && say "$file" "$(sha256sum <"$conf/$file" | cut -d' ' -f1)"
done
say munge "$(munge -n $socket 2>&1 | tr '\\n' ' ')"
for each in apptainer singularity podman enroot docker; do
  command -v "$each" >/dev/null 2>&1 && say container "$each"
done
[ -x /bin/bash ] || say lacks /bin/bash
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || say lacks 'Python 3.9'
for file in $devices; do [ -e "$file" ] && say device "$file"; done
[ -z "$shared" ] || say shared "$(cat "$shared" 2>&1)"
getent passwd | awk -F: '($3 >= 1000 && $3 < 60000) || $1 == "slurm" {
  printf "account\\t%s:%s:%s\\n", $1, $3, $4 }' | head -n 20000
say end yes
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What to look at there."""

    conf: str  # the folder with slurm.conf
    devices: tuple[str, ...] = ()
    shared: str = ""  # a file that was just written here
    socket: str = ""  # of munged, if not the usual one

    def script(self) -> str:
        socket = f"-S {shlex.quote(self.socket)}" if self.socket else ""
        words = {
            "conf": self.conf,
            "devices": " ".join(self.devices),
            "shared": self.shared,
            "socket": socket,
        }
        return "".join(f"{key}={shlex.quote(value)}\n" for key, value in words.items()) + _SCRIPT


@dataclass(frozen=True, slots=True)
class Facts:
    """What a machine said; `problem` says why it did not."""

    problem: Text = EMPTY
    ahead: float = 0.0  # seconds by which its clock differs from ours
    host: str = ""
    slurmd: str = ""
    files: Mapping[str, str] | None = None  # name -> digest
    munge: str = ""
    devices: frozenset[str] = frozenset()
    shared: str = ""
    accounts: Mapping[str, tuple[int, int]] | None = None  # name -> uid, gid
    containers: tuple[str, ...] = ()  # runtimes it has
    lacks: tuple[str, ...] = ()  # programs that tasks need


def here(question: Question) -> Facts:
    return _ask(["sh", "-s"], question)


def through_ssh(address: str, question: Question) -> Facts:
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    return _ask(["ssh", *options, "--", address, "sh", "-s"], question)


def through_slurm(node: str, question: Question) -> Facts:
    """A step on that node; one that is full has no room for it."""
    words = [f"--nodelist={node}", "--nodes=1", "--ntasks=1", "--immediate=15", "--time=2"]
    more = ["--mem=16M", "--chdir=/", "--job-name=danlu-check", "--quiet"]
    return _ask([real("srun") or "srun", *words, *more, "sh", "-s"], question)


def _ask(argv: Sequence[str], question: Question) -> Facts:
    before = time.time()
    try:
        done = subprocess.run(
            argv,
            input=question.script().encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        wait = f"{PATIENCE:.0f}"
        return Facts(Text(f"no answer in {wait} s", f"{wait} 秒内没有回应"))
    except OSError as error:
        cause = f"{argv[0]}: {error.strerror or error}"
        return Facts(Text(cause, cause))
    lines = done.stdout[:_LARGEST].decode(errors="replace").splitlines()
    if "end\tyes" not in lines:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        cause = (said[-1] if said else f"{argv[0]}: {done.returncode}")[:300]
        return Facts(Text(cause, cause))
    return parse(lines, (before, time.time()))


def parse(lines: Sequence[str], between: tuple[float, float]) -> Facts:
    """`between`: its clock was read after the first and before the second moment of ours."""
    one: dict[str, str] = {}
    devices, accounts, containers, lacks = set(), {}, [], []
    for line in lines:
        key, _, value = line.partition("\t")
        if key == "device":
            devices.add(value)
        elif key == "container":
            containers.append(value.replace("singularity", "apptainer"))
        elif key == "lacks":
            lacks.append(value)
        elif key == "account":
            name, _, numbers = value.partition(":")
            uid, _, gid = numbers.partition(":")
            if uid.isdigit() and gid.isdigit():
                accounts[name] = (int(uid), int(gid))
        else:
            one[key] = value
    files = {name: value for name, value in one.items() if name.endswith(".conf")}
    return Facts(
        EMPTY,
        _ahead(one.get("time", ""), between),
        one.get("host", ""),
        one.get("slurmd", "").removeprefix("slurm-wlm ").removeprefix("slurm "),
        files,
        one.get("munge", "").strip(),
        frozenset(devices),
        one.get("shared", ""),
        accounts,
        tuple(dict.fromkeys(containers)),
        tuple(lacks),
    )


def _ahead(said: str, between: tuple[float, float]) -> float:
    """Only what the time for asking cannot explain."""
    try:
        at = float(said)
    except ValueError:
        return 0.0
    if at < between[0]:
        return at - between[0]
    return at - between[1] if at > between[1] else 0.0
