"""Which folders may be declared as a volume, in danlu.toml or by command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from danlu.files.settings import VolumeConfig
from danlu.files.volumes import AREA, BUILT_IN, SHARE_OF, below, real_path
from danlu.spec.errors import Finding, Wrong
from danlu.spec.text import Text
from danlu.spec.ties import read_target

_NEVER_BELOW = ("/proc", "/sys", "/dev", "/etc", "/boot", "/run")
_NEVER = ("/", "/bin", "/sbin", "/lib", "/lib64", "/usr", "/var", "/tmp")  # noqa: S108


def check(volume: VolumeConfig, data: Path, others: Mapping[str, VolumeConfig]) -> None:
    """Raises Wrong if the volume may not be declared."""
    found: list[Finding] = []
    if volume.name in BUILT_IN or volume.name.startswith(SHARE_OF):
        found.append(
            Finding(
                ("name",),
                volume.name,
                Text("is built in; choose another name", "是内置的存储卷；请换一个名称"),
            )
        )
    problem = _source_problem(str(volume.source), data)
    if problem is not None:
        found.append(Finding(("source",), str(volume.source), problem))
    try:
        target = read_target(volume.target)
        taken = _target_taken(volume, target, others)
        if taken is not None:
            found.append(Finding(("path",), volume.target, taken))
    except Wrong as error:
        found.extend(finding.below(("path",)) for finding in error.findings)
    if found:
        raise Wrong(found)


def _target_taken(
    volume: VolumeConfig, target: str, others: Mapping[str, VolumeConfig]
) -> Text | None:
    for kept in ("/userhome", "/mnt/user", "/mnt/share"):
        if below(target, kept):
            return Text(
                f"is reserved for {kept}; choose another path", f"保留给 {kept}；请换一个路径"
            )
    for other in others.values():
        both = other.everywhere and volume.everywhere and other.name != volume.name
        if both and read_target(other.target) == target:
            return Text(
                f"is already the path of volume {other.name}, and both are mounted in every task",
                f"已是存储卷 {other.name} 的位置，而两者都在每个任务中",
            )
    return None


def _source_problem(source: str, data: Path) -> Text | None:
    if not source.startswith("/") or ".." in source.split("/") or not source.isprintable():
        return Text(
            "is not a folder on the machine; write an absolute path without '..'",
            "不是机器上的目录；请写不含 '..' 的绝对路径",
        )
    real, own = real_path(source), real_path(data)
    if real in _NEVER or any(below(path, kept) for path in (real, source) for kept in _NEVER_BELOW):
        return Text(
            f"belongs to the system ({real}); choose a folder for data",
            f"属于系统（{real}）；请选择存放数据的目录",
        )
    if below(own, real) or (
        below(real, own) and not any(below(real, f"{own}/{name}") for name in (AREA, "gdata"))
    ):
        return Text(
            f"would expose the server's data folder ({own}) to tasks; choose a folder outside it, "
            f"or below {own}/{AREA}",
            f"会让任务看到服务器的数据目录（{own}）；请选择它以外的目录，"
            f"或 {own}/{AREA} 之下的目录",
        )
    return None
