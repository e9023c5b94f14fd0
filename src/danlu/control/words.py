"""The wording of job events: one line each, in both languages."""

from __future__ import annotations

import re
import time
from dataclasses import fields
from typing import Any

from danlu.engines.api import ImageProgress, ToolsProgress
from danlu.spec.diagnose import describe
from danlu.spec.states import Reason, Retry, meaning
from danlu.spec.text import Text, counted
from danlu.spec.units import format_duration, format_size
from danlu.store.rows import EventRow

_UNITS_ZH = {"d": "天", "h": "小时", "m": "分", "s": "秒"}
_PROGRESS = frozenset(field.name for field in fields(ImageProgress))


def event_words(event: EventRow) -> Text:
    return _WORDS.get(event.kind, _unknown)(event, event.data)


def _submitted(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(f"Submitted by {event.actor}", f"{event.actor} 提交")


def _converted(event: EventRow, data: dict[str, Any]) -> Text:
    language = data.get("dialect", "")
    notes = data.get("notes", ())
    en, zh = f"Read as {language}", f"按 {language} 读取"
    if notes:
        en = f"{en}. " + ". ".join(str(note.get("en", "")) for note in notes)
        zh = f"{zh}。" + "。".join(str(note.get("zh", "")) for note in notes)
    return Text(en, zh)


def _placed(event: EventRow, data: dict[str, Any]) -> Text:
    spots = []
    for place in data.get("places", ()):
        gpus = ",".join(str(gpu) for gpu in place["gpus"])
        spots.append((place["node"], gpus))
    en = "; ".join(
        f"{node} GPU{'s' if ',' in gpus else ''} {gpus}" if gpus else node
        for node, gpus in spots[:8]
    )
    zh = "；".join(f"{node} 的 {gpus} 号卡" if gpus else node for node, gpus in spots[:8])
    more = len(spots) - 8
    if more > 0:
        en, zh = f"{en} and {more} more", f"{zh} 等另外 {more} 处"
    return Text(
        f"Placed on {en} (attempt {data['attempt']})", f"分配到 {zh}（第 {data['attempt']} 次）"
    )


def _admitted(event: EventRow, data: dict[str, Any]) -> Text:
    engine, number = data["engine"], data["attempt"]
    return Text(
        f"Handed to engine {engine}, which places it (attempt {number})",
        f"交给引擎 {engine} 安排（第 {number} 次）",
    )


def _pending(event: EventRow, data: dict[str, Any]) -> Text:
    engine, words = data["engine"], data.get("words") or ""
    queued = Text(f"In the queue of engine {engine}", f"进入引擎 {engine} 的队列")
    return queued + Text(f": {words}", f"：{words}") if words else queued


def unknown_words(engine: str, seconds: float) -> Text:
    """For a job whose engine does not report it."""
    ago = _long(seconds)
    return Text(
        f"Unknown for {ago.en}: engine {engine} does not report it",
        f"状态未知已 {ago.zh}：引擎 {engine} 没有它的消息",
    )


def _started(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(f"Started (attempt {data['attempt']})", f"开始运行（第 {data['attempt']} 次）")


def _pulling(event: EventRow, data: dict[str, Any]) -> Text:
    return pull_words(ImageProgress(**{k: v for k, v in data.items() if k in _PROGRESS}))


def _pulled(event: EventRow, data: dict[str, Any]) -> Text:
    image, took = data["image"], _long(float(data["seconds"]))
    size = format_size(data["total"]) if data["total"] else ""
    en = ", ".join(part for part in (size, took.en) if part)
    zh = "，".join(part for part in (size, took.zh) if part)
    return Text(f"Image {image} is ready ({en})", f"镜像 {image} 已就绪（{zh}）")


def _saving(event: EventRow, data: dict[str, Any]) -> Text:
    image, done, total = data["image"], format_size(data["done"]), format_size(data["total"])
    return Text(
        f"Being saved as image {image}: {done} of {total}",
        f"正在保存为镜像 {image}：{total} 中的 {done}",
    )


def _saved(event: EventRow, data: dict[str, Any]) -> Text:
    image, took = data["image"], _long(float(data["seconds"]))
    size = f"{format_size(data['size'])}, " if data["size"] else ""
    return Text(
        f"Saved as image {image} ({size}{took.en})",
        f"已保存为镜像 {image}（{size.replace(', ', '，')}{took.zh}）",
    )


def _not_saved(event: EventRow, data: dict[str, Any]) -> Text:
    image, en, zh = data["image"], data.get("why_en") or "", data.get("why_zh") or ""
    if data.get("state") == "cancelled":
        return Text(f"Saving as image {image} was cancelled", f"取消了保存为镜像 {image}")
    return Text(f"Not saved as image {image}: {en}", f"未能保存为镜像 {image}：{zh}")


def pull_words(progress: ImageProgress) -> Text:
    """For example: `Pulling image pytorch:2.4: 312 MB of 1.0 GB, 3 of 7 layers`."""
    image, layers = progress.image, progress.layers
    if progress.unpacking:
        return Text(f"Unpacking image {image}", f"正在解压镜像 {image}")
    if not layers:
        return Text(f"Pulling image {image}", f"正在拉取镜像 {image}")
    line = Text(f"Pulling image {image}: ", f"正在拉取镜像 {image}：")
    if progress.total:
        done, total = format_size(progress.done), format_size(progress.total)
        line += Text(f"{done} of {total}, ", f"{total} 中的 {done}，")
    done_layers = progress.layers_done
    return line + Text(f"{done_layers} of {layers} layers", f"{layers} 层中的 {done_layers} 层")


def _making_tools(event: EventRow, data: dict[str, Any]) -> Text:
    return tools_words(
        ToolsProgress(Text(data["step"], data["step_zh"]), int(data["done"]), int(data["total"]))
    )


def _made_tools(event: EventRow, data: dict[str, Any]) -> Text:
    took = _long(float(data["seconds"]))
    return Text(f"The tools are ready ({took.en})", f"工具已就绪（{took.zh}）")


def tools_words(progress: ToolsProgress) -> Text:
    """For example: `Making the tools (once), step 2 of 11: Installing JupyterLab`."""
    step, number, total = progress.step, progress.done + 1, progress.total
    return Text(
        f"Making the tools (once), step {number} of {total}: {step.en}",
        f"正在准备工具（仅一次），第 {number} 步，共 {total} 步：{step.zh}",
    )


def _reads(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(f"Reads {data['en']}", f"读取 {data['zh']}")


def _brought(event: EventRow, data: dict[str, Any]) -> Text:
    folder, size = f"/userhome/{data['folder']}", format_size(data["bytes"])
    return Text(
        f"The folder brought along is at {folder} ({size})",
        f"随任务上传的目录位于 {folder}（{size}）",
    )


def _stop_requested(event: EventRow, data: dict[str, Any]) -> Text:
    if data.get("why") == Reason.TIME_LIMIT:
        return Text("Reached its time limit; stopping", "达到时间上限，正在停止")
    if data.get("why") == Reason.IDLE:
        return Text("Not used for as long as its idle limit; stopping", "闲置达到上限，正在停止")
    other = data.get("for", "")
    if data.get("why") == Reason.PREEMPTED:
        return Text(
            f"Preempted for {other}: stopping, then queued again",
            f"被 {other} 抢占：正在结束，之后重新排队",
        )
    if data.get("why") == Reason.MOVED:
        nodes = ", ".join(dict.fromkeys(str(place["node"]) for place in data.get("to", ())))
        return Text(
            f"Moving to {nodes} so that {other} can start",
            f"正在移到 {nodes}，让 {other} 可以开始",
        )
    return Text(f"{event.actor} asked to stop it", f"{event.actor} 要求停止")


def _edited(event: EventRow, data: dict[str, Any]) -> Text:
    changes = [
        f"{key}: {_value(before)} -> {_value(after)}"
        for key, (before, after) in data.get("changes", {}).items()
    ]
    listed = ", ".join(changes)
    return Text(f"Changed by {event.actor}: {listed}", f"{event.actor} 修改：{listed}")


def _value(value: Any) -> str:
    """As people write it: `2 x A100`, `n1, n2`, `KEY=value`."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_value(each) for each in value) or "-"
    if not isinstance(value, dict):
        return str(value)
    if value.keys() <= {"count", "fraction", "model"} and value:
        amount = value.get("count", value.get("fraction", 1))
        return f"{amount} x {value['model']}" if value.get("model") else str(amount)
    return ", ".join(f"{key}={_value(each)}" for key, each in value.items()) or "-"


def _long(seconds: float) -> Text:
    """A duration: `17m12s`, `17 分 12 秒`."""
    short = format_duration(seconds)
    parts = re.findall(r"([\d.]+)([dhms])", short)
    return Text(short, " ".join(f"{number} {_UNITS_ZH[unit]}" for number, unit in parts))


def _requeued(event: EventRow, data: dict[str, Any]) -> Text:
    reason, number = Reason(data["reason"]), data["attempt"]
    line = describe(reason, data.get("detail") or {})
    line += Text(f" (attempt {number})", f"（第 {number} 次）")
    if meaning(reason).retry is Retry.ALWAYS:
        return line + Text(", queued again", "，重新排队")
    pause = float(data.get("pause") or 0)
    if not pause:
        return line + Text(", retrying", "，重试")
    return line + Text(f", retrying in {pause:g} s", f"，{pause:g} 秒后重试")


def _ended(event: EventRow, data: dict[str, Any]) -> Text:
    return describe(Reason(data["reason"]), data.get("detail") or {})


def _idle(event: EventRow, data: dict[str, Any]) -> Text:
    left = _long(max(0.0, float(data["since"]) + float(data["limit"]) - event.at))
    limit = _long(float(data["limit"]))
    return Text(
        f"Not used: it is stopped in {left.en} unless somebody uses it (idle limit {limit.en})",
        f"闲置：若无人使用，{left.zh}后停止（闲置上限 {limit.zh}）",
    )


def _extended(event: EventRow, data: dict[str, Any]) -> Text:
    if data.get("time_limit") is None:
        return Text(f"{event.actor} extended it", f"{event.actor} 延长了使用时间")
    limit = _long(float(data["time_limit"]))
    return Text(
        f"{event.actor} extended its time limit to {limit.en}",
        f"{event.actor} 把时间上限延长到 {limit.zh}",
    )


def _held(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(f"Held by {event.actor}", f"{event.actor} 挂起")


def _released(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(f"Released by {event.actor}", f"{event.actor} 释放")


def _handed_over(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(
        f"{event.actor} transferred it to {data['to']}; it was {data['was']}",
        f"{event.actor} 把它移交给 {data['to']}；原为 {data['was']}",
    )


def _restored(event: EventRow, data: dict[str, Any]) -> Text:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(data.get("made_at") or 0)))
    return Text(f"Restored from a backup of {made}", f"从 {made} 的备份恢复")


def _queue_changed(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(
        f"{event.actor} merged queue {data['from']} into {data['to']}, where it waits now",
        f"{event.actor} 把队列 {data['from']} 并入 {data['to']}，任务在新队列中继续等待",
    )


def _unknown(event: EventRow, data: dict[str, Any]) -> Text:
    return Text(event.kind, event.kind)


def _overtook(event: EventRow, data: dict[str, Any]) -> Text:
    refs = ", ".join(data["refs"])
    if data.get("seconds") is None:
        return Text(
            f"Started ahead of {refs}, without delaying them",
            f"先于 {refs} 运行，其开始时间没变",
        )
    long = _long(float(data["seconds"]))
    return Text(
        f"Started ahead of {refs}: it ends within {long.en}, without delaying them",
        f"先于 {refs} 运行：{long.zh}内结束，它们的开始时间没变",
    )


def _overtaken(event: EventRow, data: dict[str, Any]) -> Text:
    gpus = data["gpus"]
    size = Text(counted(gpus, "GPU"), f"{gpus:g} 卡")
    if data.get("seconds") is not None:
        size += Text(", ", "，") + _long(float(data["seconds"]))
    return Text(
        f"{data['ref']} ran first ({size.en}), without delaying yours",
        f"{data['ref']}（{size.zh}）先运行，你的开始时间没变",
    )


def _disk_low(event: EventRow, data: dict[str, Any]) -> Text:
    free, written = format_size(data["free"]), format_size(data["written"])
    return Text(
        f"The disk is almost full: {free} left. This job has written {written} so far; delete what "
        "you no longer need",
        f"磁盘快满了：剩余 {free}。此任务已写入 {written}；请删除不再需要的文件",
    )


_WORDS = {
    "overtook": _overtook,
    "overtaken": _overtaken,
    "submitted": _submitted,
    "converted": _converted,
    "admitted": _admitted,
    "pending": _pending,
    "placed": _placed,
    "started": _started,
    "pulling": _pulling,
    "pulled": _pulled,
    "saving": _saving,
    "saved": _saved,
    "not_saved": _not_saved,
    "making_tools": _making_tools,
    "made_tools": _made_tools,
    "brought": _brought,
    "reads": _reads,
    "stop_requested": _stop_requested,
    "edited": _edited,
    "requeued": _requeued,
    "ended": _ended,
    "held": _held,
    "released": _released,
    "restored": _restored,
    "handed_over": _handed_over,
    "queue_changed": _queue_changed,
    "disk_low": _disk_low,
    "extended": _extended,
    "idle": _idle,
}
