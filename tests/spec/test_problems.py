"""Every mistake names the key, the value and what is allowed, in both languages, all at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from danlu.spec.complete import complete, read_submissions
from danlu.spec.defaults import Defaults
from danlu.spec.errors import MOST_PROBLEMS, Problem, SpecError, shorten
from danlu.spec.units import G

SMALL = Defaults(
    max_gpus=8,
    max_cpus=64,
    max_memory=512 * G,
    max_tasks=16,
    max_array=100,
    max_time_limit=86400,
    max_log_cap=4 * G,
)


def problems(values: dict[str, Any], defaults: Defaults = SMALL) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        complete(values, defaults)
    return caught.value.problems


def chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


@pytest.mark.parametrize(
    ("values", "key", "says"),
    [
        ({"name": "a b"}, "name", "letters"),
        ({"name": "-a"}, "name", "'-a'"),
        ({"name": "a/b"}, "name", "letters"),
        ({"name": "训 练"}, "name", "letters"),
        ({"name": "x" * 65}, "name", "64"),
        ({"name": []}, "name", "not text"),
        ({"name": "a\x00b"}, "name", "letters"),
        ({"kind": "job"}, "kind", "train, environment, service"),
        ({"kind": 3}, "kind", "train"),
        ({"command": ""}, "command", "text for the shell"),
        ({"command": "  "}, "command", "text for the shell"),
        ({"command": []}, "command", "a list of words"),
        ({"command": [""]}, "command", "a list of words"),
        ({"command": {"a": 1}}, "command", "a list of words"),
        ({"command": ["a", ["b"]]}, "command.1", "not text"),
        ({"command": "a\x00b"}, "command", "control character"),
        ({"command": ["a", "b\x07"]}, "command.1", "control character"),
        ({"command": "\ud800"}, "command", "control character"),
        ({"command": "x" * 131_072}, "command", "131071"),
        ({"command": "é" * 70_000}, "command", "131071"),
        ({"command": ["x"] * 10_001}, "command", "10000"),
        ({"script": "a\nb", "command": None}, "script", "non-empty line"),
        ({"script": "", "command": None}, "script", "non-empty line"),
        ({"script": "x" * 5000, "command": None}, "script", "4095"),
        ({"script": "s"}, "script", "keep one"),
        ({"args": ["x"]}, "args", "script"),
        ({"args": "x"}, "args", "list of words"),
        ({"image": "a\nb"}, "image", "non-empty line"),
        ({"gpus": "two"}, "gpus", "2:RTX3090"),
        ({"gpus": "RTX3090"}, "gpus", "2:RTX3090"),
        ({"gpus": -1}, "gpus", "integer"),
        ({"gpus": 1.5}, "gpus", "fraction"),
        ({"gpus": 0.001}, "gpus", "fraction"),
        ({"gpus": True}, "gpus", "integer"),
        ({"gpus": [1]}, "gpus", "integer"),
        ({"gpus": float("nan")}, "gpus", "integer"),
        ({"gpus": float("inf")}, "gpus", "integer"),
        ({"gpus": 10**5000}, "gpus", "integer"),
        ({"gpus": "0:A100"}, "gpus", "no GPU"),
        ({"gpus": "1:"}, "gpus", "non-empty line"),
        ({"gpus": "1:\x1b[2J"}, "gpus", "non-empty line"),
        ({"gpus": {"cuont": 1}}, "gpus.cuont", "'count'"),
        ({"gpus": {"count": 2, "fraction": 0.5}}, "gpus.fraction", "0.01"),
        ({"gpus": {"fraction": 2}}, "gpus.fraction", "0.01"),
        ({"gpus": 9}, "gpus", "at most 8"),
        ({"cpus": 0}, "cpus", "0.01"),
        ({"cpus": "many"}, "cpus", "number from"),
        ({"cpus": float("nan")}, "cpus", "number from"),
        ({"cpus": 10**5000}, "cpus", "number from"),
        ({"cpus": 65}, "cpus", "at most 64"),
        ({"memory": "lots"}, "memory", "64G"),
        ({"memory": 5}, "memory", "minimum is 4M"),
        ({"memory": "1T"}, "memory", "at most 512G"),
        ({"memory": 10**5000}, "memory", "out of range"),
        ({"shm": "2G", "memory": "1G"}, "shm", "is a part"),
        ({"shm": "600G"}, "shm", "at most 512G"),
        ({"shm": 0}, "shm", "minimum is 1M"),
        ({"env": ["A"]}, "env", "{NAME: value}"),
        ({"env": {"1A": "x"}}, "env.'1A'", "letters"),
        ({"env": {"A-B": "x"}}, "env.A-B", "letters"),
        ({"env": {"": "x"}}, "env.''", "letters"),
        ({"env": {"A=B": "x"}}, "env.'A=B'", "letters"),
        ({"env": {"A": None}}, "env.A", '""'),
        ({"env": {"A": {}}}, "env.A", "not text"),
        ({"env": {"A": "\x00"}}, "env.A", "control character"),
        ({"env": {"A": "x" * 131_070}}, "env.A", "131071"),
        ({"env": {f"A{n}": "x" for n in range(1001)}}, "env", "1000"),
        ({"secrets": "x"}, "secrets", "{VARIABLE: secret}"),
        ({"secrets": {"A": "a b"}}, "secrets.A", "letters"),
        ({"secrets": ["not-a-variable"]}, "secrets.0", "variable"),
        ({"secrets": {"A": "s"}, "env": {"A": "x"}}, "secrets.A", "keep one"),
        ({"mounts": "fast:/fast"}, "mounts", "list"),
        ({"mounts": ["fast"]}, "mounts.0", "volume:/path"),
        ({"mounts": ["fast:/fast:rx"]}, "mounts.0", "volume:/path"),
        ({"mounts": ["fast:fast"]}, "mounts.0", "absolute"),
        ({"mounts": ["fast:/a/../b"]}, "mounts.0", "'..'"),
        ({"mounts": ["fast:/"]}, "mounts.0", "belongs to the system"),
        ({"mounts": ["fast://proc/"]}, "mounts.0", "belongs to the system"),
        ({"mounts": ["fast:/sys/fs"]}, "mounts.0", "belongs to the system"),
        ({"mounts": ["fast:/./dev/shm"]}, "mounts.0", "belongs to the system"),
        ({"mounts": ["a:/x", "b:/x/"]}, "mounts.1", "twice"),
        ({"mounts": ["../etc:/x"]}, "mounts.0", "letters"),
        ({"mounts": [{"volume": "a"}]}, "mounts.0", "volume:/path"),
        ({"mounts": [{"volume": "a", "path": "/x", "ro": True}]}, "mounts.0.ro", "'read_only'"),
        ({"mounts": [{"volume": "a", "path": "/x:y"}]}, "mounts.0.path", "':'"),
        ({"mounts": [{"volume": "a", "path": "/x", "read_only": 3}]}, "mounts.0.read_only", "true"),
        ({"mounts": [f"a:/m{n}" for n in range(101)]}, "mounts", "100"),
        ({"ports": 0}, "ports", "1 to 64"),
        ({"ports": 65}, "ports", "1 to 64"),
        ({"ports": "http"}, "ports", "labels"),
        ({"ports": {"http": 0}}, "ports.http", "1 to 64"),
        ({"ports": {"a-b": 1}}, "ports", "letters"),
        ({"ports": ["http", "HTTP"]}, "ports", "twice"),
        ({"ports": {"a": 40, "b": 40}}, "ports", "more than 64"),
        ({"ports": [f"p{n}" for n in range(65)]}, "ports", "more than 64"),
        ({"workdir": "proj"}, "workdir", "absolute"),
        ({"workdir": "/a\nb"}, "workdir", "non-empty line"),
        ({"processes": "many"}, "processes", "one, per_gpu"),
        ({"processes": "per_gpu"}, "processes", "whole GPUs"),
        ({"processes": "per_gpu", "gpus": 0.5}, "processes", "whole GPUs"),
        ({"count": 0}, "count", "1 to"),
        ({"count": 1.5}, "count", "integer"),
        ({"count": 17}, "count", "limit of 16"),
        ({"queue": "a b"}, "queue", "letters"),
        ({"group": {}}, "group", "not text"),
        ({"priority": 1001}, "priority", "-1000 to 1000"),
        ({"priority": "high"}, "priority", "-1000 to 1000"),
        ({"time_limit": "soon"}, "time_limit", "12h"),
        ({"time_limit": 0}, "time_limit", "1s"),
        ({"time_limit": "2d"}, "time_limit", "at most 1d"),
        ({"retries": -3}, "retries", "-2 to 100"),
        ({"retries": 10**5000}, "retries", "-2 to 100"),
        ({"grace": "2h"}, "grace", "0s to 1h"),
        ({"after": "mnist"}, "after", "mnist-3"),
        ({"after": ["mnist-1", "x"]}, "after.1", "mnist-3"),
        ({"after": [{"job": "a-1", "when": "later"}]}, "after.0.when", "succeeded"),
        ({"after": [{"jbo": "a-1"}]}, "after.0", "is not a dependency"),
        ({"after": [3]}, "after.0", "is not a dependency"),
        ({"array": "a-b"}, "array", "0-9"),
        ({"array": 101}, "array", "limit of 100"),
        ({"stdin": "yes"}, "stdin", "none, pipe, tty"),
        ({"split_output": "maybe"}, "split_output", "true"),
        ({"log_cap": "8G"}, "log_cap", "at most 4G"),
        ({"log_cap": 1}, "log_cap", "minimum is 4K"),
        ({"held": 1}, "held", "true"),
        ({"id": "42"}, "id", "use a UUID"),
        ({"id": "550e8400-e29b-41d4-a716-44665544000"}, "id", "use a UUID"),
        ({"gpu": 2}, "gpu", "did you mean 'gpus'"),
        ({"GPUs": 2}, "GPUs", "did you mean 'gpus'"),
        ({"time-limit": 2}, "time-limit", "did you mean 'time_limit'"),
        ({"walltime": 2}, "walltime", "did you mean 'time_limit'"),
        ({"replicas": 2}, "replicas", "did you mean 'count'"),
        ({"zzzz": 2}, "zzzz", "known keys: name"),
        ({"\ud800": 2}, "'\\ud800'", "unknown key"),
    ],
    ids=lambda value: shorten(value, depth=3),
)
def test_a_mistake_names_key_value_and_what_is_allowed(
    values: dict[str, Any], key: str, says: str
) -> None:
    (problem,) = problems({"command": "x"} | values)
    assert problem.key == key
    assert says in problem.message.en
    assert key in problem.message.en
    assert key in problem.message.zh
    assert chinese(problem.message.zh)
    assert not chinese(problem.message.en.replace("训 练", ""))
    if problem.value:
        assert problem.value in problem.message.en
        assert problem.value in problem.message.zh
    assert len(problem.message.en) < 600
    # It can be sent and printed, whatever was written.
    json.dumps(problem.values()).encode()
    problem.text("zh").encode()


@pytest.mark.parametrize(
    ("values", "key", "says"),
    [
        ({}, "command", "missing"),
        ({"roles": {}}, "roles", "1 to 100"),
        ({"roles": []}, "roles", "{worker:"),
        ({"roles": {"worker": None}}, "roles.worker", "not a role"),
        ({"roles": {"worker": {}}}, "roles.worker.command", "missing"),
        ({"roles": {"worker": {"command": "x", "gpu": 1}}}, "roles.worker.gpu", "'gpus'"),
        ({"roles": {"worker": {"command": "x", "queue": 1}}}, "roles.worker.queue", "unknown key"),
        ({"roles": {"my-role": {"command": "x"}}}, "roles.my-role", "letter"),
        ({"roles": {"1": {"command": "x"}}}, "roles.1", "letter"),
        ({"roles": {"\ud800": {"command": "x"}}}, "roles.'\\ud800'", "letter"),
        ({"roles": {"a": {"command": "x"}, "A": {"command": "x"}}}, "roles.A", "only in case"),
        ({"roles": {"a": {"command": "x", "count": 17}}}, "roles", "limit of 16"),
        ({"gpus": 1, "roles": {"a": {"command": "x"}}}, "gpus", "roles.worker.gpus"),
        ({"roles": {"a": {"command": "x", "cpus": 65}}}, "roles.a.cpus", "at most 64"),
    ],
    ids=lambda value: shorten(value, depth=3),
)
def test_mistakes_in_roles_name_the_role(values: dict[str, Any], key: str, says: str) -> None:
    (problem,) = problems(values)
    assert problem.key == key
    assert says in problem.message.en
    assert chinese(problem.message.zh)


def test_all_mistakes_of_a_file_are_told_together_with_their_lines() -> None:
    text = """\
