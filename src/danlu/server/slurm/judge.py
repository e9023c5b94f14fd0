"""What the machines of a cluster said, compared: names, clocks, accounts, munge, GPUs, versions."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from danlu.server.check import Finding
from danlu.server.slurm.probe import Facts
from danlu.spec.text import Text

OLDEST = (22, 5)
CLOSE = 2.0  # seconds between two clocks that nobody notices
MUNGE_ALLOWS = 300.0
_SHOWN = 5


def versions(here: str, there: Mapping[str, Facts]) -> Iterator[Finding]:
    """`here`: of the controller. A slurmd may be older than it, not newer."""
    own = _version(here)
    if own is None:
        return
    if own < OLDEST:
        yield Finding(
            "version",
            "no",
            Text(
                f"Slurm {here}: Danlu needs 22.05 or newer", f"Slurm {here}：丹炉需要 22.05 或更新"
            ),
        )
        return
    newer = [name for name, facts in there.items() if (_version(facts.slurmd) or own) > own]
    older = [name for name, facts in there.items() if (_version(facts.slurmd) or own) < own]
    if newer:
        yield Finding(
            "version",
            "no",
            Text(
                f"{some(newer)}: slurmd is newer than the controller ({here}); update that first",
                f"{some(newer)}：slurmd 比控制节点（{here}）新；请先升级控制节点",
            ),
        )
    elif older:
        yield Finding(
            "version",
            "partly",
            Text(
                f"{some(older)}: slurmd is older than the controller ({here}); up to two releases "
                "apart, this works",
                f"{some(older)}：slurmd 比控制节点（{here}）旧，相差不超过两个版本时可用",
            ),
        )
    else:
        yield Finding("version", "yes", Text(f"Slurm {here}", f"Slurm {here}"))


def _version(said: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else None


def names(addresses: Mapping[str, str]) -> Iterator[Finding]:
    """Name -> where it is said to be, if not by its name."""
    lost, loops = [], []
    for name, address in addresses.items():
        try:
            found = socket.getaddrinfo(address or name, None, proto=socket.IPPROTO_TCP)
        except OSError:
            lost.append(name)
            continue
        if len(addresses) > 1 and all(str(one[4][0]).startswith("127.") for one in found):
            loops.append(name)
    if lost:
        yield Finding(
            "names",
            "no",
            Text(
                f"cannot be resolved here: {some(lost)}. Add them to /etc/hosts or DNS, on every "
                "machine",
                f"无法解析：{some(lost)}。请在每台机器的 /etc/hosts 或 DNS 中添加",
            ),
        )
    if loops:
        yield Finding(
            "names",
            "partly",
            Text(
                f"resolve to this machine itself (127.*): {some(loops)}. If others have to reach "
                "them, put their real address into /etc/hosts",
                f"解析为本机回环地址（127.*）：{some(loops)}。若其他机器要连接它，"
                "请在 /etc/hosts 写真实地址",
            ),
        )
    if not lost and not loops:
        count = len(addresses)
        yield Finding("names", "yes", Text(f"all {count} can be resolved", f"{count} 个均可解析"))


def answers(there: Mapping[str, Facts]) -> Iterator[Finding]:
    for name, facts in there.items():
        if facts.problem:
            yield Finding(
                name,
                "no",
                Text("no answer from: ", "无法查询：") + facts.problem,
            )


def clocks(there: Mapping[str, Facts]) -> Iterator[Finding]:
    off = {name: facts.ahead for name, facts in there.items() if abs(facts.ahead) > CLOSE}
    if not off:
        if there:
            yield Finding("clocks", "yes", Text("agree", "一致"))
        return
    worst = max(abs(seconds) for seconds in off.values())
    listed = ", ".join(f"{name} {seconds:+.0f} s" for name, seconds in list(off.items())[:_SHOWN])
    verdict = "no" if worst >= MUNGE_ALLOWS else "partly"
    yield Finding(
        "clocks",
        verdict,
        Text(
            f"differ from here: {listed}. munge refuses from 5 minutes on; let chrony set them",
            f"与本机不一致：{listed}。相差 5 分钟起 munge 会拒绝；请用 chrony 校时",
        ),
    )


def accounts(here: Facts, there: Mapping[str, Facts]) -> Iterator[Finding]:
    own = here.accounts or {}
    wrong, gone = [], []
    for node, facts in there.items():
        theirs = facts.accounts or {}
        for name, numbers in own.items():
            if name not in theirs:
                gone.append(f"{name} ({node})")
            elif theirs[name] != numbers:
                wrong.append(f"{name} ({node}: {theirs[name][0]}, here {numbers[0]})")
    if wrong:
        yield Finding(
            "accounts",
            "no",
            Text(
                f"uid or gid differs from here: {some(wrong)}. Files and jobs would belong to "
                "somebody else there",
                f"uid 或 gid 与本机不同：{some(wrong)}。文件和任务会归属到别人名下",
            ),
        )
    if gone:
        yield Finding(
            "accounts",
            "partly",
            Text(
                f"missing: {some(gone)}. Their jobs cannot start there",
                f"缺少账号：{some(gone)}。其任务无法在那里启动",
            ),
        )
    if not wrong and not gone and there:
        yield Finding(
            "accounts",
            "yes",
            Text(f"{len(own)} accounts, the same everywhere", f"{len(own)} 个账号，各处一致"),
        )


Decode = Callable[[str], str]


def munge(there: Mapping[str, Facts], decode: Decode) -> Iterator[Finding]:
    """A credential made there must be one here. `decode` answers with what is wrong with it."""
    bad = {}
    for name, facts in there.items():
        if not facts.munge.startswith("MUNGE:"):
            bad[name] = facts.munge or "no answer"
            continue
        problem = decode(facts.munge)
        if problem:
            bad[name] = problem
    for name, problem in bad.items():
        yield Finding(
            f"munge {name}",
            "no",
            Text(
                f"{problem[:200]}. The same /etc/munge/munge.key belongs on every machine "
                "(munge.sh), and munge must run",
                f"{problem[:200]}。每台机器的 /etc/munge/munge.key 必须相同（munge.sh），"
                "且 munge 要在运行",
            ),
        )
    if not bad and there:
        yield Finding("munge", "yes", Text("the same key everywhere", "各处密钥相同"))


def unmunge(socket_path: str) -> Decode:
    options = ["-S", socket_path] if socket_path else []

    def decode(credential: str) -> str:
        try:
            done = subprocess.run(
                ["unmunge", *options],
                input=credential.encode(),
                capture_output=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"unmunge: {error}"
        said = (done.stdout + done.stderr).decode(errors="replace")
        status = re.search(r"STATUS:\s*(.*)", said)
        if done.returncode == 0:
            return ""
        return (status[1] if status else said.strip() or "unmunge failed")[:200]

    return decode


def files(here: Facts, there: Mapping[str, Facts]) -> Iterator[Finding]:
    own = here.files or {}
    differ = sorted(
        f"{node}: {name}"
        for node, facts in there.items()
        for name in own
        if (facts.files or {}).get(name) != own[name]
    )
    if differ:
        yield Finding(
            "files",
            "no",
            Text(
                f"not the same as here: {some(differ)}. Copy them to every machine, then "
                "`scontrol reconfigure`",
                f"与本机不同：{some(differ)}。请复制到每台机器，再执行 `scontrol reconfigure`",
            ),
        )
    elif there and own:
        listed = ", ".join(sorted(own))
        yield Finding("files", "yes", Text(f"{listed}: the same everywhere", f"{listed} 各处相同"))


def devices(wanted: Mapping[str, Sequence[str]], there: Mapping[str, Facts]) -> Iterator[Finding]:
    """Node -> the device files that gres.conf names for it."""
    lost = {
        name: [path for path in paths if path not in there[name].devices]
        for name, paths in wanted.items()
        if name in there
    }
    bad = {name: paths for name, paths in lost.items() if paths}
    for name, paths in bad.items():
        yield Finding(
            f"gpus {name}",
            "no",
            Text(
                f"missing: {some(paths)}. Is the driver loaded (nvidia-smi)? Or does gres.conf "
                "list more GPUs than there are?",
                f"不存在：{some(paths)}。驱动是否加载（nvidia-smi）？或 gres.conf 写多了",
            ),
        )
    if wanted and not bad and lost:
        count = sum(len(paths) for name, paths in wanted.items() if name in there)
        yield Finding("gpus", "yes", Text(f"{count}, all present", f"{count} 张，均存在"))


def shared(folder: str, secret: str, there: Mapping[str, Facts]) -> Iterator[Finding]:
    blind = [name for name, facts in there.items() if facts.shared != secret]
    if blind:
        yield Finding(
            "shared folder",
            "no",
            Text(
                f"{folder} is not the same folder on: {some(blind)}. Mount it there under this "
                "path",
                f"以下机器看到的 {folder} 不是同一目录：{some(blind)}。请以相同路径挂载",
            ),
        )
    elif there:
        yield Finding(
            "shared folder",
            "yes",
            Text(f"{folder}: visible on all machines", f"{folder}：各处可见"),
        )


def programs(there: Mapping[str, Facts]) -> Iterator[Finding]:
    """What Danlu's tasks are started with."""
    lacking = [f"{name} ({', '.join(facts.lacks)})" for name, facts in there.items() if facts.lacks]
    if lacking:
        yield Finding(
            "programs",
            "no",
            Text(
                f"missing on: {some(lacking)}. Install it there; `python` in danlu.toml names a "
                "Python in another place",
                f"以下节点缺少程序：{some(lacking)}。请在那里安装；若 Python 在别处，用 "
                "danlu.toml 的 `python` 指定",
            ),
        )
    elif there:
        yield Finding(
            "programs", "yes", Text("Bash and Python everywhere", "各处都有 Bash 和 Python")
        )


def containers(there: Mapping[str, Facts]) -> Iterator[Finding]:
    """Which runtime all nodes have: what `containers` in danlu.toml should say."""
    if not there:
        return
    first, *others = there.values()
    everywhere = [
        each for each in first.containers if all(each in other.containers for other in others)
    ]
    if everywhere:
        chosen = everywhere[0]
        yield Finding(
            "containers",
            "yes",
            Text(
                f'{", ".join(everywhere)} everywhere: images run with containers = "{chosen}"',
                f'各处都有 {"、".join(everywhere)}：可用 containers = "{chosen}" 运行镜像',
            ),
        )
        return
    without = [name for name, facts in there.items() if not facts.containers]
    listed = some(without or list(there))
    yield Finding(
        "containers",
        "partly",
        Text(
            f"no runtime that all nodes have ({listed}): jobs with an image need apptainer, "
            "podman, enroot or docker there",
            f"没有各节点都具备的运行时（{listed}）：带镜像的任务需要 apptainer、podman、enroot "
            "或 docker",
        ),
    )


def some(words: Sequence[str]) -> str:
    shown = ", ".join(words[:_SHOWN])
    return f"{shown} +{len(words) - _SHOWN}" if len(words) > _SHOWN else shown
