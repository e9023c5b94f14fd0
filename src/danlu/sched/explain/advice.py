"""The wording of suggestions and estimates: one line each, in both languages."""

from __future__ import annotations

from collections.abc import Callable

from danlu.sched.api import Effect, Eta, EtaBasis, Suggestion, SuggestionKind
from danlu.sched.explain.words import cause_words, gib
from danlu.spec.text import EMPTY, Text, counted

Clock = Callable[[float], Text]
"""Formats a timestamp for the reader."""


def change_words(suggestion: Suggestion) -> Text:
    n = suggestion.numbers
    if suggestion.kind is SuggestionKind.SPLIT:
        return Text(
            f"{n['tasks']} x {counted(int(n['gpus']), 'GPU')}, distributed",
            f"分布式 {n['tasks']} × {n['gpus']} 卡",
        )
    if suggestion.kind is SuggestionKind.FEWER_GPUS:
        gpus = int(n["gpus"])
        return Text(counted(gpus, "GPU"), f"{gpus} 卡")
    if suggestion.kind is SuggestionKind.ANY_MODEL:
        return Text("Any model", "不限型号")
    if suggestion.kind is SuggestionKind.OTHER_MODEL:
        return Text(f"{n['model']}", f"改用 {n['model']}")
    if suggestion.kind is SuggestionKind.LESS_CPU_MEMORY:
        cpus, memory = n["cpus"], gib(int(n["memory"]))
        return Text(f"{counted(float(cpus), 'CPU')} and {memory}", f"{cpus:g} 个 CPU、{memory}")
    if suggestion.kind is SuggestionKind.OTHER_QUEUE:
        return Text(f"Queue {n['queue']}", f"队列 {n['queue']}")
    if suggestion.kind is SuggestionKind.SHORTER:
        return Text("Time limit ", "时间上限 ") + distance(float(n["seconds"]))
    if suggestion.kind is SuggestionKind.DROP_PLACE:
        return Text("Any node", "不限节点")
    return Text(f"After {n.get('ref', '')}", f"在 {n.get('ref', '')} 之后")


def effect_words(suggestion: Suggestion, clock: Clock | None = None) -> Text:
    if suggestion.effect is Effect.STARTS_NOW:
        nodes = ", ".join(suggestion.nodes[:6])
        return Text(f"starts now on {nodes}", f"立即开始：{nodes}")
    if suggestion.effect is Effect.EARLIER and suggestion.at is not None and clock is not None:
        at = clock(suggestion.at)
        if suggestion.kind is SuggestionKind.WAIT_FOR:
            return Text(f"starts about {at.en}", f"约 {at.zh}开始")
        ref = suggestion.numbers.get("ref", "")
        return Text(f"starts earlier, after {ref}, about ", f"在 {ref} 之后提前开始，约 ") + at
    if suggestion.why is None:
        return Text("no change", "没有变化")
    why = cause_words(suggestion.why)
    return Text(f"no change: {why.en[0].lower()}{why.en[1:]}", f"没有变化：{why.zh}")


_CLEAR: dict[str, Text] = {
    "hold": Text("holds and dependencies", "挂起与依赖"),
    "quota_user": Text("your quota", "个人配额"),
    "quota_group": Text("the group's quota", "课题组配额"),
    "order": Text("earlier jobs", "前面的任务"),
    "nodes": Text("drained nodes", "停用的节点"),
    "gpus": Text("GPUs", "卡数"),
    "cpus": Text("CPUs", "CPU"),
    "memory": Text("memory", "内存"),
}


def clear_words(clear: tuple[str, ...]) -> Text:
    if not clear:
        return EMPTY
    en = ", ".join(_CLEAR[one].en for one in clear)
    zh = "、".join(_CLEAR[one].zh for one in clear)
    return Text(f"Not blocking: {en}", f"不构成阻碍：{zh}")


def eta_words(eta: Eta, now: float, clock: Clock) -> Text:
    """The median and 90th percentile of the start time, and what they are based on.

    `clock` gives the time of day (14:20) or, if the reader's time zone is unknown, the time left.
    """
    if eta.p50 is None:
        return _no_eta(eta)
    if eta.basis is EtaBasis.ENGINE and eta.p50 <= now:
        return Text("Any moment; ", "随时可能开始；") + _basis(eta)
    if eta.basis is EtaBasis.NOW or eta.p50 <= now:
        return Text("Starts now", "立即开始")
    line = Text("About ", "约 ") + clock(rounded(eta.p50, now))
    if eta.after:
        line += Text(f", after {eta.after}", f"，在 {eta.after} 之后")
    if eta.p90 is not None:
        line += Text("; 90% by ", "；九成不晚于 ") + clock(rounded(eta.p90, now))
    return line + Text("; ", "；") + _basis(eta)


def _basis(eta: Eta) -> Text:
    if eta.basis is EtaBasis.ENGINE:
        return Text("the engine's own plan", "依据引擎自身的调度计划")
    if eta.basis is EtaBasis.HISTORY:
        return Text(f"from {eta.samples} finished jobs", f"依据 {eta.samples} 个已结束任务")
    return Text("from time limits", "依据时间上限")


def _no_eta(eta: Eta) -> Text:
    if eta.why == "no_limit" and eta.after:
        return Text(
            f"No estimate: waiting for {eta.after}, which has no time limit",
            f"无法估计：等待 {eta.after}，它没有时间上限",
        )
    if eta.why == "never":
        return Text(
            "No estimate: it cannot run here as requested", "无法估计：按现有要求无法在此运行"
        )
    if eta.why == "quota":
        return Text(
            "No estimate: it needs more than its quota allows",
            "无法估计：所需超过配额上限",
        )
    if eta.why == "blocked":
        return Text(
            "No estimate: it is blocked by something other than resources",
            "无法估计：受空位以外的原因限制",
        )
    if eta.why in _ENGINE:
        return _ENGINE[eta.why]
    return Text("No estimate yet", "暂无法估计")


_ENGINE = {
    "engine": Text(
        "No estimate: the engine decides when it starts", "无法估计：由引擎决定何时开始"
    ),
    "engine_no_limit": Text(
        "No estimate: jobs before it in the engine have no time limit",
        "无法估计：引擎中排在它前面的任务没有时间上限",
    ),
    "engine_far": Text(
        "No estimate: the engine's own date is more than a month away, too far to rely on",
        "无法估计：引擎给出的时间在一个月之后，不足为凭",
    ),
    "engine_blocked": Text("No estimate: it does not start by itself", "无法估计：它不会自行开始"),
    "engine_unplanned": Text(
        "No estimate: the engine has not planned it yet", "无法估计：引擎尚未为它安排时间"
    ),
}


def rounded(moment: float, now: float) -> float:
    """Rounds the time left up: to 1 minute below 20 minutes, 5 below 2 hours, 10 below 12 hours,
    and to the hour above.

    The time left is rounded rather than the clock time, so that both show the same estimate.
    """
    ahead = max(0.0, moment - now)
    step = 60 if ahead < 1200 else 300 if ahead < 7200 else 600 if ahead < 43_200 else 3600
    return now - (-ahead // step) * step


def distance(seconds: float) -> Text:
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return Text(f"{minutes} min", f"{minutes} 分钟")
    hours, rest = divmod(minutes, 60)
    if not rest:
        return Text(f"{hours} h", f"{hours} 小时")
    return Text(f"{hours} h {rest} min", f"{hours} 小时 {rest} 分钟")
