"""The keys of a DLC job, and how its params file is read: `key=value`, one a line."""

from __future__ import annotations

import re
from typing import Any

from danlu.spec.dialects.dlc_roles import COUNTS, RESOURCES
from danlu.spec.errors import NO_VALUE, Finding, Path, spec_error
from danlu.spec.read import RawJob, read_jobs

_KEY = re.compile(r"(?:--)?([A-Za-z_][A-Za-z0-9_.-]*)", re.ASCII)

_NOT_NEEDED_EN = "has no meaning here; nothing of it is needed"
_NOT_NEEDED_ZH = "在这里没有意义，也不需要"
_NETWORK = ("networks are those of the nodes", "网络即节点的网络")
_KEPT = ("jobs and their logs stay listed anyway", "任务及其日志本来就会保留")
_WATCHED = ("the platform itself watches the tasks", "平台自己会看护任务")
_REGISTRY = (
    "is not used; registries and their logins are set up once by the admin",
    "不使用；镜像仓库及其登录由管理员统一设置",
)
NOTED: dict[str, tuple[str, str]] = {
    "vpc_id": _NETWORK,
    "switch_id": _NETWORK,
    "security_group_id": _NETWORK,
    "extended_cidrs": _NETWORK,
    "default_route": _NETWORK,
    "tags": ("jobs have no tags here", "这里的任务没有标签"),
    "oversold_type": ("cards are not oversold here", "这里不超卖"),
    "driver": ("the node's driver is used", "使用节点的驱动"),
    "job_reserved_minutes": _KEPT,
    "job_reserved_policy": _KEPT,
    "advanced_settings": (_NOT_NEEDED_EN, _NOT_NEEDED_ZH),
    "image_repo_username": _REGISTRY,
    "image_repo_password": _REGISTRY,
    "aimaster_enable": _WATCHED,
    "aimaster_args": _WATCHED,
    "enable_credential": ("tasks get no login of the cloud", "任务不会得到云上的凭证"),
    "disable_ecs_stock_check": (_NOT_NEEDED_EN, _NOT_NEEDED_ZH),
    "exit_code_on_stopped": ("a stopped job ends as stopped", "被停止的任务状态为已停止"),
    "enable_priority_preemption": (
        "whether a job may be stopped for others is the queue's policy",
        "任务能否因他人被停止由队列策略决定",
    ),
}
_COMMON = (
    "name",
    "kind",
    "command",
    "workspace_id",
    "resource_id",
    "priority",
    "data_sources",
    "data_source_uris",
    "code_source",
    "code_branch",
    "code_commit",
    "thirdparty_libs",
    "thirdparty_lib_dir",
    "envs",
    "interactive",
    "enable_preemptible_job",
    "job_max_running_time_minutes",
    "success_policy",
    "node_names",
)
KNOWN = (
    *_COMMON,
    *(name for names in COUNTS.values() for name in names),
    *(f"{role}_{what}" for role in COUNTS for what in RESOURCES),
    *NOTED,
)


SWITCHES = frozenset(
    {
        "aimaster_enable",
        "chief",
        "disable_ecs_stock_check",
        "enable_credential",
        "enable_preemptible_job",
        "enable_priority_preemption",
        "force",
        "interactive",
        "quiet",
    }
)
"""Flags that need no value."""


def read_pairs(text: str) -> RawJob:
    """The values of a file, or of flags given as a JSON object. Raises `SpecError`."""
    if text.lstrip().startswith("{"):
        return read_jobs(text, "application/json")[0]
    values: dict[str, Any] = {}
    lines: dict[Path, int] = {}
    findings: list[Finding] = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        match = _KEY.fullmatch(name.strip())
        if not equals or match is None:
            place: Path = (bare.split()[0][:30],)
            lines.setdefault(place, number)
            findings.append(
                Finding(
                    place,
                    NO_VALUE,
                    "this line is not key=value; a value is all that stands after the first '='",
                    "这一行不是 key=value；第一个 '=' 之后都是值",
                )
            )
            continue
        key = match[1]
        if (key,) in lines:
            findings.append(
                Finding((key,), NO_VALUE, "stands twice; keep one", "出现两次；请只保留一个")
            )
        lines[(key,)] = number
        values[key] = value.rstrip("\r")
    raw = RawJob(values, None, lines)
    if findings:
        raise spec_error(findings, raw.line_of)
    return raw