name: my job
gpu: 2
shm: 2G
memory: 1G
mounts:
  - fast:/proc
  - {volume: fast, path: x}
env:
  OK: fine
  1BAD: x
after: [nothing]
"""
    with pytest.raises(SpecError) as caught:
        read_submissions(text)
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [
        (1, "name"),
        (2, "gpu"),
        (3, "shm"),
        (6, "mounts.0"),
        (7, "mounts.1.path"),
        (10, "env.'1BAD'"),
        (11, "after.0"),
    ]
    english, mandarin = caught.value.text("en"), caught.value.text("zh_CN.UTF-8")
    assert english.splitlines()[1] == "line 2: gpu: unknown key 'gpu'; did you mean 'gpus'?"
    assert mandarin.splitlines()[1] == "第 2 行: gpu: 未知的键 'gpu'；是否想写 'gpus'？"
    assert str(caught.value) == english


def test_a_misspelt_command_is_one_mistake_and_not_two() -> None:
    (problem,) = problems({"comand": "x"})
    assert problem.key == "comand"
    (problem,) = problems({"command": 5})
    assert problem.key == "command"


def test_no_message_speaks_the_language_of_the_machinery() -> None:
    found = problems({"roles": 5, "name": [], "env": 3, "x": 1, "held": "?", "array": {}})
    text = " ".join(problem.message.en for problem in found).lower()
    assert len(found) == 6
    for word in ("pydantic", "validation", "dict", "nonetype", "input should", "value error"):
        assert word not in text


def test_a_hostile_file_gets_a_short_answer() -> None:
    found = problems({f"k{n}": n for n in range(50_000)})
    assert len(found) == MOST_PROBLEMS + 1
    assert "more errors" in found[-1].message.en
    found = problems({"roles": {f"r{n}": {"x": n} for n in range(50_000)}})
    assert len(found) == MOST_PROBLEMS + 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "'a'"),
        ("a\x1b[2J\ud800", "'a\\x1b[2J\\ud800'"),
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (10**5000, "≈1e5000"),
        ([1, [2, [3]], 3, 4], "[1, [2, […]], 3, …]"),
        ({"a": {"b": {"c": 1}}}, "{a: {b: {…}}}"),
        (object(), "object"),
    ],
    ids=shorten,
)
def test_values_are_shown_short_and_printable(value: object, shown: str) -> None:
    assert shorten(value) == shown
