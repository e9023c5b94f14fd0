"""`danlu check`: tries out what this machine supports."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.access.identities import foreign_ranges
from danlu.engines.api import Inventory, Unreachable
from danlu.engines.local.check import TREE_GUARANTEES, Abilities
from danlu.engines.local.container.runtimes import Search
from danlu.engines.local.engine import LocalEngine
from danlu.engines.local.keeper.trial import why_no_filter
from danlu.server.check_containers import containers
from danlu.server.engines import LOCAL, EngineConfig, local_config, make_engine
from danlu.server.identities import circle_of_trust, find_uids
from danlu.server.settings import SSH_PORT, Address, ConfigError, ServerConfig, find_file, load
from danlu.server.sockets import PortTaken, check_tls, listen_on
from danlu.server.words import say
from danlu.spec.text import Text, counted
from danlu.spec.units import format_size

LOW_DISK = 5 * 2**30
_ANSWERS_WITHIN = 10.0  # seconds
_NO_FILE = Text("No danlu.toml: default settings", "没有 danlu.toml：使用默认设置")


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    verdict: str  # yes, partly, no
    message: Text

    def values(self) -> dict[str, str]:
        return {"what": self.what, "verdict": self.verdict, **self.message.values()}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="danlu check")
    parser.add_argument("--config")
    parser.add_argument("--data")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    try:
        config = load(find_file(options.config))
        check_tls(config)
    except ConfigError as error:
        print(f"danlu: {say(error.message)}", file=sys.stderr)
        return 2
    if options.data:
        config = replace(config, data=Path(options.data))
    findings = list(look(config))
    if options.json:
        print(json.dumps([finding.values() for finding in findings], ensure_ascii=False, indent=1))
    else:
        print_findings(findings)
    return 0


def look(config: ServerConfig) -> Iterator[Finding]:
    abilities, inventory, search = asyncio.run(_try(config))
    yield _configuration(config)
    yield _user(config)
    yield _namespaces(abilities)
    yield _tree(abilities)
    yield _cgroups(abilities)
    yield _system_calls(_first_local(config))
    real_gpus = abilities.gpus == "nvml"
    for line in containers(search, _first_local(config).containers, real_gpus):
        yield Finding(*line)
    yield from _nodes(inventory, abilities)
    yield from _others(config)
    yield _ssh(config)
    yield _disk(config.data)


async def _try(config: ServerConfig) -> tuple[Abilities, Inventory, Search]:
    """Starts the engine briefly, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="danlu-check-") as folder:
        around = replace(config.around(find_uids(config)[0] is not None), data=Path(folder))
        engine = LocalEngine(local_config(_first_local(config), around))
        await engine.start()
        try:
            return engine.abilities, await engine.inventory(), engine.runtime_search
        finally:
            await engine.close()


def _first_local(config: ServerConfig) -> EngineConfig:
    return next((each for each in config.engines if each.kind == LOCAL), EngineConfig())


def _others(config: ServerConfig) -> Iterator[Finding]:
    """Engines beside the one that was looked at closely: do they answer?"""
    first = _first_local(config)
    for engine in config.engines:
        if engine.name != first.name:
            yield asyncio.run(_answers(config, engine))


async def _answers(config: ServerConfig, engine: EngineConfig) -> Finding:
    with tempfile.TemporaryDirectory(prefix="danlu-check-") as folder:
        made = make_engine(engine, replace(config.around(), data=Path(folder)))
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN):
                await made.start()
                nodes = (await made.inventory()).nodes
        except (Unreachable, TimeoutError) as trouble:
            why = str(trouble) or f"{_ANSWERS_WITHIN:.0f} s"
            return Finding(
                f"engine {engine.name}",
                "no",
                Text(
                    f"Does not answer ({why}): its queues wait, all others continue",
                    f"未响应（{why}）：它的队列等待，其余照常",
                ),
            )
        finally:
            with contextlib.suppress(Unreachable):
                await made.close()
    names = ", ".join(node.name for node in nodes[:8])
    return Finding(
        f"engine {engine.name}",
        "yes",
        Text(
            f"Answers; nodes: {len(nodes)} ({names})",
            f"正常；节点 {len(nodes)} 个（{names}）",
        ),
    )


def _configuration(config: ServerConfig) -> Finding:
    file = Text(str(config.file), str(config.file)) if config.file else _NO_FILE
    return Finding(
        "configuration",
        "yes",
        Text(f"{file.en}; data folder {config.data}", f"{file.zh}；数据目录 {config.data}"),
    )


def _user(config: ServerConfig) -> Finding:
    uids, why = find_uids(config)
    trust = circle_of_trust(uids)
    if trust is not None:
        if os.geteuid() == 0 and why != "off":
            trust += Text(f". Other uids cannot be used here: {why}", f"。无法使用其他 uid：{why}")
        return Finding("user", "partly", trust)
    first, last = config.uids.first, config.uids.last
    message = Text(
        f"Tasks run as their users: uids from {first}-{last} or set in danlu.toml; never as root",
        f"任务以各自用户的身份运行：uid 取自 {first}-{last} 或 danlu.toml 的规定，从不用 root",
    )
    taken = [f"{a}-{b}" for a, b in foreign_ranges() if a <= last and b >= first]
    if taken:
        message += Text(
            f". Not used, since /etc/subuid gives them to others: {', '.join(taken)}",
            f"。以下编号他人可在用户命名空间中使用（/etc/subuid），不分配：{'、'.join(taken)}",
        )
    return Finding("user", "yes", message)


