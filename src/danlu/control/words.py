"""What happened to a job, in words: one line per event, in both languages."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

from danlu.engines.api import ImageProgress
from danlu.spec.diagnose import describe
from danlu.spec.states import Reason, Retry, meaning
from danlu.spec.units import format_duration, format_size
from danlu.store.rows import EventRow

Pair = tuple[str, str]
_PROGRESS = frozenset(field.name for field in fields(ImageProgress))


def event_words(event: EventRow) -> Pair:
    return _WORDS.get(event.kind, _unknown)(event, event.data)


def _submitted(event: EventRow, data: dict[str, Any]) -> Pair:
    return f"Submitted by {event.actor}", f"{event.actor} 提交"


def _converted(event: EventRow, data: dict[str, Any]) -> Pair:
    language = data.get("dialect", "")
    notes = data.get("notes", ())
    en, zh = f"Read as {language}", f"按 {language} 读取"
    if notes:
        en = f"{en}. " + ". ".join(str(note.get("en", "")) for note in notes)
        zh = f"{zh}。" + "。".join(str(note.get("zh", "")) for note in notes)
    return en, zh


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


def _pulling(event: EventRow, data: dict[str, Any]) -> Pair:
    return pull_words(ImageProgress(**{k: v for k, v in data.items() if k in _PROGRESS}))


def _pulled(event: EventRow, data: dict[str, Any]) -> Pair:
    image, seconds = data["image"], format_duration(float(data["seconds"]))
    size = format_size(data["total"]) if data["total"] else ""
    en = ", ".join(part for part in (size, seconds) if part)
    zh = "，".join(part for part in (size, seconds) if part)
    return f"Image {image} is there ({en})", f"镜像 {image} 已就绪（{zh}）"


def pull_words(progress: ImageProgress) -> Pair:
    """Pulling image pytorch:2.4: 312 MB of 1.0 GB, 3 of 7 layers"""
    image, layers = progress.image, progress.layers
    if progress.unpacking:
        return f"Unpacking image {image}", f"正在解压镜像 {image}"
    if not layers:
        return f"Pulling image {image}", f"正在拉取镜像 {image}"
    en, zh = (
        f"{progress.layers_done} of {layers} layers",
        f"{layers} 层中的 {progress.layers_done} 层",
    )
    if progress.total:
        done, total = format_size(progress.done), format_size(progress.total)
        en, zh = f"{done} of {total}, {en}", f"{total} 中的 {done}，{zh}"
    return f"Pulling image {image}: {en}", f"正在拉取镜像 {image}：{zh}"


def _stop_requested(event: EventRow, data: dict[str, Any]) -> Pair:
    if data.get("why") == Reason.TIME_LIMIT:
        return "Its time limit is reached: being stopped", "达到时间上限，正在停止"
    other = data.get("for", "")
    if data.get("why") == Reason.PREEMPTED:
        return (
            f"{other} has a right to its lent cards: being ended, then queued again",
            f"{other} 有权使用它借用的卡：正在结束，之后重新排队",
        )
    if data.get("why") == Reason.MOVED:
        nodes = ", ".join(dict.fromkeys(str(place["node"]) for place in data.get("to", ())))
        return (
            f"Being moved to {nodes}, so that {other} can start",
            f"正在移到 {nodes}，让 {other} 可以开始",
        )
    return f"{event.actor} asked to stop it", f"{event.actor} 要求停止"


def _requeued(event: EventRow, data: dict[str, Any]) -> Pair:
    en, zh, *_ = describe(Reason(data["reason"]), data.get("detail") or {})
    pause = float(data.get("pause") or 0)
    if meaning(Reason(data["reason"])).retry is Retry.ALWAYS:
        number = data["attempt"]
        return f"{en} (attempt {number}), queued again", f"{zh}（第 {number} 次），重新排队"
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


def _handed_over(event: EventRow, data: dict[str, Any]) -> Pair:
    return (
        f"{event.actor} handed it to {data['to']}; it was {data['was']}",
        f"{event.actor} 把它移交给 {data['to']}；原为 {data['was']}",
    )


def _restored(event: EventRow, data: dict[str, Any]) -> Pair:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(data.get("made_at") or 0)))
    return f"Restored from a backup of {made}", f"从 {made} 的备份恢复"


def _queue_changed(event: EventRow, data: dict[str, Any]) -> Pair:
    return (
        f"{event.actor} merged queue {data['from']} into {data['to']}: it waits there now",
        f"{event.actor} 把队列 {data['from']} 并入 {data['to']}：现在在那里等待",
    )


def _unknown(event: EventRow, data: dict[str, Any]) -> Pair:
    return event.kind, event.kind


def _overtook(event: EventRow, data: dict[str, Any]) -> Pair:
    refs = ", ".join(data["refs"])
    if data.get("seconds") is None:
        return f"Went before {refs}, whose start did not move", f"先于 {refs} 运行，其开始时间没变"
    long = format_duration(float(data["seconds"]))
    return (
        f"Went before {refs}: it ends within {long}, their start did not move",
        f"先于 {refs} 运行：{long} 内结束，它们的开始时间没变",
    )


def _overtaken(event: EventRow, data: dict[str, Any]) -> Pair:
    cards = data["gpus"]
    en, zh = ("1 card" if cards == 1 else f"{cards:g} cards"), f"{cards:g} 卡"
    if data.get("seconds") is not None:
        long = format_duration(float(data["seconds"]))
        en, zh = f"{en}, {long}", f"{zh}，{long}"
    return (
        f"{data['ref']} ran first ({en}); your start did not move",
        f"{data['ref']}（{zh}）先运行，你的开始时间没变",
    )


_WORDS = {
    "overtook": _overtook,
    "overtaken": _overtaken,
    "submitted": _submitted,
    "converted": _converted,
    "placed": _placed,
    "started": _started,
    "pulling": _pulling,
    "pulled": _pulled,
    "stop_requested": _stop_requested,
    "requeued": _requeued,
    "ended": _ended,
    "held": _held,
    "released": _released,
    "restored": _restored,
    "handed_over": _handed_over,
    "queue_changed": _queue_changed,
}
