"""The audit log reads naturally in both languages."""

from __future__ import annotations

import pytest

from danlu.access.audit import words
from danlu.spec.text import Text
from danlu.store.rows import AuditRow


@pytest.mark.parametrize(
    ("act", "thing", "line"),
    [
        (
            "quota.set",
            "user alice",
            Text("root set the quota of user alice", "root 设置了用户 alice 的配额"),
        ),
        (
            "quota.removed",
            "group vision",
            Text("root removed the quota of group vision", "root 删除了组 vision 的配额"),
        ),
    ],
)
def test_a_quota_line_names_its_owner_in_the_readers_language(
    act: str, thing: str, line: Text
) -> None:
    assert words(AuditRow(seq=1, at=0.0, actor="root", act=act, thing=thing)) == line


@pytest.mark.parametrize(
    ("act", "data", "english", "chinese"),
    [
        (
            "quota.set",
            {"gpus": 8.0, "models": {"A100": 2.0}, "cpus": None},
            "root set the quota of user alice: gpus 8, models A100=2",
            "root 设置了用户 alice 的配额：gpus 8, models A100=2",
        ),
        ("quota.set", {"gpus": 0}, "root set the quota of user alice: gpus 0", "：gpus 0"),
        (
            "queue.set",
            {"nodes": ["n1", "n2"], "backfill": False},
            "root set the queue user alice: nodes n1+n2, backfill no",
            "：nodes n1+n2, backfill no",
        ),
        ("job.stopped", {"more": 0}, "root stopped user alice", "root 停止了 user alice"),
        ("user.handed_over", {"to": "bob"}, "owned to bob", "移交给 bob"),
    ],
)
def test_a_line_tells_the_values(
    act: str, data: dict[str, object], english: str, chinese: str
) -> None:
    line = words(AuditRow(seq=1, at=0.0, actor="root", act=act, thing="user alice", data=data))
    assert line.en.endswith(english)
    assert line.zh.endswith(chinese)
