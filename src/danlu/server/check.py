"""`danlu check`: looks at the machine and says what is possible here. Found by trying."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from danlu.access.identities import foreign_ranges
from danlu.engines.api import Inventory
from danlu.engines.local.check import TREE_GUARANTEES, Abilities
from danlu.engines.local.container.runtimes import Search
from danlu.engines.local.engine import LocalEngine
from danlu.server.check_containers import containers
from danlu.server.identities import circle_of_trust, find_uids
from danlu.server.settings import ConfigError, ServerConfig, find_file, load
from danlu.server.sockets import check_tls
from danlu.server.words import chinese, say
from danlu.spec.units import format_size

LOW_DISK = 5 * 2**30


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    verdict: str  # yes, partly, no
    en: str
    zh: str


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
        print(f"danlu: {say(error.en, error.zh)}", file=sys.stderr)
        return 2
    if options.data:
        config = replace(config, data=Path(options.data))
    findings = list(look(config))
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=1))
    else:
        _print(findings)
    return 0


def look(config: ServerConfig) -> Iterator[Finding]:
    abilities, inventory, search = asyncio.run(_try(config))
    yield _user(config)
    yield _namespaces(abilities)
    yield _tree(abilities)
    yield _cgroups(abilities)
    real_cards = abilities.gpus == "nvml"
    for line in containers(search, config.containers, real_cards):
        yield Finding(*line)
    yield from _nodes(inventory, abilities)
    yield _disk(config.data)


async def _try(config: ServerConfig) -> tuple[Abilities, Inventory, Search]:
    """Starts the engine for a moment, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="danlu-check-") as folder:
        engine = LocalEngine(
            replace(config.engine(find_uids(config)[0] is not None), data=Path(folder))
        )
        await engine.start()
        try:
            return engine.abilities, await engine.inventory(), engine.runtime_search
        finally:
            await engine.close()


def _user(config: ServerConfig) -> Finding:
    uids, why = find_uids(config)
    trust = circle_of_trust(uids)
    if trust is not None:
        en, zh = (text[:1].upper() + text[1:] for text in trust)
        if os.geteuid() == 0 and why != "off":
            en += f". Other uids cannot be used here: {why}"
            zh += f"。无法使用其他 uid：{why}"
        return Finding("user", "partly", en, zh)
    first, last = config.uids.first, config.uids.last
    en = f"Tasks run as their users: uids from {first}-{last}, or as danlu.toml says; never as root"
    zh = f"任务以各自用户的身份运行：uid 取自 {first}-{last} 或 danlu.toml 的规定，从不用 root"
    taken = [f"{a}-{b}" for a, b in foreign_ranges() if a <= last and b >= first]
    if taken:
        en += f". Left out, because others may take them on (/etc/subuid): {', '.join(taken)}"
        zh += f"。以下编号他人可在用户命名空间中使用（/etc/subuid），不分配：{'、'.join(taken)}"
    return Finding("user", "yes", en, zh)


def _namespaces(found: Abilities) -> Finding:
    if found.namespaces:
        return Finding(
            "namespaces",
            "yes",
            "Tasks see /userhome, /gdata, their volumes and a /dev/shm of their own",
            "任务能看到 /userhome、/gdata、自己的存储卷和独立的 /dev/shm",
        )
    why = found.namespaces_why_not
    return Finding(
        "namespaces",
        "partly",
        f"No namespaces ({why}): tasks find their volumes by variables (DANLU_USERHOME, "
        "DANLU_GDATA, DANLU_VOLUME_*) and links, HOME is the user's folder, /dev/shm is shared. "
        "As root, or with kernel.unprivileged_userns_clone=1, they get the paths themselves",
        f"没有命名空间（{why}）：任务通过变量（DANLU_USERHOME、DANLU_GDATA、DANLU_VOLUME_*）和链接"
        "找到存储卷，HOME 是用户目录，/dev/shm 共用。用 root 运行或设置 "
        "kernel.unprivileged_userns_clone=1 即可使用这些路径",
    )


def _tree(found: Abilities) -> Finding:
    en, zh = TREE_GUARANTEES[found.tree]
    return Finding("stopping", "partly" if found.tree == "marker" else "yes", en, zh)


def _cgroups(found: Abilities) -> Finding:
    if found.cgroup:
        names = ", ".join(found.controllers)
        return Finding(
            "cgroups",
            "yes",
            f"cgroup {found.cgroup} ({names}): memory and CPU limits hold",
            f"cgroup {found.cgroup}（{names}）：内存和 CPU 上限有效",
        )
    return Finding(
        "cgroups",
        "no",
        f"No cgroup can be written ({found.cgroup_why_not}): memory and CPUs are counted by the "
        "queue but not enforced. They are as root, or in a delegated cgroup (systemd: "
        "Delegate=yes)",
        f"没有可写的 cgroup（{found.cgroup_why_not}）：队列会计算内存和 CPU，但不强制限制。"
        "用 root 运行，或使用委派的 cgroup（systemd：Delegate=yes）即可",
    )


def _nodes(inventory: Inventory, found: Abilities) -> Iterator[Finding]:
    source = {
        "nvml": ("found by NVML", "由 NVML 发现"),
        "declared": ("declared", "由配置声明"),
        "none": ("none found", "未发现"),
    }[found.gpus]
    for node in inventory.nodes:
        models: dict[str, int] = {}
        for gpu in node.gpus:
            models[gpu.model] = models.get(gpu.model, 0) + 1
        cards = ", ".join(f"{count} x {model}" for model, count in models.items()) or "0"
        memory = format_size(node.memory)
        yield Finding(
            f"node {node.name}",
            "yes" if node.gpus else "partly",
            f"{node.cpus:g} CPUs, {memory} memory, cards: {cards} ({source[0]})",
            f"{node.cpus:g} 个 CPU，{memory} 内存，显卡：{cards}（{source[1]}）",
        )


def _disk(data: Path) -> Finding:
    place = data
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    free = format_size(usage.free)
    return Finding(
        "disk",
        "yes" if usage.free > LOW_DISK else "partly",
        f"{free} free for the data folder {data}",
        f"数据目录 {data} 还有 {free} 可用",
    )


def _print(findings: list[Finding]) -> None:
    marks = {"yes": ("yes   ", "可以"), "partly": ("partly", "部分"), "no": ("no    ", "不行")}
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = marks[finding.verdict][chinese()]
        print(f"{finding.what:<{width}}  {mark}  {say(finding.en, finding.zh)}")


if __name__ == "__main__":
    # `danlu check | head` is nothing to complain about.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
