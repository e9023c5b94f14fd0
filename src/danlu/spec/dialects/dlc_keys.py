"""The keys of a DLC job, and its params file: `key=value`, one per line."""

from __future__ import annotations

import re
from typing import Any

from danlu.spec.dialects.dlc_roles import COUNTS, RESOURCES
from danlu.spec.errors import NO_VALUE, Finding, Path, spec_error
from danlu.spec.read import RawJob, read_jobs
from danlu.spec.text import Text

_KEY = re.compile(r"(?:--)?([A-Za-z_][A-Za-z0-9_.-]*)", re.ASCII)

_NOT_NEEDED = Text(
    "has no meaning here and is not needed",
    "在这里没有意义，也不需要",
)
_NETWORK = Text("the nodes' networks are used", "网络即节点的网络")
_KEPT = Text("jobs and their logs are kept anyway", "任务及其日志本来就会保留")
WATCHED = Text("the platform monitors the tasks itself", "平台自己会看护任务")
_REGISTRY = Text(
    "is not used; registries and their credentials are configured by the admin",
    "不使用；镜像仓库及其登录由管理员统一设置",
)
NOTED: dict[str, Text] = {
    "vpc_id": _NETWORK,
    "switch_id": _NETWORK,
    "security_group_id": _NETWORK,
    "extended_cidrs": _NETWORK,
    "default_route": _NETWORK,
    "tags": Text("jobs have no tags here", "这里的任务没有标签"),
    "oversold_type": Text("GPUs are not oversubscribed here", "这里不超卖"),
    "driver": Text("the node's driver is used", "使用节点的驱动"),
    "job_reserved_minutes": _KEPT,
    "job_reserved_policy": _KEPT,
    "advanced_settings": _NOT_NEEDED,
    "image_repo_username": _REGISTRY,
    "image_repo_password": _REGISTRY,
    "aimaster_enable": WATCHED,
    "enable_credential": Text("tasks get no cloud credentials", "任务不会得到云上的凭证"),
    "disable_ecs_stock_check": _NOT_NEEDED,
    "exit_code_on_stopped": Text("a stopped job ends as stopped", "被停止的任务状态为已停止"),
    "enable_priority_preemption": Text(
        "whether jobs may be preempted is up to the queue's policy",
        "任务能否被抢占由队列策略决定",
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
    "aimaster_args",
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
"""Flags without a value."""


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
                    Text(
                        "is not key=value; everything after the first '=' is the value",
                        "不是 key=value；第一个 '=' 之后都是值",
                    ),
                )
            )
            continue
        key = match[1]
        if (key,) in lines:
            findings.append(
                Finding((key,), NO_VALUE, Text("is set twice; keep one", "出现两次；请只保留一个"))
            )
        lines[(key,)] = number
        values[key] = value.rstrip("\r")
    raw = RawJob(values, None, lines)
    if findings:
        raise spec_error(findings, raw.line_of)
    return raw
