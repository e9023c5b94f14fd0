"""The further parts of an explanation as the API shows them: who holds, and what would help."""

from __future__ import annotations

from typing import Any

from danlu.sched.advice import change_words, clear_words, distance, effect_words, eta_words
from danlu.sched.api import Explanation, Holder, Suggestion

Values = dict[str, Any]


def explained(explanation: Explanation, now: float) -> Values:
    clear_en, clear_zh = clear_words(explanation.clear)
    return {
        "more_nodes": explanation.more_nodes,
        "holders": [_holder(holder) for holder in explanation.holders],
        "clear": list(explanation.clear),
        "clear_en": clear_en,
        "clear_zh": clear_zh,
        "suggestions": [_what_if(suggestion) for suggestion in explanation.suggestions],
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


def _what_if(suggestion: Suggestion) -> Values:
    en, zh = change_words(suggestion)
    effect_en, effect_zh = effect_words(suggestion)
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
