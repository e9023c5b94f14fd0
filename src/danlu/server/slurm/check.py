"""`danlu slurm check`: asks every machine of the cluster, and says what does not fit together."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.engines.slurm.fields import hosts
from danlu.engines.slurm.node_states import node_word
from danlu.server.check import Finding
from danlu.server.slurm import judge, probe
from danlu.server.slurm.nodes import Lab
from danlu.server.slurm.probe import Facts, Question
from danlu.server.slurm.programs import real
from danlu.spec.text import Text

_AT_ONCE = 8
_ANSWERS_WITHIN = 20.0
_NOT_THROUGH_SLURM = Text(
    "it accepts no jobs, so it cannot be checked through Slurm; use --via ssh",
    "它不接受任务，无法通过 Slurm 查询；可用 --via ssh",
)
_USUAL = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf")


@dataclass(frozen=True, slots=True)
class Order:
    lab: Lab | None = None  # None: what Slurm itself knows
    via: str = "auto"  # ssh, srun
    shared: str = ""


def look(order: Order) -> Iterator[Finding]:
    conf = _conf()
    if real("sinfo") is None:
        how = "apt-get install slurm-wlm munge"
        yield Finding("slurm", "no", Text(f"is not installed: {how}", f"尚未安装：{how}"))
        return
    if conf is None:
        yield Finding(
            "slurm.conf",
            "no",
            Text(
                "there is none in /etc/slurm; `danlu slurm init nodes.toml` writes one",
                "/etc/slurm 中没有；可用 `danlu slurm init nodes.toml` 生成",
            ),
        )
        return
    settings = read_conf(conf)
    version = _run("sinfo", "--version").removeprefix("slurm-wlm ").removeprefix("slurm ").strip()
    states = _states()
    yield _controller(settings, states)
    addresses = _machines(order.lab, settings, states)
    if not addresses:
        return
    yield from judge.names(addresses)
    yield from _state_findings(states)
    if order.lab is not None and states:
        yield from _unknown_to_slurm(order.lab, states)
    yield from _compare(order, conf, settings, addresses, version, states)


def _compare(
    order: Order,
    conf: Path,
    settings: Mapping[str, str],
    addresses: Mapping[str, str],
    version: str,
    states: Mapping[str, tuple[str, str]],
) -> Iterator[Finding]:
    wanted = gres_files(conf.with_name("gres.conf"), set(addresses))
    munged = re.search(r"socket=([^,\s]+)", settings.get("authinfo", ""))
    munge_socket = munged[1] if munged else ""
    folder = order.shared or (order.lab.shared if order.lab is not None else "")
    with contextlib.ExitStack() as stack:
        marker, secret = "", secrets.token_hex(16)
        if folder:
            try:
                marker = stack.enter_context(_marked(folder, secret))
            except OSError as error:
                cause = f"{folder}: {error.strerror or error}"
                yield Finding("shared folder", "no", Text(cause, cause))
                folder = ""

        def question(name: str) -> Question:
            return Question(str(conf.parent), tuple(wanted.get(name, ())), marker, munge_socket)

        here = probe.here(question(_short(socket.gethostname())))
        facts = _ask_all(order, addresses, question, states)
    there = {name: found for name, found in facts.items() if not found.problem}
    silent = [name for name in facts if name not in there]
    yield from judge.answers(facts)
    compared = [
        *judge.versions(version, there),
        *judge.clocks(there),
        *judge.accounts(here, there),
        *judge.munge(there, judge.unmunge(munge_socket)),
        *judge.files(here, there),
        *judge.programs({name: each for name, each in there.items() if name in states}),
        *judge.containers({name: each for name, each in there.items() if name in states}),
        *judge.devices({name: files for name, files in wanted.items() if name in there}, there),
        *(judge.shared(folder, secret, there) if folder else ()),
    ]
    yield from (only_of_those_asked(each, silent) for each in compared)


def only_of_those_asked(finding: Finding, silent: Sequence[str]) -> Finding:
    """Nothing is fine on a machine that nobody could ask."""
    if finding.verdict != "yes" or not silent:
        return finding
    listed = judge.some(silent)
    unknown = Text(f"; not known of {listed}", f"；{listed} 未知")
    return replace(finding, verdict="partly", message=finding.message + unknown)


def _ask_all(
    order: Order,
    addresses: Mapping[str, str],
    question: Callable[[str], Question],
    states: Mapping[str, tuple[str, str]],
) -> dict[str, Facts]:
    """Through Slurm where it runs, else through ssh; this machine is asked without either."""
    own = _short(socket.gethostname())

    def ask(name: str) -> Facts:
        if name == own:
            return probe.here(question(name))
        usable = name in states and node_word(*states[name]).takes_jobs
        if order.via == "srun" and not usable:
            return Facts(_NOT_THROUGH_SLURM)
        if usable and order.via != "ssh":
            return probe.through_slurm(name, question(name))
        return probe.through_ssh(addresses[name] or name, question(name))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(addresses, pool.map(ask, addresses), strict=True))


def _machines(
    lab: Lab | None, settings: Mapping[str, str], states: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Name -> address, if it has one of its own."""
    if lab is not None:
        found = {node.name: node.address for node in lab.nodes}
        return {lab.controller: lab.controller_address, **found}
    return dict.fromkeys(states, "") if len(states) <= 1024 else {}


