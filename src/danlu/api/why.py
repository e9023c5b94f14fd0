"""Explanations in API answers: causes, numbers, holders and suggestions."""

from __future__ import annotations

import time
from typing import Any

from danlu.api.views import placement_views
from danlu.sched.api import Explanation, Holder, Suggestion
from danlu.sched.explain.advice import (
    change_words,
    clear_words,
    distance,
    effect_words,
    eta_words,
    rounded,
)
from danlu.sched.explain.words import cause_words, sentence
from danlu.spec.states import State
from danlu.spec.text import EMPTY, Text

Values = dict[str, Any]


def waiting_view(explanation: Explanation, now: float | None = None) -> Values:
    """`now`: when the explanation was computed, if not just now."""
    return {
        "state": State.QUEUED,
        **sentence(explanation).values("sentence"),
        "starts_now": explanation.starts_now,
        "causes": [
            {
                "kind": cause.kind,
                "basis": cause.basis,
                **cause_words(cause).values(),
                "numbers": dict(cause.numbers),
            }
            for cause in explanation.causes
        ],
        "nodes": [
            {
                "node": verdict.node,
                "free": verdict.free_gpus,
                "need": verdict.need_gpus,
                "cpus_free": verdict.free_cpus,
                "memory_free": verdict.free_memory,
                "fits": verdict.fits,
                "lacks": list(verdict.lacks),
                "holders": list(verdict.holders),
            }
            for verdict in explanation.nodes[:200]
        ],
        "position": explanation.position or None,
        "eta": None,
        "eta_why_en": "",
        "eta_why_zh": "",
        **explained(explanation, time.time() if now is None else now),
    }


def explained(explanation: Explanation, now: float) -> Values:
    return {
        "more_nodes": explanation.more_nodes,
        "holders": [_holder(holder) for holder in explanation.holders],
        "clear": list(explanation.clear),
        **clear_words(explanation.clear).values("clear"),
        "suggestions": [_what_if(suggestion, now) for suggestion in explanation.suggestions],
        "places": placement_views(explanation.places),
        **expected(explanation, now),
    }


def _holder(holder: Holder) -> Values:
    return {
        "ref": holder.ref,
        "owner": holder.owner,
        "node": holder.node,
        "gpus": list(holder.gpus),
        "since": holder.since,
        "latest_end": holder.latest_end,
        "expected_end": holder.expected_end,
        "outside": holder.outside,
    }


def _what_if(suggestion: Suggestion, now: float) -> Values:
    # Rounded as the estimate is, which may name the same moment.
    effect = effect_words(suggestion, lambda at: _from_now(rounded(at, now) - now))
    return {
        "kind": suggestion.kind,
        "effect": suggestion.effect,
        "basis": suggestion.basis,
        **change_words(suggestion).values(),
        **effect.values("effect"),
        "numbers": dict(suggestion.numbers),
        "nodes": list(suggestion.nodes),
        "at": None if suggestion.at is None else rounded(suggestion.at, now),
        "change": dict(suggestion.change),
    }


def expected(explanation: Explanation, now: float) -> Values:
    """When it should start and what the estimate is based on, or why there is none."""
    eta = explanation.eta
    if eta is None:
        return {}
    words = eta_words(eta, now, lambda at: _from_now(at - now))
    known = eta.p50 is not None
    return {
        "eta": None if eta.p50 is None else rounded(eta.p50, now),
        "eta_p90": None if eta.p90 is None else rounded(eta.p90, now),
        "eta_basis": eta.basis,
        "eta_after": eta.after,
        **(words if known else EMPTY).values("eta"),
        **(EMPTY if known else words).values("eta_why"),
    }


def _from_now(seconds: float) -> Text:
    return distance(seconds) + Text(" from now", "后")
