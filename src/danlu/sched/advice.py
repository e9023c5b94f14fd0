"""Suggestions, estimates and what is not in the way, in words: both languages, one line each."""

from __future__ import annotations

from collections.abc import Callable

from danlu.sched.api import Effect, Eta, EtaBasis, Suggestion, SuggestionKind
from danlu.sched.words import Pair, cause_words, gib

Clock = Callable[[float], Pair]
"""A moment as the reader's clock shows it, in both languages."""


def change_words(suggestion: Suggestion) -> Pair:
    """The change that was tried."""
    n = suggestion.numbers
    if suggestion.kind is SuggestionKind.SPLIT:
        return (
            f"{n['tasks']} x {n['cards']} card{'' if n['cards'] == 1 else 's'}, distributed",
            f"分布式 {n['tasks']} × {n['cards']} 卡",
        )
    if suggestion.kind is SuggestionKind.FEWER_CARDS:
        cards = int(n["cards"])
        return ("1 card" if cards == 1 else f"{cards} cards"), f"{cards} 卡"
    if suggestion.kind is SuggestionKind.ANY_MODEL:
        return "Any model", "不限型号"
    if suggestion.kind is SuggestionKind.OTHER_MODEL:
        return f"{n['model']}", f"改用 {n['model']}"
    if suggestion.kind is SuggestionKind.LESS_CPU_MEMORY:
        cpus, memory = n["cpus"], gib(int(n["memory"]))
        return f"{cpus:g} CPUs and {memory}", f"{cpus:g} 个 CPU、{memory}"
    if suggestion.kind is SuggestionKind.OTHER_QUEUE:
        return f"Queue {n['queue']}", f"队列 {n['queue']}"
    if suggestion.kind is SuggestionKind.SHORTER:
        en, zh = distance(float(n["seconds"]))
        return f"Time limit {en}", f"时间上限 {zh}"
    if suggestion.kind is SuggestionKind.DROP_PLACE:
        return "Any node", "不限节点"
    return f"After {n.get('ref', '')}", f"在 {n.get('ref', '')} 之后"


def effect_words(suggestion: Suggestion, clock: Clock | None = None) -> Pair:
    """What it changes."""
    if suggestion.effect is Effect.STARTS_NOW:
        nodes = ", ".join(suggestion.nodes[:6])
        return f"starts now on {nodes}", f"立即开始：{nodes}"
    if suggestion.effect is Effect.EARLIER and suggestion.at is not None and clock is not None:
        en, zh = clock(suggestion.at)
        if suggestion.kind is SuggestionKind.WAIT_FOR:
            return f"starts about {en}", f"约 {zh}开始"
        ref = suggestion.numbers.get("ref", "")
        return f"starts earlier, after {ref}, about {en}", f"在 {ref} 之后提前开始，约 {zh}"
    if suggestion.why is None:
        return "no change", "没有变化"
    en, zh = cause_words(suggestion.why)
    return f"no change: {en[0].lower()}{en[1:]}", f"没有变化：{zh}"


_CLEAR: dict[str, Pair] = {
    "hold": ("holds and dependencies", "挂起与依赖"),
    "quota_user": ("your quota", "个人配额"),
    "quota_group": ("the group's quota", "课题组配额"),
    "order": ("jobs before it", "前面的任务"),
    "nodes": ("nodes that are out", "停用的节点"),
    "cards": ("cards", "卡数"),
    "cpus": ("CPUs", "CPU"),
    "memory": ("memory", "内存"),
}


def clear_words(clear: tuple[str, ...]) -> Pair:
    """The last line: what is not in the way."""
    if not clear:
        return "", ""
    en = ", ".join(_CLEAR[one][0] for one in clear)
    zh = "、".join(_CLEAR[one][1] for one in clear)
    return f"Not in the way: {en}", f"不构成阻碍：{zh}"


def eta_words(eta: Eta, now: float, clock: Clock) -> Pair:
    """About when, after whom, by when in nine of ten cases, and what that rests on.

    `clock` tells the moment (14:20) or, where the reader's zone is unknown, the time till then.
    """
    if eta.p50 is None:
        return _no_eta(eta)
    if eta.basis is EtaBasis.NOW or eta.p50 <= now:
        return "Starts now", "立即开始"
    en, zh = clock(rounded(eta.p50, now))
    after_en = f", after {eta.after}" if eta.after else ""
    after_zh = f"，在 {eta.after} 之后" if eta.after else ""
    parts_en, parts_zh = [f"About {en}{after_en}"], [f"约 {zh}{after_zh}"]
    if eta.p90 is not None:
        late_en, late_zh = clock(rounded(eta.p90, now))
        parts_en.append(f"9 in 10 by {late_en}")
        parts_zh.append(f"九成不晚于 {late_zh}")
    basis_en, basis_zh = _basis(eta)
    return "; ".join([*parts_en, basis_en]), "；".join([*parts_zh, basis_zh])


def _basis(eta: Eta) -> Pair:
    if eta.basis is EtaBasis.HISTORY:
        return f"from {eta.samples} finished jobs", f"依据 {eta.samples} 个已结束任务"
    return "from time limits", "依据时间上限"


def _no_eta(eta: Eta) -> Pair:
    if eta.why == "no_limit" and eta.after:
        return (
            f"No estimate: waits for {eta.after}, which has no time limit",
            f"无法估计：等待 {eta.after}，它没有时间上限",
        )
    if eta.why == "never":
        return "No estimate: it cannot run here as it is", "无法估计：按现有要求无法在此运行"
    if eta.why == "quota":
        return (
            "No estimate: it needs more than its quota ever allows",
            "无法估计：所需超过配额上限",
        )
    if eta.why == "blocked":
        return (
            "No estimate: something other than room keeps it back",
            "无法估计：受空位以外的原因限制",
        )
    return "No estimate yet", "暂无法估计"


def rounded(moment: float, now: float) -> float:
    """To 5 minutes under 2 hours, 10 minutes under 12 hours, else the hour; never into the past."""
    ahead = moment - now
    step = 300 if ahead < 7200 else 600 if ahead < 43_200 else 3600
    return -(-moment // step) * step


def distance(seconds: float) -> Pair:
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min", f"{minutes} 分钟"
    hours, rest = divmod(minutes, 60)
    if not rest:
        return f"{hours} h", f"{hours} 小时"
    return f"{hours} h {rest} min", f"{hours} 小时 {rest} 分钟"
