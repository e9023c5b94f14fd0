"""Quotas that contradict themselves, or that the present cluster cannot satisfy."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.sched.api import WHOLE, NodeState, Quota, Quotas
from danlu.sched.place.free import same
from danlu.spec.text import Text


def contradiction(quota: Quota) -> Text | None:
    """What can never hold, whichever nodes there are."""
    if quota.gpus is None or quota.guaranteed <= quota.gpus:
        return None
    guaranteed, most = quota.guaranteed / WHOLE, quota.gpus / WHOLE
    return Text(
        f"{guaranteed:g} GPUs cannot be guaranteed to a group that may use at most {most:g}; lower "
        "guaranteed or raise gpus",
        f"组最多可用 {most:g} 卡，无法保障 {guaranteed:g} 卡；请调低 guaranteed 或调高 gpus",
    )


def warnings(quota: Quota, quotas: Quotas, nodes: Sequence[NodeState]) -> list[Text]:
    """What the cluster cannot give now; nodes may be added later."""
    return [*_guaranteed(quota, quotas, nodes), *_models(quota, nodes)]


def _guaranteed(quota: Quota, quotas: Quotas, nodes: Sequence[NodeState]) -> list[Text]:
    have = sum(len(node.gpus) for node in nodes)
    if not quota.guaranteed:
        return []
    if quota.guaranteed > have * WHOLE:
        own = quota.guaranteed / WHOLE
        return [
            Text(
                f"{own:g} GPUs are guaranteed, but the cluster has {have}",
                f"保障 {own:g} 卡，但集群只有 {have} 卡",
            )
        ]
    total = sum(each.guaranteed for each in quotas.groups.values())
    if total <= have * WHOLE:
        return []
    return [
        Text(
            f"{total / WHOLE:g} GPUs are guaranteed to all groups together, but the cluster has "
            f"{have}",
            f"各组合计保障 {total / WHOLE:g} 卡，但集群只有 {have} 卡",
        )
    ]


def _models(quota: Quota, nodes: Sequence[NodeState]) -> list[Text]:
    here = sorted({gpu.model for node in nodes for gpu in node.gpus})
    listed = ", ".join(here)
    return [
        Text(
            f"No node has a GPU called {model}; models here: {listed or 'none'}",
            f"没有节点有型号 {model} 的卡；现有型号：{listed or '无'}",
        )
        for model in quota.models
        if not any(same(model, gpu) for gpu in here)
    ]
