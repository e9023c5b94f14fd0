"""Nodes as the text of stream events, rendered once for all who listen.

A browser reads 1,600 GPUs at once, so what says nothing new is left out: values at their default,
and for those who ask for it also what does not change, once they have been told.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from danlu.api.answers import Gpu
from danlu.api.views import node_view
from danlu.services.cluster import Node
from danlu.services.stream import NodeNews

Values = dict[str, Any]
_MISSING = object()
_MOST = 1000

_DEFAULTS = {
    name: field.default for name, field in Gpu.model_fields.items() if not field.is_required()
}
_HARDWARE = ("labels", "address", "cpus", "memory", "engine")
_GPU_HARDWARE = ("node", "index", "model", "uuid", "memory")
_BRIEF: Values = {
    "drained": False, "drain_reason": "", "note": "", "note_en": "", "note_zh": "",
    "unknown_since": None,
}  # fmt: skip
_BRIEF_GPU: Values = _DEFAULTS | {"jobs": [], "owner": None, "since": None}


@dataclass(frozen=True, slots=True)
class _Texts:
    node: Node
    whole: str
    brief: str
    hardware: str  # what `brief` leaves out


class NodeTexts:
    """The texts of nodes by identity: all listeners get the same objects."""

    def __init__(self) -> None:
        self._known: dict[int, _Texts] = {}

    def of(self, node: Node) -> _Texts:
        found = self._known.get(id(node))
        if found is not None and found.node is node:
            return found
        if len(self._known) >= _MOST:
            self._known.clear()
        view = node_view(node)
        whole = {**view, "gpus": [_without(gpu, _DEFAULTS) for gpu in view["gpus"]]}
        gpus = [_only(gpu, _GPU_HARDWARE) for gpu in view["gpus"]]
        hardware = {**_only(view, _HARDWARE), "gpus": gpus}
        found = _Texts(node, _text(whole), _text(_brief(view)), _text(hardware))
        self._known[id(node)] = found
        return found


_texts = NodeTexts()


class NodeUpdates:
    """What one listener is told about nodes; `brief`: of those it knows, only what may change."""

    def __init__(self, brief: bool) -> None:
        self._brief = brief
        self._told: dict[str, str] = {}  # their hardware

    def block(self, news: NodeNews) -> bytes:
        changed = ",".join([self._one(node) for node in news.changed])
        for name in news.gone:
            self._told.pop(name, None)
        data = f'{{"nodes":[{changed}],"gone":{json.dumps(news.gone)}}}'
        return f"event: nodes\ndata: {data}\n\n".encode()

    def _one(self, node: Node) -> str:
        texts = _texts.of(node)
        if not self._brief:
            return texts.whole
        if self._told.get(node.name) == texts.hardware:
            return texts.brief
        self._told[node.name] = texts.hardware
        return texts.whole


def _brief(view: Values) -> Values:
    rest = {key: value for key, value in view.items() if key not in _HARDWARE}
    return {**_without(rest, _BRIEF), "gpus": [_brief_gpu(gpu) for gpu in view["gpus"]]}


def _brief_gpu(gpu: Values) -> Values:
    usual = _BRIEF_GPU | {"free": 1 if gpu["state"] == "free" else 0}
    left_out = (*_GPU_HARDWARE, "job")  # the first of `jobs`
    return _without({key: each for key, each in gpu.items() if key not in left_out}, usual)


def _without(values: Values, usual: Values) -> Values:
    return {key: value for key, value in values.items() if usual.get(key, _MISSING) != value}


def _only(values: Values, keys: tuple[str, ...]) -> Values:
    return {key: values[key] for key in keys}


def _text(values: Values) -> str:
    return json.dumps(values, separators=(",", ":"))
