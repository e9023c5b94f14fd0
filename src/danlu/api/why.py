"""An explanation as the API shows it: causes, numbers, who holds, and what would help."""

from __future__ import annotations

import time
from typing import Any

from danlu.sched.advice import change_words, clear_words, distance, effect_words, eta_words
from danlu.sched.api import Explanation, Holder, Suggestion
from danlu.sched.words import cause_words, sentence
from danlu.spec.states import State

Values = dict[str, Any]


def waiting_view(explanation: Explanation, now: float | None = None) -> Values:
    """`now`: where it is not of this moment."""
    en, zh = sentence(explanation)
    causes = []
    for cause in explanation.causes:
        cause_en, cause_zh = cause_words(cause)
        causes.append(
            {
                "kind": cause.kind,
                "basis": cause.basis,
                "en": cause_en,
                "zh": cause_zh,
                "numbers": dict(cause.numbers),
            }
        )
    return {
        "state": State.QUEUED,
        "sentence_en": en,
        "sentence_zh": zh,
        "starts_now": explanation.starts_now,
        "causes": causes,
        "nodes": [
            {
                "node": verdict.node,
                "free": verdict.free_cards,
                "need": verdict.need_cards,
                "cpus_free": verdict.free_cpus,
                "memory_free": verdict.free_memory,
                "fits": verdict.fits,
                "lacks": list(verdict.lacks),
                "holders": list(verdict.holders),
            }
            for verdict in explanation.nodes[:200]
        ],
        "position": explanation.position,
        "eta": None,
        "eta_why_en": "",
        "eta_why_zh": "",
        **explained(explanation, time.time() if now is None else now),
    }


def explained(explanation: Explanation, now: float) -> Values:
    clear_en, clear_zh = clear_words(explanation.clear)
    return {
        "more_nodes": explanation.more_nodes,
        "holders": [_holder(holder) for holder in explanation.holders],
        "clear": list(explanation.clear),
        "clear_en": clear_en,
        "clear_zh": clear_zh,
        "suggestions": [_what_if(suggestion, now) for suggestion in explanation.suggestions],
        "places": [
            {"node": place.node, "gpus": list(place.cards), "share": place.share}
            for place in explanation.places
        ],
        **expected(explanation, now),
    }


def _holder(holder: Holder) -> Values:
    return {
        "ref": holder.ref,
        "owner": holder.owner,
        "node": holder.node,
        "gpus": list(holder.cards),
        "since": holder.since,
        "latest_end": holder.latest_end,
        "expected_end": holder.expected_end,
    }


def _what_if(suggestion: Suggestion, now: float) -> Values:
    en, zh = change_words(suggestion)
    effect_en, effect_zh = effect_words(suggestion, lambda at: _from_now(at - now))
    return {
        "kind": suggestion.kind,
        "effect": suggestion.effect,
        "basis": suggestion.basis,
        "en": en,
        "zh": zh,
        "effect_en": effect_en,
        "effect_zh": effect_zh,
        "numbers": dict(suggestion.numbers),
        "nodes": list(suggestion.nodes),
        "at": suggestion.at,
    }


def expected(explanation: Explanation, now: float) -> Values:
    """When it should start, with what that rests on; or why nobody can tell."""
    eta = explanation.eta
    if eta is None:
        return {}
    en, zh = eta_words(eta, now, lambda at: _from_now(at - now))
    known = eta.p50 is not None
    return {
        "eta": eta.p50,
        "eta_p90": eta.p90,
        "eta_basis": eta.basis,
        "eta_after": eta.after,
        "eta_en": en if known else "",
        "eta_zh": zh if known else "",
        "eta_why_en": "" if known else en,
        "eta_why_zh": "" if known else zh,
    }


def _from_now(seconds: float) -> tuple[str, str]:
    en, zh = distance(seconds)
    return f"{en} from now", f"{zh}后"
