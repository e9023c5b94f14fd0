"""The wording of causes: one sentence each, in both languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from danlu.sched.api import Cause, CauseKind, Explanation
from danlu.sched.explain.order_words import order_words
from danlu.spec.placement import Placement
from danlu.spec.text import EMPTY, Text, counted
from danlu.spec.units import format_duration

Numbers = Mapping[str, int | float | str]


def sentence(explanation: Explanation) -> Text:
    """Why a job waits or where it starts, in one sentence."""
    if explanation.starts_now:
        return starts_on(explanation.places)
    if not explanation.causes:
        return Text("Starts in a moment", "即将开始")
    return cause_words(explanation.causes[0])


def starts_on(places: Sequence[Placement]) -> Text:
    """Lists the GPUs only if they are all on one node."""
    nodes = list(dict.fromkeys(place.node for place in places))
    gpus = sorted({index for place in places for index in place.gpus})
    if len(nodes) == 1 and gpus:
        word = "GPU" if len(gpus) == 1 else "GPUs"
        return Text(
            f"Starts now on {nodes[0]}, {word} {ranges(gpus)}",
            f"立即开始：{nodes[0]} 的 {ranges(gpus)} 号卡",
        )
    shown, more = ", ".join(nodes[:6]), len(nodes) - 6
    tail = Text(f" and {more} more", f" 等 {len(nodes)} 台") if more > 0 else EMPTY
    return Text(f"Starts now on {shown}", f"立即开始：{shown}") + tail


def ranges(indexes: Sequence[int]) -> str:
    """Formats 0, 1, 2, 5 as `0–2, 5`."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def cause_words(cause: Cause) -> Text:
    return _WORDS[cause.kind](cause.numbers)


def _held(n: Numbers) -> Text:
    return Text("Held until it is released", "已挂起，释放后才会开始")


def _editing(n: Numbers) -> Text:
    return Text("A change to it is being saved", "正在保存对它的修改")


def _dependency(n: Numbers) -> Text:
    when = str(n.get("when", "succeeded"))
    outcome = {
        "succeeded": Text("to succeed", "成功"),
        "failed": Text("to fail", "失败"),
        "ended": Text("to end", "结束"),
        "started": Text("to start", "开始"),
    }[when]
    more = int(n.get("more", 0))
    tail = Text(f" (and {more} more)", f"（另有 {more} 个）") if more else EMPTY
    return Text(f"Waiting for {n['ref']} ", f"等待 {n['ref']} ") + outcome + tail


def _retry_pause(n: Numbers) -> Text:
    return Text(
        f"Retrying after a pause of {n['seconds']} s: {n['why_en']}",
        f"暂停 {n['seconds']} 秒后重试：{n['why_zh']}",
    )


def _array_limit(n: Numbers) -> Text:
    return Text(
        f"At most {n['limit']} elements of its array may be active at once, and {n['limit']} are",
        f"所属数组任务最多同时运行 {n['limit']} 个，已达上限",
    )


def _model_absent(n: Numbers) -> Text:
    model, models, queue = n["model"], n["models"], n.get("queue")
    have = (
        Text(f"Available: {models}", f"这里有：{models}")
        if models
        else Text("There are no GPUs", "这里没有显卡")
    )
    if not queue:
        return Text(f"No {model} here. ", f"没有 {model}。") + have
    none = Text(f"No {model} in queue {queue}. ", f"队列 {queue} 没有 {model}。")
    if n.get("queues"):
        others = n["queues"]
        word = "Queues" if "," in str(others) else "Queue"
        verb = "have" if "," in str(others) else "has"
        return none + Text(f"{word} {others} {verb} it", f"队列 {others} 有")
    return none + have


def _quota_user(n: Numbers) -> Text:
    return _quota(n, Text("Your quota", "个人配额"))


def _quota_group(n: Numbers) -> Text:
    return _quota(n, Text(f"Quota of group {n['who']}", f"课题组 {n['who']} 的配额"))