def _controller(settings: Mapping[str, str], states: Mapping[str, tuple[str, str]]) -> Finding:
    name = settings.get("slurmctldhost", "?").partition("(")[0]
    if states:
        return Finding("controller", "yes", Text(f"{name} answers", f"{name} 正常"))
    return Finding(
        "controller",
        "no",
        Text(
            f"{name} does not answer: `systemctl status slurmctld` there, and "
            "/var/log/slurm/slurmctld.log",
            f"{name} 未响应：在该机器上查看 `systemctl status slurmctld` 与 "
            "/var/log/slurm/slurmctld.log",
        ),
    )


def _state_findings(states: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    for name, (state, reason) in states.items():
        word = node_word(state, reason)
        if not word.takes_jobs:
            hint = Text(
                f"; once that is solved: scontrol update nodename={name} state=resume",
                f"；解决后执行：scontrol update nodename={name} state=resume",
            )
            yield Finding(f"node {name}", "no", word.words + hint)


def _unknown_to_slurm(lab: Lab, states: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    for node in lab.nodes:
        if node.name not in states:
            yield Finding(
                f"node {node.name}",
                "no",
                Text(
                    "Slurm does not know it: copy the new slurm.conf to every machine, then "
                    "scontrol reconfigure",
                    "Slurm 中没有它：请把新的 slurm.conf 复制到每台机器，"
                    "再执行 scontrol reconfigure",
                ),
            )


def _states() -> dict[str, tuple[str, str]]:
    """Node -> state and reason, from the controller; empty if it does not answer."""
    found = {}
    for line in _run("sinfo", "--noheader", "-N", "-o", "%N|%T|%E").splitlines():
        name, _, rest = line.partition("|")
        state, _, reason = rest.partition("|")
        found[name.strip()] = (state.strip(), reason.strip())
    return found


def _run(*argv: str) -> str:
    program = real(argv[0]) or argv[0]
    try:
        done = subprocess.run(
            [program, *argv[1:]], capture_output=True, timeout=_ANSWERS_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _conf() -> Path | None:
    named = os.environ.get("SLURM_CONF")
    candidates = [named] if named else list(_USUAL)
    return next((Path(path) for path in candidates if os.path.isfile(path)), None)


def read_conf(path: Path) -> dict[str, str]:
    """Keys in small letters; lines about nodes and partitions are left out."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text(errors="replace").splitlines():
            key, equals, value = line.partition("#")[0].strip().partition("=")
            if equals and key.lower() not in ("nodename", "partitionname"):
                found.setdefault(key.strip().lower(), value.strip())
    return found


def gres_files(path: Path, names: set[str]) -> dict[str, list[str]]:
    """Node -> the device files that gres.conf names for it."""
    found: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text(errors="replace").splitlines():
            values = dict(re.findall(r"(\w+)=(\S+)", line.partition("#")[0]))
            keys = {key.lower(): value for key, value in values.items()}
            if keys.get("name", "gpu").lower() != "gpu" or "file" not in keys:
                continue
            nodes: Sequence[str] = hosts(keys["nodename"]) if "nodename" in keys else sorted(names)
            for node in nodes:
                if node in names:
                    found.setdefault(node, []).extend(hosts(keys["file"]))
    return found


@contextlib.contextmanager
def _marked(folder: str, secret: str) -> Iterator[str]:
    """A file there that every machine must see; whoever runs the probe may read it."""
    handle, path = tempfile.mkstemp(prefix=".danlu-check-", dir=folder)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secret)
        os.chmod(path, 0o644)
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _short(name: str) -> str:
    return name.partition(".")[0]
