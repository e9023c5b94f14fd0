"""Tells proposers of images and datasets what was decided, by whom and why, below their lists."""

from __future__ import annotations

import time

from danlu.cli.failure import complain
from danlu.cli.formats import moment
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from danlu.cli.session import Session
    from danlu.sdk import model

_NEWS = 14 * 86400.0
"""What was accepted is told for so long; what was not, until it is proposed again or removed."""


def tell_of_images(session: Session, found: Sequence[model.Image]) -> None:
    decided = [each for each in found if each["decided_by"]]
    if not decided:
        return
    me = session.client.whoami()["user"]
    for each in decided:
        if each["owner"] != me or each["decided_by"] == me:
            continue
        if each["proposal"] == "rejected" or _is_news(each["decided_at"]):
            note = " ".join(each["proposal_note"].split())[:200]
            told = {
                "name": each["name"],
                "by": each["decided_by"],
                "at": moment(each["decided_at"]),
                "why": t("image.decided_why", note=note) if note else "",
            }
            complain(t(f"image.decided_{each['proposal']}", **told))


def tell_of_datasets(session: Session, found: Sequence[model.Dataset]) -> None:
    proposals = [each for each in found if each["proposed_by"]]
    if not proposals:
        return
    me = session.client.whoami()
    waiting = sum(each["state"] == "proposed" for each in proposals)
    if waiting and me["role"] == "admin":
        complain(t("dataset.proposals", count=waiting))
    for each in proposals:
        if each["proposed_by"] != me["user"]:
            continue
        told = {"name": each["name"], "by": each["decided_by"]}
        if each["state"] == "rejected":
            complain(t("dataset.was_rejected", reason=each["reason"] or "-", **told))
        elif each["state"] == "ready" and _is_news(each["decided_at"]):
            at, path = moment(each["decided_at"]), each["path"]
            complain(t("dataset.was_accepted", at=at, path=path, **told))


def _is_news(at: float | None) -> bool:
    return at is not None and time.time() - at < _NEWS