def _quota(n: Numbers, whose: Text) -> Text:
    what = str(n["what"])
    unit = {
        "gpus": Text("GPU" if n["limit"] == 1 else "GPUs", " 卡"),
        "cpus": Text("CPU" if n["limit"] == 1 else "CPUs", " 个 CPU"),
        "memory": Text("of memory", " 内存"),
        "model": Text(str(n.get("model", "")), f" 张 {n.get('model', '')}"),
    }[what]
    used, limit, need = (
        gib(int(n[k])) if what == "memory" else f"{n[k]:g}" for k in ("used", "limit", "need")
    )
    if not float(n["limit"]):
        none = {
            "gpus": Text("GPUs", "显卡"),
            "cpus": Text("CPUs", " CPU"),
            "memory": Text("memory", "内存"),
            "model": Text(unit.en, f" {unit.en}"),
        }[what]
        return Text(
            f"{whose.en} allows no {none.en} (it is set to 0), but the job needs {need}",
            f"{whose.zh}不允许使用{none.zh}（设为 0），此任务需要 {need}{unit.zh}",
        )
    if float(n["need"]) > float(n["limit"]):
        return Text(
            f"{whose.en} allows {limit} {unit.en} at once, but the job needs {need}",
            f"{whose.zh}最多同时使用 {limit}{unit.zh}，此任务需要 {need}{unit.zh}",
        )
    return Text(
        f"{whose.en}: {used} of {limit} {unit.en} in use, and the job needs {need} more",
        f"{whose.zh} {used}/{limit}{unit.zh}已用，此任务还需 {need}{unit.zh}",
    )


def _kind_limited(n: Numbers) -> Text:
    kind = {
        "environment": Text("Environments", "开发环境"),
        "train": Text("Training jobs", "训练任务"),
        "service": Text("Services", "服务"),
    }.get(str(n["kind"]), Text(str(n["kind"]), str(n["kind"])))
    model, allowed = n["model"], n["models"]
    asked = Text(f", but the job asks for {model}", f"，此任务要求 {model}") if model else EMPTY
    return kind + Text(f" may only use {allowed} here", f"在这里只能使用 {allowed}") + asked


def _label_absent(n: Numbers) -> Text:
    which = _which(n)
    return Text(
        f"Cannot run here: no node{which.en} has the label {n['asked']}",
        f"无法运行：{which.zh}没有节点带有标签 {n['asked']}",
    )


def _which(n: Numbers) -> Text:
    """Whether all nodes were considered, or only those its queue and its spec allow."""
    return Text(" it may use", "它可用的节点中") if n.get("chosen") else EMPTY


def _volume_absent(n: Numbers) -> Text:
    which = _which(n)
    return Text(
        f"Cannot run here: no node{which.en} has the volume {n['asked']}",
        f"无法运行：{which.zh}没有节点挂有存储卷 {n['asked']}",
    )


def _nodes_named(n: Numbers) -> Text:
    return Text(
        f"Cannot run here: no usable node is left after the selection ({n['asked']})",
        f"无法运行：指定或排除之后没有可用节点（{n['asked']}）",
    )


def _too_large(n: Numbers) -> Text:
    gpus, largest = int(n["gpus"]), int(n["largest_gpus"])
    if gpus > largest:
        queue = n.get("queue")
        where = Text(f" of queue {queue}", f"队列 {queue} 中") if queue else EMPTY
        return Text(
            f"Cannot run here: needs {_gpus(gpus)} on one node, but the largest node{where.en} has "
            f"{largest}",
            f"无法运行：需单机 {gpus} 卡，{where.zh}最大的节点只有 {largest} 卡",
        )
    if float(n["cpus"]) > float(n["largest_cpus"]):
        return Text(
            f"Cannot run here: needs {counted(float(n['cpus']), 'CPU')} on one node, but the "
            f"largest node has {n['largest_cpus']:g}",
            f"无法运行：需单机 {n['cpus']:g} 个 CPU，最大的节点只有 {n['largest_cpus']:g} 个",
        )
    if int(n["memory"]) > int(n["largest_memory"]):
        need, most = gib(int(n["memory"])), gib(int(n["largest_memory"]))
        return Text(
            f"Cannot run here: needs {need} of memory on one node, but the largest node has {most}",
            f"无法运行：需单机 {need} 内存，最大的节点只有 {most}",
        )
    return Text(
        f"Cannot run here: its {n['tasks']} tasks do not fit even if everything is free "
        f"({_gpus(int(n['all_gpus']))} and {counted(float(n['all_cpus']), 'CPU')} in total)",
        f"无法运行：{n['tasks']} 个子任务即使全部空闲也放不下"
        f"（共 {n['all_gpus']} 卡、{n['all_cpus']:g} 个 CPU）",
    )


