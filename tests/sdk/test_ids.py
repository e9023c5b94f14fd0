from __future__ import annotations

import time
import uuid

from danlu.sdk.ids import uuid7


def test_an_id_is_a_version_7_uuid_of_this_moment() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(uuid7())
    after = time.time_ns() // 1_000_000
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert before <= made.int >> 80 <= after


def test_ids_differ() -> None:
    assert len({uuid7() for _ in range(2000)}) == 2000
