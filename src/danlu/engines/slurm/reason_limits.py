"""Slurm's limits in words. Their names are made of parts: `QOSMaxGRESPerUser`, `AssocGrpMemLimit`.

Who sets it (an association, which people know as their account, or a QOS), what kind of limit it
is (together, at most, at least), of which resource, and per what.
"""

from __future__ import annotations

import re
from enum import StrEnum

from danlu.spec.text import Text


class Help(StrEnum):
    """What makes a job start that a limit holds back."""

    WAIT = "wait"  # until other jobs have ended
    LESS = "less"  # asking for less
    MORE = "more"  # asking for more
    ADMIN = "admin"  # a budget that is used up


_PARTS = re.compile(
    r"(?P<whose>Assoc|QOS|)(?P<kind>Grp|Max|Min)"
    r"(?P<what>CPU|Cpu|Memory|Mem|Node|GRES|License|BB|Billing|Energy|Unknown|Jobs"
    r"|SubmitJobs|SubmitJob|WallDuration|Wall)"
    r"(?P<time>RunMinutes|RunMins|Minutes|)"
    r"(?P<per>PerJob|PerNode|PerUser|PerAccount|)(?:Limit|NotSatisfied|)"
)
# The thing itself, and in Chinese the word for how much of it.
_WHAT = {
    "cpu": (Text("CPUs", "CPU"), "数"),
    "mem": (Text("memory", "内存"), "用量"),
    "node": (Text("nodes", "节点"), "数"),
    "gres": (Text("GPUs (GRES)", "显卡（GRES）"), "数量"),
    "license": (Text("licences", "许可证"), "数"),
    "bb": (Text("burst buffer", "burst buffer"), "用量"),
    "billing": (Text("billing units", "计费"), "用量"),
    "energy": (Text("energy", "能耗"), ""),
    "unknown": (Text("a resource", "某项资源"), "用量"),
    "jobs": (Text("running jobs", "运行中的任务"), "数"),
    "submit": (Text("submitted jobs", "已提交的任务"), "数"),
}
_SAME = {"memory": "mem", "submitjobs": "submit", "submitjob": "submit", "wallduration": "wall"}
_ACCOUNT, _QOS = Text("its Slurm account", "所属 Slurm 账户"), Text("its QOS", "所用 QOS")


def limit(code: str) -> tuple[Text, Help] | None:
    """Words, and what helps; None: this is not the name of a limit."""
    parts = _PARTS.fullmatch(code)
    if parts is None:
        return None
    whose = _ACCOUNT if parts["whose"] == "Assoc" else _QOS
    words, what_helps = _read(parts, whose)
    return Text(words.en, _spaced(words.zh)), what_helps


def _read(parts: re.Match[str], whose: Text) -> tuple[Text, Help]:
    what = _SAME.get(parts["what"].lower(), parts["what"].lower())
    if what == "wall":
        return _wall(whose, parts["kind"])
    thing, amount = _WHAT[what]
    if parts["kind"] == "Min":
        en = f"{whose.en} requires a job to ask for more {thing.en}"
        return Text(en, f"{whose.zh}要求请求更多{thing.zh}"), Help.MORE
    if not parts["time"]:
        thing = Text(thing.en, thing.zh + amount)
    else:
        thing = Text(f"minutes of {thing.en}", f"{thing.zh}分钟数")
    if parts["time"].startswith("Run"):
        return _promised(whose, thing, parts["per"]), Help.WAIT
    if parts["kind"] == "Max":
        return _at_most(whose, thing, parts["per"])
    if parts["time"]:
        en = f"{whose.en} has used up its {thing.en}"
        return Text(en, f"{whose.zh}的{thing.zh}已用完"), Help.ADMIN
    en = f"{whose.en} has reached its limit of {thing.en}"
    return Text(en, f"{whose.zh}的{thing.zh}已达上限"), Help.WAIT


def _at_most(whose: Text, thing: Text, per: str) -> tuple[Text, Help]:
    if per in ("PerJob", "PerNode"):
        one = Text("one job", "单个任务") if per == "PerJob" else Text("one node", "单个节点")
        en = f"it asks for more {thing.en} than {whose.en} allows for {one.en}"
        return Text(en, f"请求的{thing.zh}超过{whose.zh}对{one.zh}的上限"), Help.LESS
    # Jobs are counted per person without saying so.
    who = _ACCOUNT if per == "PerAccount" else Text("its owner", "所有者")
    en = f"{who.en} has reached the limit of {thing.en} that {whose.en} sets"
    return Text(en, f"{who.zh}的{thing.zh}已达{whose.zh}规定的上限"), Help.WAIT


def _promised(whose: Text, thing: Text, per: str) -> Text:
    """Minutes count from the start of a job, as many as its time limit allows."""
    who = {"PerUser": Text("its owner", "所有者"), "PerAccount": _ACCOUNT}.get(per, whose)
    return Text(
        f"the running jobs of {who.en} may still use all {thing.en} allowed at once",
        f"{who.zh}运行中的任务已占满允许的{thing.zh}",
    )


def _wall(whose: Text, kind: str) -> tuple[Text, Help]:
    if kind == "Grp":
        words = Text(f"{whose.en} has used up its run time", f"{whose.zh}的运行时间已用完")
        return words, Help.ADMIN
    en = f"its time limit is longer than {whose.en} allows"
    return Text(en, f"时间上限超过{whose.zh}允许的最长时间"), Help.LESS


def _spaced(words: str) -> str:
    """Chinese and Latin letters are kept apart by a space."""
    words = re.sub(r"([A-Za-z])([\u4e00-\u9fff])", r"\1 \2", words)
    return re.sub(r"([\u4e00-\u9fff])([A-Za-z])", r"\1 \2", words)
