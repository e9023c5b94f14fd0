"""The wording of the order between two waiting jobs, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from danlu.spec.text import Text
from danlu.spec.units import format_duration

Numbers = Mapping[str, int | float | str]


def order_words(n: Numbers) -> Text:
    """Why another job goes first; `by` is the rule that decided."""
    words = _RULES[str(n.get("by", "arrival"))](n)
    return Text(f"{n['ref']} {words.en}", f"{n['ref']} {words.zh}")


def _age(n: Numbers) -> Text:
    waited = format_duration(float(n["seconds"]))
    return Text(f"has waited longer than {waited} and goes first", f"已等待超过 {waited}，排在前面")


def _guarantee(n: Numbers) -> Text:
    group, gpus = n["group"], f"{n['guaranteed']:g}"
    return Text(
        f"is within the guaranteed share of group {group} ({gpus} GPUs) and goes first",
        f"在课题组 {group} 的保障份额（{gpus} 卡）之内，排在前面",
    )


def _queue_priority(n: Numbers) -> Text:
    return Text(
        f"is in queue {n['queue']}, which has a higher priority ({n['rank']} against "
        f"{n['own_rank']}), and goes first",
        f"所在队列 {n['queue']} 优先级更高（{n['rank']} 对 {n['own_rank']}），排在前面",
    )


def _weight(n: Numbers) -> Text:
    return Text(
        f"goes first: by its weight ({n['weight']:g}), queue {n['queue']} holds less than its "
        "share of the GPUs",
        f"排在前面：按权重（{n['weight']:g}），队列 {n['queue']} 占用的卡少于应得份额",
    )


def _priority(n: Numbers) -> Text:
    return Text(
        f"has a higher priority ({n['priority']}) and goes first",
        f"优先级更高（{n['priority']}），排在前面",
    )


def _share(n: Numbers) -> Text:
    whose = _whose(n)
    return Text(
        f"goes first: {whose.en} uses less of its share", f"排在前面：{whose.zh}的份额占用较少"
    )


def _used(n: Numbers) -> Text:
    whose = _whose(n)
    return Text(
        f"goes first: {whose.en} has used fewer GPU hours recently",
        f"排在前面：{whose.zh}近期使用的卡时较少",
    )


def _whose(n: Numbers) -> Text:
    group = n.get("group")
    return Text(f"group {group}", f"课题组 {group}") if group else Text("its owner", "其用户")


_RULES: Mapping[str, Callable[[Numbers], Text]] = {
    "claim": lambda n: Text("goes first: room is being made for it", "排在前面：正在为它腾出空位"),
    "age": _age,
    "guarantee": _guarantee,
    "queue_priority": _queue_priority,
    "weight": _weight,
    "priority": _priority,
    "share": _share,
    "used": _used,
    "short": lambda n: Text("is shorter or smaller and goes first", "更短或更小，排在前面"),
    "plan": lambda n: Text("goes first in the queue's plan", "按队列的安排排在前面"),
    "arrival": lambda n: Text("was submitted earlier and goes first", "先到先得，排在前面"),
}
