"""Explanations in words: cause, number, who. One sentence each, in both languages."""

from __future__ import annotations

from collections.abc import Mapping

from danlu.sched.api import Cause, CauseKind, Explanation

Numbers = Mapping[str, int | float | str]
Pair = tuple[str, str]


def sentence(explanation: Explanation) -> Pair:
    """The first thing a person reads."""
    if explanation.starts_now:
        nodes = ", ".join(dict.fromkeys(place.node for place in explanation.places))
        return f"Starts now on {nodes}", f"立即开始：{nodes}"
    if not explanation.causes:
        return "Starts in a moment", "即将开始"
    return cause_words(explanation.causes[0])


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


def _too_large(n: Numbers) -> Pair:
    cards, largest = int(n["cards"]), int(n["largest_cards"])
    if cards > largest:
        return (
            f"Never here: it needs {_cards(cards)} on one node, the largest node has {largest}",
            f"无法运行：需单机 {cards} 卡，最大的节点只有 {largest} 卡",
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
        f"({_cards(int(n['all_cards']))} in all)",
        f"无法运行：{n['tasks']} 个子任务即使全部空闲也放不下（共 {n['all_cards']} 卡）",
    )


def _node_down(n: Numbers) -> Pair:
    return f"Not answering or taken out: {n['nodes']}", f"未响应或已停用：{n['nodes']}"


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
    return f"{n['ref']} came first and goes first", f"{n['ref']} 先到先得，排在前面"


def _starting(n: Numbers) -> Pair:
    return "Starts now", "立即开始"


_WORDS = {
    CauseKind.HELD: _held,
    CauseKind.DEPENDENCY: _dependency,
    CauseKind.RETRY_PAUSE: _retry_pause,
    CauseKind.ARRAY_LIMIT: _array_limit,
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
    return f"{size / 2**30:.3g} GiB"
