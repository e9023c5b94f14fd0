"""Options by table: what is understood, and what a mistake is told."""

from __future__ import annotations

import pytest

from danlu.cli.options import Command, Option, UsageError, nearest, parse
from danlu.cli.registry import COMMON, commands, find, names

FREE = Command(
    "free",
    "m",
    (Option("gpus", "N", "g"), Option("env", "K=V", "e", many=True), Option("quiet", short="q")),
    "WORD...",
    most=-1,
)
TAIL = Command("tail", "m", FREE.options, "COMMAND", tail=True)
ONE_AND_TAIL = Command("both", "m", FREE.options, "JOB COMMAND", 1, 1, tail=True)


@pytest.mark.parametrize(
    "words",
    [["-g", "2"], ["-g2"], ["-g=2"], ["--gpus", "2"], ["--gpus=2"], ["-qg2"], ["-q", "-g", "2"]],
)
def test_a_value_may_be_written_in_every_usual_way(words: list[str]) -> None:
    assert parse(FREE, words).get("gpus") == "2"


def test_options_and_words_may_be_mixed_and_a_value_may_look_like_an_option() -> None:
    args = parse(FREE, ["a", "-e", "A=1", "b", "--env=B=2", "-g", "-5", "-", "-q"])
    assert args.words == ["a", "b", "-"]
    assert args.all("env") == ["A=1", "B=2"]
    assert args.get("gpus") == "-5"
    assert args.flag("quiet")


def test_the_last_of_several_values_counts() -> None:
    assert parse(FREE, ["-g1", "-g2"]).get("gpus") == "2"


def test_a_command_to_run_keeps_its_own_options() -> None:
    assert parse(TAIL, ["-g1", "python", "-g", "--", "x"]).tail == ["python", "-g", "--", "x"]
    assert parse(TAIL, ["-g1", "--", "-q", "--"]).tail == ["-q", "--"]
    assert parse(TAIL, ["-g1"]).tail is None


def test_words_before_the_command_to_run_are_its_job() -> None:
    args = parse(ONE_AND_TAIL, ["job-1", "-q", "ls", "-q", "-l"])
    assert (args.words, args.tail, args.flag("quiet")) == (["job-1"], ["ls", "-q", "-l"], True)
    assert parse(ONE_AND_TAIL, ["job-1", "--", "ls"]).tail == ["ls"]


def test_after_two_dashes_everything_is_a_word() -> None:
    assert parse(FREE, ["--", "-q", "--gpus"]).words == ["-q", "--gpus"]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["--gpu"], "usage.unknown_option_near"),
        (["--zzzzzz"], "usage.unknown_option"),
        (["-z"], "usage.unknown_option"),
        (["-g"], "usage.needs_value"),
        (["--gpus"], "usage.needs_value"),
        (["--quiet=yes"], "usage.takes_no_value"),
    ],
)
def test_a_mistake_is_named(words: list[str], key: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(FREE, words)
    assert caught.value.key == key


def test_too_few_and_too_many_words_are_mistakes() -> None:
    clone = find("clone")
    assert clone is not None
    for words, key in ([], "usage.too_few"), (["a", "b"], "usage.too_many"):
        with pytest.raises(UsageError) as caught:
            parse(clone, words, COMMON)
        assert caught.value.key == key


def test_help_may_be_asked_for_without_the_words_a_command_needs() -> None:
    show = find("show")
    assert show is not None
    assert parse(show, ["-h"], COMMON).flag("help")


def test_a_number_that_is_none_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse(FREE, ["-g", "two"]).integer("gpus")
    assert caught.value.params["value"] == "two"


def test_the_nearest_word_is_found_only_when_it_is_near() -> None:
    assert nearest("jbos", ["jobs", "run"]) == "jobs"
    assert nearest("quack", ["jobs", "run"]) == ""


def test_every_command_is_found_by_its_name() -> None:
    assert names() == [command.name for command in commands()]
    assert all(find(command.name) is command for command in commands())
    assert find("nothing") is None


def test_no_command_has_two_options_of_one_name() -> None:
    for command in commands():
        own = [name for option in (*command.options, *COMMON) for name in option.names]
        assert len(own) == len(set(own)), command.name