def _node_down(n: Numbers) -> Text:
    return Text(f"Not responding: {n['nodes']}", f"未响应：{n['nodes']}")


def _node_drained(n: Numbers) -> Text:
    return Text(f"Drained by an admin: {n['nodes']}", f"已被管理员停用：{n['nodes']}")


def _not_preempted(n: Numbers) -> Text:
    """Jobs that hold what it may claim, but are not stopped for it."""
    ref, more = n["ref"], int(n.get("more", 0))
    why = _NOT_STOPPED[str(n.get("protected", "not_preemptible"))]
    tail = Text(f" (and {more} more)", f"（另有 {more} 个）") if more else EMPTY
    return Text(f"{ref} is not stopped for it: {why.en}", f"不会为它停止 {ref}：{why.zh}") + tail


_NOT_STOPPED = {
    "not_preemptible": Text("it is not preemptible", "它不可抢占"),
    "spared": Text(
        "it was preempted several times and now runs to the end", "它已多次被抢占，将运行到结束"
    ),
    "share": Text("it is within its group's guaranteed share", "它在其课题组的保障份额之内"),
}


def _cluster_full(n: Numbers) -> Text:
    model = f"{n['model']} " if n.get("model") else ""
    queue = n.get("queue")
    where = Text(f" in queue {queue}", f"队列 {queue} 中") if queue else EMPTY
    if n.get("chosen"):
        where += Text(" on the nodes it may use", "它可用的节点上")
    gpus, tasks = int(n["gpus"]), int(n["tasks"])
    if n["share"]:
        part = int(n["share"]) / 1000
        need = Text(f"{part:g} of a GPU", f"{part:g} 张卡")
    elif tasks > 1:
        need = Text(f"{tasks} x {_gpus(gpus)}", f"{tasks} × {gpus} 卡")
    else:
        need = Text(_gpus(gpus), f"{gpus} 卡")
    if n.get("nodes") == 0:
        return Text(
            f"Needs {need.en}: no node it may use accepts new jobs",
            f"需 {need.zh}：它可用的节点都不接受新任务",
        )
    if n.get("out"):
        return Text(
            f"Needs {need.en}: every {model}GPU{where.en} is in use, or on a node that is down or "
            "drained",
            f"需 {need.zh}：{where.zh}{model}卡全部占用，其余在离线或停用的节点上",
        )
    return Text(
        f"Needs {need.en}: every {model}GPU{where.en} is in use",
        f"需 {need.zh}：{where.zh}{model}卡全部占用",
    )


def _no_room(n: Numbers) -> Text:
    gpus, tasks = int(n["gpus"]), int(n["tasks"])
    each = Text(f"{tasks} tasks of ", f"{tasks} 个子任务，每个") if tasks > 1 else Text("", "需")
    if gpus and int(n["largest_hole"]) < gpus:
        return Text(
            f"Needs {each.en}{_gpus(gpus)} on one node: {n['free_gpus']} free, at most "
            f"{n['largest_hole']} on one node",
            f"{each.zh}单机 {gpus} 卡：空闲 {n['free_gpus']} 卡，单机最多 {n['largest_hole']} 卡",
        )
    if n["share"] and "gpus" in str(n["lacks"]):
        part = int(n["share"]) / 1000
        return Text(
            f"Needs {part:g} of a GPU: no GPU has that much free",
            f"需 {part:g} 张卡：没有卡剩余这么多",
        )
    if float(n["most_cpus"]) < float(n["cpus"]):
        return Text(
            f"Needs {each.en}{counted(float(n['cpus']), 'CPU')} on one node: at most "
            f"{n['most_cpus']:g} are free on one",
            f"{each.zh}单机 {n['cpus']:g} 个 CPU：空闲最多的节点有 {n['most_cpus']:g} 个",
        )
    if int(n["most_memory"]) < int(n["memory"]):
        need, most = gib(int(n["memory"])), gib(int(n["most_memory"]))
        return Text(
            f"Needs {each.en}{need} of memory on one node: at most {most} is free on one",
            f"{each.zh}单机 {need} 内存：空闲最多的节点有 {most}",
        )
    if tasks > 1:
        return Text(
            f"All {tasks} tasks start together, and there is no room for all of them yet "
            f"({_gpus(int(n['free_gpus']))} free)",
            f"{tasks} 个子任务须同时开始：目前放不下全部（空闲 {n['free_gpus']} 卡）",
        )
    return Text(
        "No node has the GPUs, CPUs and memory it needs free at the same time",
        "没有节点同时空出它需要的卡、CPU 和内存",
    )


