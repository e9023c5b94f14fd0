"""Explanations in words: cause, number, who. One sentence each, in both languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from danlu.sched.api import Cause, CauseKind, Explanation, TaskPlace

Numbers = Mapping[str, int | float | str]
Pair = tuple[str, str]


def sentence(explanation: Explanation) -> Pair:
    """The first thing a person reads."""
    if explanation.starts_now:
        return starts_on(explanation.places)
    if not explanation.causes:
        return "Starts in a moment", "即将开始"
    return cause_words(explanation.causes[0])


def starts_on(places: Sequence[TaskPlace]) -> Pair:
    """Where, and on which cards as long as it is one node."""
    nodes = list(dict.fromkeys(place.node for place in places))
    cards = sorted({index for place in places for index in place.cards})
    if len(nodes) == 1 and cards:
        word = "card" if len(cards) == 1 else "cards"
        return (
            f"Starts now on {nodes[0]}, {word} {ranges(cards)}",
            f"立即开始：{nodes[0]} 的 {ranges(cards)} 号卡",
        )
    shown, more = ", ".join(nodes[:6]), len(nodes) - 6
    tail_en, tail_zh = (f" and {more} more", f" 等 {len(nodes)} 台") if more > 0 else ("", "")
    return f"Starts now on {shown}{tail_en}", f"立即开始：{shown}{tail_zh}"


def ranges(indexes: Sequence[int]) -> str:
    """0, 1, 2, 5 as 0–2, 5."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def cause_words(cause: Cause) -> Pair:
    return _WORDS[cause.kind](cause.numbers)


def _held(n: Numbers) -> Pair:
    return "Held until somebody releases it", "已挂起，释放后才会开始"


def _dependency(n: Numbers) -> Pair:
    when = str(n.get("when", "succeeded"))
    words = {
        "succeeded": ("to succeed", "成功"),
        "failed": ("to fail", "失败"),
        "ended": ("to end", "结束"),
        "started": ("to start", "开始"),
    }[when]
    more = int(n.get("more", 0))
    tail_en = f" (and {more} more)" if more else ""
    tail_zh = f"（另有 {more} 个）" if more else ""
    return f"Waits for {n['ref']} {words[0]}{tail_en}", f"等待 {n['ref']} {words[1]}{tail_zh}"


def _retry_pause(n: Numbers) -> Pair:
    return (
        f"Tried again after a pause of {n['seconds']} s: {n['why_en']}",
        f"暂停 {n['seconds']} 秒后重试：{n['why_zh']}",
    )


def _array_limit(n: Numbers) -> Pair:
    return (
        f"{n['limit']} elements of its array may be active at once, and {n['limit']} are",
        f"所属数组任务最多同时运行 {n['limit']} 个，已达上限",
    )


def _model_absent(n: Numbers) -> Pair:
    have_en = f"Here are: {n['models']}" if n["models"] else "There are no cards here"
    have_zh = f"这里有：{n['models']}" if n["models"] else "这里没有显卡"
    return f"No {n['model']} here. {have_en}", f"没有 {n['model']}。{have_zh}"


def _quota_user(n: Numbers) -> Pair:
    return _quota(n, "Your quota", "个人配额")


def _quota_group(n: Numbers) -> Pair:
    return _quota(n, f"Quota of group {n['who']}", f"课题组 {n['who']} 的配额")


def _quota(n: Numbers, whose_en: str, whose_zh: str) -> Pair:
    what = str(n["what"])
    unit_en, unit_zh = {
        "cards": ("cards", "卡"),
        "cpus": ("CPUs", "个 CPU"),
        "memory": ("of memory", "内存"),
        "model": (str(n.get("model", "")), f" 张 {n.get('model', '')}"),
    }[what]
    used, limit, need = (
        gib(int(n[k])) if what == "memory" else f"{n[k]:g}" for k in ("used", "limit", "need")
    )
    if not float(n["limit"]):
        none_en, none_zh = {"cards": ("cards", "显卡"), "cpus": ("CPUs", " CPU")}.get(
            what, ("memory", "内存") if what == "memory" else (unit_en, f" {unit_en}")
        )
        return (
            f"{whose_en} allows no {none_en} at all (it was set to 0), and it needs {need}",
            f"{whose_zh}不允许使用{none_zh}（设为 0），此任务需要 {need}",
        )
    if float(n["need"]) > float(n["limit"]):
        return (
            f"{whose_en} allows {limit} {unit_en} at once, and it needs {need}",
            f"{whose_zh}最多同时使用 {limit}{unit_zh}，此任务需要 {need}",
        )
    return (
        f"{whose_en}: {used} of {limit} {unit_en} in use, and it needs {need} more",
        f"{whose_zh} {used}/{limit}{unit_zh}已用，此任务还需 {need}",
    )


