"""What happened to a job, in words: one line per event, in both languages."""

from __future__ import annotations

from typing import Any

from danlu.spec.diagnose import describe
from danlu.spec.states import Reason
from danlu.store.rows import EventRow

Pair = tuple[str, str]


def event_words(event: EventRow) -> Pair:
    return _WORDS.get(event.kind, _unknown)(event, event.data)


def _submitted(event: EventRow, data: dict[str, Any]) -> Pair:
    return f"Submitted by {event.actor}", f"{event.actor} 提交"


def _placed(event: EventRow, data: dict[str, Any]) -> Pair:
    spots = []
    for place in data.get("places", ()):
        cards = ",".join(str(card) for card in place["cards"])
        spots.append((place["node"], cards))
    en = "; ".join(f"{node} cards {cards}" if cards else node for node, cards in spots[:8])
    zh = "；".join(f"{node} 的 {cards} 号卡" if cards else node for node, cards in spots[:8])
    more = len(spots) - 8
    if more > 0:
        en, zh = f"{en} and {more} more", f"{zh} 等另外 {more} 处"
    return f"Placed on {en} (attempt {data['attempt']})", f"分配到 {zh}（第 {data['attempt']} 次）"


def _started(event: EventRow, data: dict[str, Any]) -> Pair:
    return f"Started (attempt {data['attempt']})", f"开始运行（第 {data['attempt']} 次）"


def _stop_requested(event: EventRow, data: dict[str, Any]) -> Pair:
    if data.get("why") == Reason.TIME_LIMIT:
        return "Its time limit is reached: being stopped", "达到时间上限，正在停止"
    return f"{event.actor} asked to stop it", f"{event.actor} 要求停止"


def _requeued(event: EventRow, data: dict[str, Any]) -> Pair:
    en, zh, *_ = describe(Reason(data["reason"]), data.get("detail") or {})
    pause = float(data.get("pause") or 0)
    wait_en = f", tried again in {pause:g} s" if pause else ", tried again"
    wait_zh = f"，{pause:g} 秒后重试" if pause else "，重试"
    return f"{en} (attempt {data['attempt']}){wait_en}", f"{zh}（第 {data['attempt']} 次）{wait_zh}"


def _ended(event: EventRow, data: dict[str, Any]) -> Pair:
    en, zh, *_ = describe(Reason(data["reason"]), data.get("detail") or {})
    return en, zh


def _held(event: EventRow, data: dict[str, Any]) -> Pair:
    return f"Held by {event.actor}", f"{event.actor} 挂起"


def _released(event: EventRow, data: dict[str, Any]) -> Pair:
    return f"Released by {event.actor}", f"{event.actor} 释放"


def _unknown(event: EventRow, data: dict[str, Any]) -> Pair:
    return event.kind, event.kind


_WORDS = {
    "submitted": _submitted,
    "placed": _placed,
    "started": _started,
    "stop_requested": _stop_requested,
    "requeued": _requeued,
    "ended": _ended,
    "held": _held,
    "released": _released,
}
