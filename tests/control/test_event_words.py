"""What the history of a job says, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.control.words import event_words
from danlu.store.rows import EventRow


def said(kind: str, **data: Any) -> tuple[str, str]:
    words = event_words(EventRow(seq=1, at=0.0, job_id=None, kind=kind, actor="alice", data=data))
    return words.en, words.zh


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"count": 4, "model": "A100"}, {"count": 2}, "4 x A100 -> 2"),
        (None, ["n1", "n2"], "- -> n1, n2"),
        ({"LR": "0.1"}, {}, "LR=0.1 -> -"),
        (True, False, "true -> false"),
        ("1h", 2, "1h -> 2"),
    ],
)
def test_a_change_is_told_as_people_write_it(before: Any, after: Any, shown: str) -> None:
    en, zh = said("edited", changes={"gpus": [before, after]})
    assert en == f"Changed by alice: gpus: {shown}"
    assert zh == f"alice 修改：gpus: {shown}"


def test_durations_are_words_in_chinese() -> None:
    en, zh = said("overtaken", ref="bob/eval-2", gpus=1, seconds=1032)
    assert en == "bob/eval-2 ran first (1 GPU, 17m12s), without delaying yours"
    assert zh == "bob/eval-2（1 卡，17 分 12 秒）先运行，你的开始时间没变"