def _kind_limited(n: Numbers) -> Pair:
    kind_en, kind_zh = {
        "environment": ("Environments", "开发环境"),
        "train": ("Training jobs", "训练任务"),
        "service": ("Services", "服务"),
    }.get(str(n["kind"]), (str(n["kind"]), str(n["kind"])))
    asked_en = f", it asks for {n['model']}" if n["model"] else ""
    asked_zh = f"，此任务要求 {n['model']}" if n["model"] else ""
    return (
        f"{kind_en} may use {n['models']} only here{asked_en}",
        f"{kind_zh}在这里只能使用 {n['models']}{asked_zh}",
    )


def _label_absent(n: Numbers) -> Pair:
    which_en, which_zh = _which(n)
    return (
        f"Never here: no node{which_en} has the label {n['asked']}",
        f"无法运行：{which_zh}没有节点带有标签 {n['asked']}",
    )


def _which(n: Numbers) -> Pair:
    """Of all nodes, or of those that its queue and its own choice leave."""
    return (" it may use", "它可用的节点中") if n.get("chosen") else ("", "")


def _volume_absent(n: Numbers) -> Pair:
    which_en, which_zh = _which(n)
    return (
        f"Never here: no node{which_en} has the volume {n['asked']}",
        f"无法运行：{which_zh}没有节点挂有存储卷 {n['asked']}",
    )


def _nodes_named(n: Numbers) -> Pair:
    return (
        f"Never here: the nodes it names or leaves over do not exist or do not do ({n['asked']})",
        f"无法运行：指定或排除之后没有可用节点（{n['asked']}）",
    )


def _too_large(n: Numbers) -> Pair:
    cards, largest = int(n["cards"]), int(n["largest_cards"])
    if cards > largest:
        where_en = f" of queue {n['queue']}" if n.get("queue") else ""
        where_zh = f"队列 {n['queue']} 中" if n.get("queue") else ""
        return (
            f"Never here: it needs {_cards(cards)} on one node, "
            f"the largest node{where_en} has {largest}",
            f"无法运行：需单机 {cards} 卡，{where_zh}最大的节点只有 {largest} 卡",
        )
    if float(n["cpus"]) > float(n["largest_cpus"]):
        return (
            f"Never here: it needs {n['cpus']:g} CPUs on one node, "
            f"the largest node has {n['largest_cpus']:g}",
            f"无法运行：需单机 {n['cpus']:g} 个 CPU，最大的节点只有 {n['largest_cpus']:g} 个",
        )
    if int(n["memory"]) > int(n["largest_memory"]):
        need, most = gib(int(n["memory"])), gib(int(n["largest_memory"]))
        return (
            f"Never here: it needs {need} of memory on one node, the largest node has {most}",
            f"无法运行：需单机 {need} 内存，最大的节点只有 {most}",
        )
    return (
        f"Never here: its {n['tasks']} tasks do not fit together, even with everything free "
        f"({_cards(int(n['all_cards']))} and {n['all_cpus']:g} CPUs in all)",
        f"无法运行：{n['tasks']} 个子任务即使全部空闲也放不下"
        f"（共 {n['all_cards']} 卡、{n['all_cpus']:g} 个 CPU）",
    )


def _node_down(n: Numbers) -> Pair:
    return f"Not answering or taken out: {n['nodes']}", f"未响应或已停用：{n['nodes']}"


def _node_drained(n: Numbers) -> Pair:
    return f"Taken out by an admin: {n['nodes']}", f"已被管理员停用：{n['nodes']}"


def _cluster_full(n: Numbers) -> Pair:
    model = f"{n['model']} " if n.get("model") else ""
    where_en = f" in queue {n['queue']}" if n.get("queue") else ""
    where_zh = f"队列 {n['queue']} 中" if n.get("queue") else ""
    if n.get("chosen"):
        where_en, where_zh = f"{where_en} on the nodes it may use", f"{where_zh}它可用的节点上"
    cards, tasks = int(n["cards"]), int(n["tasks"])
    if n["share"]:
        need_en, need_zh = (
            f"{int(n['share']) / 1000:g} of a card",
            f"{int(n['share']) / 1000:g} 张卡",
        )
    elif tasks > 1:
        need_en, need_zh = f"{tasks} x {cards} cards", f"{tasks} × {cards} 卡"
    else:
        need_en, need_zh = _cards(cards), f"{cards} 卡"
    if n.get("nodes") == 0:
        return (
            f"Needs {need_en}: no node that it may use takes new work",
            f"需 {need_zh}：它可用的节点都不接受新任务",
        )
    return (
        f"Needs {need_en}: every {model}card{where_en} is in use",
        f"需 {need_zh}：{where_zh}{model}卡全部占用",
    )


