"""Slurm's reasons in words: all of them, in both languages, and never a date nobody can trust."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from danlu.engines.slurm.node_states import node_word
from danlu.engines.slurm.reason_words import Turn
from danlu.engines.slurm.reasons import in_queue, meaning

REASONS = [
    line
    for line in Path(__file__).with_name("reasons.txt").read_text().splitlines()
    if not line.startswith("#")
]
NOW = 1_800_000_000.0
DAY = 86400.0


@pytest.mark.parametrize("code", REASONS)
def test_every_reason_has_words_in_both_languages(code: str) -> None:
    found = meaning(code)

    assert found.code == code
    assert code not in found.words.en
    assert re.search("[\u4e00-\u9fff]", found.words.zh)
    # The two kinds of letters are kept apart, as everywhere in Chinese texts.
    assert not re.search("[A-Za-z][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z]", found.words.zh)
    assert bool(found.advice) == (found.turn in (Turn.USER, Turn.ADMIN))


def test_words_are_different_where_the_reasons_are() -> None:
    words = {meaning(code).words.en for code in REASONS}

    # `BB` may be written as QOSMaxBBMinutesPerJob or Assoc..., `Mem` and `Memory` are the same.
    assert len(words) > 0.9 * len(REASONS)


@pytest.mark.parametrize("wrapped", ["(Priority)", "Priority", " priority "])
def test_brackets_and_case_do_not_matter(wrapped: str) -> None:
    assert meaning(wrapped).code == "Priority"


def test_details_of_a_reason_are_kept() -> None:
    found = meaning("(ReqNodeNotAvail, UnavailableNodes:n[1-2])")

    assert found.code == "ReqNodeNotAvail"
    assert "(n[1-2])" in found.words.en
    assert "（n[1-2]）" in found.words.zh
    assert "maintenance" in meaning("ReqNodeNotAvail,_Reserved_for_maintenance").words.en


def test_what_slurm_writes_as_a_sentence_is_recognised() -> None:
    nodes = "(Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
    "partitions)"

    assert meaning(nodes).turn is Turn.ADMIN
    assert meaning("launch_failed_requeued_held").turn is Turn.ADMIN


def test_a_reason_of_a_later_slurm_is_passed_on() -> None:
    found = meaning("WaitingForTheMoon")

    assert (found.words.en, found.words.zh) == ("WaitingForTheMoon", "WaitingForTheMoon")


def test_limits_say_who_sets_them_and_what_helps() -> None:
    user = meaning("QOSMaxGRESPerUser")
    job = meaning("AssocMaxGRESPerJob")
    budget = meaning("AssocGrpGRESMinutes")

    assert user.words.en == "its owner has reached the limit of GPUs (GRES) that its QOS sets"
    assert user.words.zh == "所有者的显卡（GRES）数量已达所用 QOS 规定的上限"
    assert user.turn is Turn.SLURM
    assert job.turn is Turn.USER
    assert job.words.en.startswith("it asks for more GPUs (GRES) than its Slurm account allows")
    assert budget.turn is Turn.ADMIN
    assert meaning("QOSMinGRES").advice.en.startswith("Ask for more")


def test_a_start_that_slurm_expects_soon_is_told() -> None:
    found = in_queue("Resources", NOW + 600, NOW)

    assert found.start == NOW + 600
    assert found.code == "Resources"
    assert found.no_start == ""


@pytest.mark.parametrize(
    ("reason", "start", "unlimited", "why"),
    [
        ("Priority", None, False, "unplanned"),
        ("Priority", None, True, "no_limit"),
        ("Priority", NOW + 365 * DAY, True, "no_limit"),
        ("Priority", NOW + 365 * DAY, False, "far"),
        ("Priority", NOW - 2 * 3600, False, "unplanned"),
        ("JobHeldAdmin", NOW + 60, False, "blocked"),
        ("QOSMaxGRESPerJob", NOW + 60, False, "blocked"),
    ],
)
def test_a_start_nobody_can_trust_is_not_told(
    reason: str, start: float | None, unlimited: bool, why: str
) -> None:
    found = in_queue(reason, start, NOW, unlimited)

    assert found.start is None
    assert found.no_start == why


def test_a_start_that_has_just_passed_still_counts() -> None:
    assert in_queue("Resources", NOW - 30, NOW).start == NOW - 30


@pytest.mark.parametrize("state", ["idle", "mix", "alloc", "MIXED", "IDLE", "alloc+", "COMPLETING"])
def test_nodes_that_work_say_nothing(state: str) -> None:
    found = node_word(state, "none")

    assert found.takes_jobs
    assert not found.words


@pytest.mark.parametrize(
    ("state", "words", "zh"),
    [
        ("down*", "down; not responding to Slurm: fan broke", "已宕机；对 Slurm 无响应：fan broke"),
        ("drain", "drained by a Slurm admin: fan broke", "已被 Slurm 管理员停用：fan broke"),
        ("IDLE+DRAIN", "drained by a Slurm admin: fan broke", "已被 Slurm 管理员停用：fan broke"),
        (
            "MIXED+DRAIN",
            "being drained by a Slurm admin; its jobs continue: fan broke",
            "正被 Slurm 管理员停用，现有任务继续运行：fan broke",
        ),
        ("idle*", "not responding to Slurm: fan broke", "对 Slurm 无响应：fan broke"),
        ("IDLE+MAINTENANCE", "reserved for maintenance: fan broke", "已预留用于维护：fan broke"),
    ],
)
def test_nodes_that_take_no_jobs_say_why(state: str, words: str, zh: str) -> None:
    found = node_word(state, "fan broke")

    assert not found.takes_jobs
    assert (found.words.en, found.words.zh) == (words, zh)


@pytest.mark.parametrize(
    "state",
    ["down", "drng", "failg", "futr", "inval", "maint", "reboot", "boot", "npc", "pow_dn", "resv",
     "unk", "idle$", "idle@", "idle^", "idle%", "POWERING_DOWN", "BLOCKED"],
)  # fmt: skip
def test_every_other_state_has_words_too(state: str) -> None:
    found = node_word(state)

    assert not found.takes_jobs
    assert re.search("[\u4e00-\u9fff]", found.words.zh)


def test_a_node_that_sleeps_or_is_planned_takes_jobs() -> None:
    for state in ("idle~", "idle#", "plnd", "idle-"):
        assert node_word(state).takes_jobs
        assert node_word(state).words


def test_a_state_of_a_later_slurm_is_passed_on() -> None:
    assert "DREAMING" in node_word("IDLE+DREAMING").words.en