def _reserved(n: Numbers) -> Text:
    if not n.get("ref"):
        return Text(
            "The free resources are planned for other jobs, which would wait longer if they were "
            "taken now",
            "空位已排给其他任务；现在占用会让它们等得更久",
        )
    if not n.get("nodes"):
        return Text(
            f"The free resources are reserved for {n['ref']}. Jobs that end before it starts may "
            "use them",
            f"空位留给 {n['ref']}，在其开始前能结束的任务可用",
        )
    return Text(
        f"{n['nodes']} is reserved for {n['ref']}. Jobs that end before it starts may use it",
        f"{n['nodes']} 留给 {n['ref']}，在其开始前能结束的任务可用",
    )


def _guarantee(n: Numbers) -> Text:
    if "most" in n:
        return Text(
            f"Cannot run here: needs {counted(float(n['need']), 'GPU')}, but only {n['most']:g} "
            "are not guaranteed to other groups (idle shares are not lent)",
            f"无法在此运行：需要 {n['need']:g} 卡，除其他课题组的保障份额外只有 {n['most']:g} 卡"
            "（空闲份额不出借）",
        )
    whose = str(n.get("who") or "")
    return Text(
        f"The free GPUs are guaranteed to {whose or 'other groups'}",
        f"空闲的卡是 {whose or '其他课题组'} 的保障份额",
    )


def _engine(n: Numbers) -> Text:
    engine, said = n["engine"], str(n.get("words") or "")
    tail = Text(f": {said}", f"：{n.get('words_zh') or said}") if said else EMPTY
    if n.get("code") and n["code"] != said:
        tail += Text(f" ({engine} says {n['code']})", f"（{engine} 给出的原因：{n['code']}）")
    if n["why"] == "away":
        since = format_duration(float(n["seconds"]))
        return Text(
            f"Engine {engine} has not answered for {since}{tail.en}",
            f"引擎 {engine} 已 {since} 未响应{tail.zh}",
        )
    if n["why"] == "next":
        return Text(
            f"Will be handed to the queue of engine {engine} next", f"即将交给引擎 {engine} 的队列"
        )
    return Text(
        f"Waiting in the queue of engine {engine}{tail.en}",
        f"在引擎 {engine} 的队列中等待{tail.zh}",
    )


def _starting(n: Numbers) -> Text:
    return Text("Starts now", "立即开始")


_WORDS = {
    CauseKind.HELD: _held,
    CauseKind.EDITING: _editing,
    CauseKind.DEPENDENCY: _dependency,
    CauseKind.RETRY_PAUSE: _retry_pause,
    CauseKind.ARRAY_LIMIT: _array_limit,
    CauseKind.QUOTA_USER: _quota_user,
    CauseKind.QUOTA_GROUP: _quota_group,
    CauseKind.KIND_LIMITED: _kind_limited,
    CauseKind.LABEL_ABSENT: _label_absent,
    CauseKind.VOLUME_ABSENT: _volume_absent,
    CauseKind.NODES_NAMED: _nodes_named,
    CauseKind.NODE_DRAINED: _node_drained,
    CauseKind.CLUSTER_FULL: _cluster_full,
    CauseKind.RESERVED: _reserved,
    CauseKind.GUARANTEE: _guarantee,
    CauseKind.ENGINE: _engine,
    CauseKind.TOO_LARGE: _too_large,
    CauseKind.MODEL_ABSENT: _model_absent,
    CauseKind.NODE_DOWN: _node_down,
    CauseKind.NOT_PREEMPTED: _not_preempted,
    CauseKind.NO_ROOM: _no_room,
    CauseKind.BEHIND: order_words,
    CauseKind.STARTING: _starting,
}


def _gpus(count: int) -> str:
    return counted(count, "GPU")


def gib(size: int) -> str:
    """Keeps enough digits to tell two sizes apart, without an exponent such as 1.02e+03."""
    amount = size / 2**30
    return f"{amount:.3g} GiB" if amount < 100 else f"{round(amount, 1):.10g} GiB"