def _no_room(n: Numbers) -> Pair:
    cards, tasks = int(n["cards"]), int(n["tasks"])
    each_en = f"{tasks} tasks of " if tasks > 1 else ""
    each_zh = f"{tasks} 个子任务，每个" if tasks > 1 else "需"
    if cards and int(n["largest_hole"]) < cards:
        return (
            f"Needs {each_en}{_cards(cards)} on one node: {n['free_cards']} are free, "
            f"the largest hole is {n['largest_hole']}",
            f"{each_zh}单机 {cards} 卡：空闲 {n['free_cards']} 卡，最大空档 {n['largest_hole']} 卡",
        )
    if n["share"] and "cards" in str(n["lacks"]):
        part = int(n["share"]) / 1000
        return (
            f"Needs {part:g} of a card: no card has that much free",
            f"需 {part:g} 张卡：没有卡剩余这么多",
        )
    if float(n["most_cpus"]) < float(n["cpus"]):
        return (
            f"Needs {each_en}{n['cpus']:g} CPUs on one node: the most free is {n['most_cpus']:g}",
            f"{each_zh}单机 {n['cpus']:g} 个 CPU：空闲最多的节点有 {n['most_cpus']:g} 个",
        )
    if int(n["most_memory"]) < int(n["memory"]):
        need, most = gib(int(n["memory"])), gib(int(n["most_memory"]))
        return (
            f"Needs {each_en}{need} of memory on one node: the most free is {most}",
            f"{each_zh}单机 {need} 内存：空闲最多的节点有 {most}",
        )
    if tasks > 1:
        return (
            f"All {tasks} tasks start together: there is not room for all of them yet "
            f"({n['free_cards']} cards free)",
            f"{tasks} 个子任务须同时开始：目前放不下全部（空闲 {n['free_cards']} 卡）",
        )
    return (
        "No node has the cards, CPUs and memory it needs free at the same time",
        "没有节点同时空出它需要的卡、CPU 和内存",
    )


def _behind(n: Numbers) -> Pair:
    if int(n.get("priority", 0)) > int(n.get("own_priority", 0)):
        return (
            f"{n['ref']} has the higher priority ({n['priority']}) and goes first",
            f"{n['ref']} 优先级更高（{n['priority']}），排在前面",
        )
    return f"{n['ref']} came first and goes first", f"{n['ref']} 先到先得，排在前面"


def _reserved(n: Numbers) -> Pair:
    if not n.get("ref"):
        return (
            "The free room is planned for others, who would wait longer if it were taken now",
            "空位已排给其他任务；现在占用会让它们等得更久",
        )
    if not n.get("nodes"):
        return (
            f"The room is kept for {n['ref']}. Jobs that end before it starts may use it",
            f"空位留给 {n['ref']}，在其开始前能结束的任务可用",
        )
    return (
        f"{n['nodes']} is kept for {n['ref']}. Jobs that end before it starts may use it",
        f"{n['nodes']} 留给 {n['ref']}，在其开始前能结束的任务可用",
    )


def _guarantee(n: Numbers) -> Pair:
    whose = str(n.get("who") or "")
    return (
        f"The free cards are the guaranteed share of {whose or 'other groups'}",
        f"空闲的卡是 {whose or '其他课题组'} 的保障份额",
    )


def _engine(n: Numbers) -> Pair:
    return f"The engine says: {n['en']}", f"引擎：{n['zh']}"


def _starting(n: Numbers) -> Pair:
    return "Starts now", "立即开始"


_WORDS = {
    CauseKind.HELD: _held,
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
    CauseKind.NO_ROOM: _no_room,
    CauseKind.BEHIND: _behind,
    CauseKind.STARTING: _starting,
}


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"


def gib(size: int) -> str:
    """Never as 1.02e+03, and never so round that two sizes that differ look alike to a reader."""
    amount = size / 2**30
    return f"{amount:.3g} GiB" if amount < 100 else f"{round(amount, 1):.10g} GiB"