def _namespaces(found: Abilities) -> Finding:
    if found.namespaces:
        return Finding(
            "namespaces",
            "yes",
            Text(
                "Tasks see /userhome, /gdata, their volumes and their own /dev/shm",
                "任务能看到 /userhome、/gdata、自己的存储卷和独立的 /dev/shm",
            ),
        )
    why = found.namespaces_why_not
    return Finding(
        "namespaces",
        "partly",
        Text(
            f"No namespaces ({why}): tasks find their volumes through variables (DANLU_USERHOME, "
            "DANLU_GDATA, DANLU_VOLUME_*) and links, HOME is the user's folder, /dev/shm is "
            "shared. Run as root, or set kernel.unprivileged_userns_clone=1, to get the paths "
            "themselves",
            f"没有命名空间（{why}）：任务通过变量（DANLU_USERHOME、DANLU_GDATA、DANLU_VOLUME_*）和"
            "链接找到存储卷，HOME 是用户目录，/dev/shm 共用。用 root 运行或设置 "
            "kernel.unprivileged_userns_clone=1 即可使用这些路径",
        ),
    )


def _tree(found: Abilities) -> Finding:
    verdict = "partly" if found.tree == "marker" else "yes"
    return Finding("stopping", verdict, TREE_GUARANTEES[found.tree])


def _cgroups(found: Abilities) -> Finding:
    if found.cgroup:
        names = ", ".join(found.controllers)
        return Finding(
            "cgroups",
            "yes",
            Text(
                f"cgroup {found.cgroup} ({names}): memory and CPU limits are enforced",
                f"cgroup {found.cgroup}（{names}）：内存和 CPU 上限有效",
            ),
        )
    return Finding(
        "cgroups",
        "no",
        Text(
            f"No writable cgroup ({found.cgroup_why_not}): the queue counts memory and CPUs, but "
            "limits are not enforced. Run as root, or in a delegated cgroup (systemd: "
            "Delegate=yes)",
            f"没有可写的 cgroup（{found.cgroup_why_not}）：队列会计算内存和 CPU，但不强制限制。"
            "用 root 运行，或使用委派的 cgroup（systemd：Delegate=yes）即可",
        ),
    )


def _system_calls(engine: EngineConfig) -> Finding:
    why = why_no_filter()
    if engine.confinement.seccomp == "off":
        message = Text(
            'Not filtered: danlu.toml says seccomp = "off"',
            '不过滤：danlu.toml 中设置了 seccomp = "off"',
        )
        return Finding("seccomp", "partly", message)
    if why:
        message = Text(
            f"Not filtered ({why}): process tasks may use every system call",
            f"无法过滤（{why}）：进程任务可以使用所有系统调用",
        )
        return Finding("seccomp", "no", message)
    message = Text(
        "Process tasks cannot use dangerous system calls (as with container runtimes)",
        "进程任务不能使用危险的系统调用（与容器运行时类似）",
    )
    return Finding("seccomp", "yes", message)


def _nodes(inventory: Inventory, found: Abilities) -> Iterator[Finding]:
    source = {
        "nvml": Text("found by NVML", "由 NVML 发现"),
        "declared": Text("declared", "由配置声明"),
        "none": Text("none found", "未发现"),
    }[found.gpus]
    for node in inventory.nodes:
        models: dict[str, int] = {}
        for gpu in node.gpus:
            models[gpu.model] = models.get(gpu.model, 0) + 1
        gpus = ", ".join(f"{count} x {model}" for model, count in models.items()) or "0"
        memory = format_size(node.memory)
        yield Finding(
            f"node {node.name}",
            "yes" if node.gpus else "partly",
            Text(
                f"{counted(node.cpus, 'CPU')}, {memory} memory, GPUs: {gpus} ({source.en})",
                f"{node.cpus:g} 个 CPU，{memory} 内存，显卡：{gpus}（{source.zh}）",
            ),
        )


def _ssh(config: ServerConfig) -> Finding:
    address = config.ssh_address
    if address is None:
        message = Text(
            'Off: danlu.toml says ssh = "off"', '已关闭：danlu.toml 中设置了 ssh = "off"'
        )
        return Finding("ssh", "partly", message)
    port = _own_port(config, address)
    if port is None:
        try:
            with listen_on(address, SSH_PORT) as listener:
                port = listener.getsockname()[1]
        except ConfigError as error:
            return Finding("ssh", "no", error.message)
    return Finding(
        "ssh",
        "yes",
        Text(
            f"Running jobs can be entered on port {port} of {address.host}",
            f"可通过 {address.host} 的端口 {port} 进入运行中的任务",
        ),
    )


def _own_port(config: ServerConfig, address: Address) -> int | None:
    """Where the server of this data folder listens already."""
    with contextlib.suppress(OSError, ValueError):
        port = int((config.data / "gateway" / "port").read_text())
        try:
            listen_on(replace(address, port=port)).close()
        except PortTaken:
            return port
    return None


def _disk(data: Path) -> Finding:
    place = data
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    free = format_size(usage.free)
    return Finding(
        "disk",
        "yes" if usage.free > LOW_DISK else "partly",
        Text(f"{free} free in the data folder {data}", f"数据目录 {data} 还有 {free} 可用"),
    )


def print_findings(findings: list[Finding]) -> None:
    marks = {
        "yes": Text("yes   ", "可以"),
        "partly": Text("partly", "部分"),
        "no": Text("no    ", "不行"),
    }
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = say(marks[finding.verdict])
        print(f"{finding.what:<{width}}  {mark}  {say(finding.message)}")


if __name__ == "__main__":
    # `danlu check | head` is not an error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
