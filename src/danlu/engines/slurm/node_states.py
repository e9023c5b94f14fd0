"""Slurm's node states in words, and whether a node in that state takes new jobs.

sinfo prints them short (`drng*`) or long (`DRAINING*`), scontrol as a set (`IDLE+DRAIN`); signs at
the end are flags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from danlu.spec.text import EMPTY, Text


@dataclass(frozen=True, slots=True)
class NodeWord:
    takes_jobs: bool
    words: Text = EMPTY  # empty: nothing to say about it


_FINE = NodeWord(True)
_DOWN = NodeWord(False, Text("down", "已宕机"))
_DRAINED = NodeWord(False, Text("drained by a Slurm admin", "已被 Slurm 管理员停用"))
_DRAINING = NodeWord(
    False,
    Text(
        "being drained by a Slurm admin; its jobs continue",
        "正被 Slurm 管理员停用，现有任务继续运行",
    ),
)
_FAIL = NodeWord(False, Text("about to fail, says its Slurm admin", "Slurm 管理员标记为即将故障"))
_POWERED_DOWN = NodeWord(True, Text("powered off until it is needed", "已关机，需要时开机"))
_POWERING_UP = NodeWord(True, Text("being powered up", "正在开机"))
_POWERING_DOWN = NodeWord(False, Text("being powered off", "正在关机"))
_REBOOT = NodeWord(False, Text("to be rebooted", "等待重启"))
_REBOOTING = NodeWord(False, Text("rebooting", "正在重启"))
_MAINT = NodeWord(False, Text("reserved for maintenance", "已预留用于维护"))
_RESERVED = NodeWord(False, Text("in a reservation of Slurm's", "在 Slurm 的预留中"))
_PLANNED = NodeWord(
    True,
    Text("planned by Slurm for a job with a higher priority", "已被 Slurm 安排给更高优先级的任务"),
)
_SILENT = NodeWord(False, Text("not responding to Slurm", "对 Slurm 无响应"))
_FUTURE = NodeWord(False, Text("announced for later (FUTURE)", "尚未投入使用（FUTURE）"))
_INVALID = NodeWord(
    False,
    Text(
        "registered with less than slurm.conf specifies (INVALID_REG)",
        "注册的资源少于 slurm.conf 中的配置（INVALID_REG）",
    ),
)
_UNKNOWN = NodeWord(False, Text("in a state Slurm does not know yet", "Slurm 尚不清楚其状态"))
_ERROR = NodeWord(False, Text("in an error state", "处于错误状态"))
_BLOCKED = NodeWord(False, Text("blocked by a job that runs alone", "被独占任务阻塞"))
_COUNTERS = NodeWord(
    False, Text("kept busy by network performance counters", "网络性能计数器占用中")
)

_STATES: dict[str, NodeWord] = {
    "allocated": _FINE,
    "alloc": _FINE,
    "completing": _FINE,
    "comp": _FINE,
    "idle": _FINE,
    "mixed": _FINE,
    "mix": _FINE,
    "cloud": _FINE,
    "dynamic_future": _FUTURE,
    "dynamic_norm": _FINE,
    "resume": _FINE,
    "resm": _FINE,
    "undrain": _FINE,
    "cancel_reboot": _FINE,
    "down": _DOWN,
    "drained": _DRAINED,
    "drain": _DRAINED,
    "draining": _DRAINING,
    "drng": _DRAINING,
    "fail": _FAIL,
    "failing": _FAIL,
    "failg": _FAIL,
    "future": _FUTURE,
    "futr": _FUTURE,
    "inval": _INVALID,
    "invalid_reg": _INVALID,
    "maint": _MAINT,
    "maintenance": _MAINT,
    "reboot": _REBOOT,
    "reboot_requested": _REBOOT,
    "reboot_issued": _REBOOTING,
    "boot": _REBOOTING,
    "perfctrs": _COUNTERS,
    "npc": _COUNTERS,
    "planned": _PLANNED,
    "plnd": _PLANNED,
    "power_down": _POWERING_DOWN,
    "pow_dn": _POWERING_DOWN,
    "power_drain": _POWERING_DOWN,
    "powering_down": _POWERING_DOWN,
    "powered_down": _POWERED_DOWN,
    "power_up": _POWERING_UP,
    "pow_up": _POWERING_UP,
    "powering_up": _POWERING_UP,
    "reserved": _RESERVED,
    "resv": _RESERVED,
    "not_responding": _SILENT,
    "no_respond": _SILENT,
    "blocked": _BLOCKED,
    "error": _ERROR,
    "unknown": _UNKNOWN,
    "unk": _UNKNOWN,
}
_SIGNS = {
    "*": _SILENT,
    "~": _POWERED_DOWN,
    "#": _POWERING_UP,
    "!": _POWERING_DOWN,
    "%": _POWERING_DOWN,
    "$": _MAINT,
    "@": _REBOOT,
    "^": _REBOOTING,
    "-": _PLANNED,
    "+": _FINE,  # some of its jobs are completing
}
_SHAPE = re.compile(r"([A-Za-z_]+(?:\+[A-Za-z_]+)*)([*~#!%$@^+-]*)")


def node_word(state: str, reason: str = "") -> NodeWord:
    """Of a state as sinfo or scontrol print it; `reason` is what was given for it."""
    found = _SHAPE.fullmatch(state.strip())
    if found is None:
        return NodeWord(False, Text(f"state {state}", f"状态 {state}") + _why(reason))
    names = [name.casefold() for name in found[1].split("+")]
    unheard = NodeWord(True, Text(f"state {found[1]}", f"状态 {found[1]}"))
    each = [_STATES.get(name, unheard) for name in names] + [_SIGNS[sign] for sign in found[2]]
    if "drain" in names and {"allocated", "mixed", "alloc", "mix"} & set(names):
        each.append(_DRAINING)
        each.remove(_DRAINED)
    words = list(dict.fromkeys(one.words for one in each if one.words))
    takes = all(one.takes_jobs for one in each)
    if not words:
        return NodeWord(takes)
    told = Text("; ".join(w.en for w in words), "；".join(w.zh for w in words))
    return NodeWord(takes, told if takes else told + _why(reason))


def _why(reason: str) -> Text:
    said = reason.strip()
    return EMPTY if said.casefold() in ("", "none", "(null)") else Text(f": {said}", f"：{said}")
