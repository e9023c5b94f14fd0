"""Files become plain values, with the lines of their keys, or a clear refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from danlu.spec import read_yaml
from danlu.spec.errors import SpecError, shorten
from danlu.spec.read import read_jobs


@pytest.fixture(params=["C parser", "Python parser"], autouse=True)
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML came without its C part, everything is the same."""
    if request.param == "Python parser":
        monkeypatch.setattr(read_yaml, "_Loader", yaml.SafeLoader)


def values(text: str | bytes, media_type: str | None = None) -> list[dict[str, Any]]:
    return [job.values for job in read_jobs(text, media_type)]


def refusal(text: str | bytes, media_type: str | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read_jobs(text, media_type)
    for problem in caught.value.problems:
        assert problem.message.en
        assert problem.message.zh
        assert problem.message.zh != problem.message.en
    return caught.value


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("env: {A: no, B: on, C: Yes}", {"A": "no", "B": "on", "C": "Yes"}),
        ("env: {LR: 1e-3, M: 1.50, N: .5}", {"LR": "1e-3", "M": "1.50", "N": ".5"}),
        ("env: {A: 010, B: 0x1F, C: 1_000}", {"A": "010", "B": "0x1F", "C": "1_000"}),
        ("env: {T: 1:30:00, D: 2024-01-01}", {"T": "1:30:00", "D": "2024-01-01"}),
        ("env: {A: true, B: null, C: ~, D: }", {"A": "true", "B": "null", "C": "~", "D": ""}),
        ("env: {A: 'x: y', B: \"\\t\"}", {"A": "x: y", "B": "\t"}),
    ],
    ids=shorten,
)
def test_variables_keep_the_text_as_written(text: str, env: dict[str, str]) -> None:
    assert values(text) == [{"env": env}]


def test_words_of_a_command_keep_the_text_as_written() -> None:
    assert values("command: [sleep, 010, no, 1e3]\nargs: [on]\n") == [
        {"command": ["sleep", "010", "no", "1e3"], "args": ["on"]}
    ]
    assert values("command: true") == [{"command": "true"}]
    assert values("roles: {env: {gpus: 2, command: false}}") == [
        {"roles": {"env": {"gpus": 2, "command": "false"}}}
    ]


def test_other_scalars_become_numbers_only_where_nothing_is_lost() -> None:
    assert values("gpus: 2\ncpus: 1.5\nname: 1.10\ntime_limit: 1:30:00\nheld: true\ngroup: ~") == [
        {"gpus": 2, "cpus": 1.5, "name": "1.10", "time_limit": "1:30:00", "held": True}
        | {"group": None}
    ]


def test_several_documents_or_a_list_are_several_jobs() -> None:
    several = read_jobs("---\nname: a\n---\n---\nname: b\n")
    assert [(job.values, job.number) for job in several] == [({"name": "a"}, 1), ({"name": "b"}, 2)]
    assert several[1].line_of(("name",)) == 5
    assert values('[{"name": "a"}, {"name": "b"}]') == [{"name": "a"}, {"name": "b"}]
    assert values("- name: a\n- name: b\n") == [{"name": "a"}, {"name": "b"}]
    assert read_jobs("name: a")[0].number is None


def test_lines_of_keys_are_known_in_yaml_and_in_json() -> None:
    job = read_jobs("name: a\nroles:\n  worker:\n    mounts:\n      - x\n")[0]
    assert job.line_of(("roles", "worker", "mounts", 0)) == 5
    assert job.line_of(("roles", "worker", "mounts", 0, "path")) == 5
    assert job.line_of(("roles", "worker", "command")) == 3
    assert job.line_of(("nothing",)) is None
    text = json.dumps([{"name": "a"}, {"roles": {"worker": {"gpus": 1}}}], indent=1)
    assert read_jobs(text, "application/json")[1].line_of(("roles", "worker", "gpus")) == 8


@pytest.mark.parametrize(
    "media_type",
    ["application/yaml", "text/plain; charset=utf-8", None, "application/x-yaml", "*/*"],
    ids=shorten,
)
def test_yaml_is_read_whatever_it_is_called(media_type: str | None) -> None:
    assert values("{name: a}", media_type) == [{"name": "a"}]
    assert values("\ufeffname: a\r\nqueue: b\r\n".encode(), media_type) == [
        {"name": "a", "queue": "b"}
    ]


def test_aliases_and_merges_serve_small_files() -> None:
    text = "roles:\n  a: &base {gpus: 1, count: 1}\n  b: {<<: *base, count: 2}\n"
    assert values(text) == [{"roles": {"a": {"gpus": 1, "count": 1}, "b": {"gpus": 1, "count": 2}}}]


def test_duplicate_keys_are_told_together_with_their_lines() -> None:
    error = refusal("name: a\nenv:\n  X: 1\n  X: 2\nname: b\n")
    assert [(problem.key, problem.line) for problem in error.problems] == [
        ("env.X", 4),
        ("name", 5),
    ]
    error = refusal('{"name": "a",\n "name": "b"}', "application/json")
    assert [(problem.key, problem.line) for problem in error.problems] == [("name", 2)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  \n# only a comment\n---\n...\n", "empty"),
        ("[]", "empty"),
        ("null", "empty"),
        ("python train.py", "not a job"),
        ("- a\n- b\n", "not a job"),
        ("42", "not a job"),
        ("a: [1, 2", "Invalid YAML"),
        ("a: [\n", "the file ends inside brackets"),
        ("a: b: c", "quote"),
        ("name: x\n\tgpus: 1", "tabs"),
        ("a: @x", "special character"),
        ("a: !!python/object/apply:os.system [x]", "!!python/object/apply:os.system"),
        ("a: !!binary aGk=", "!!binary"),
        ("!mine {a: 1}", "!mine"),
        ("? [a]\n: 1", "must be text"),
        ("? {a: 1}\n: 1", "must be text"),
        ("a: *nobody", "*nobody"),
        ("a: &a [*a]", "itself"),
        ("a: 1\n<<: 5", "mapping"),
        ("a: " + "[" * 40 + "]" * 40, "deep"),
        ("a: \x01", "control character"),
        (b"\x7fELF\x02\x00\x00\xff", "binary"),
        (b"\xff\xfea\x00", "UTF-16"),
        (b"name: a\nenv: {A: \xe9}", "0xe9"),
        (b"\x89PNG\r\n\x1a\n\x00", "binary"),
        ("x" * (1 << 20) + "x", "at most 1M"),
    ],
    ids=shorten,
)
def test_what_cannot_be_read_is_refused_and_says_why(text: str | bytes, says: str) -> None:
    assert says in str(refusal(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("command: [\nname: x\n", 1),
        ("name: x\nenv: {A: 1\nworkdir: /x\n", 2),
        ("name: x\ncommand: 'python\nid: y\n", 2),
        ('name: x\ncommand: "python\n\n\n', 2),
        ("name: x\rqueue: a\renv: {A: 1\rworkdir: /x\r", 3),  # ends of lines that YAML knows too
        ("name: x\u2028queue: a\x85env: {A: 1\u2029workdir: /x\n", 3),
    ],
)
def test_what_is_not_closed_is_told_where_it_opens(text: str, line: int) -> None:
    """The line that shows it is often the last, or one that the command line added."""
    (problem,) = refusal(text).problems
    assert problem.line == line
    assert "is not closed" in problem.message.en
    assert "没有闭合" in problem.message.zh


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("null", "empty"),
        ('{"cpus": NaN}', "NaN"),
        ('{"cpus": -Infinity}', "-Infinity"),
        ('{"cpus": 1' + "0" * 5000 + "}", "digits"),
        ('{"a": ' + "[" * 100_000, "deep"),
        ('{"name": "a",}', "Invalid JSON"),
        ("{name: a}", "Invalid JSON"),
        ('"text"', "not a job"),
        ('[{"name": "a"}, 3]', "not a job"),
    ],
    ids=shorten,
)
def test_bad_json_is_refused_and_says_why(text: str, says: str) -> None:
    assert says in str(refusal(text, "application/json"))


def test_refusals_name_the_line() -> None:
    assert refusal("name: a\nb: [").problems[0].line in (2, 3)
    assert refusal('{"a": 1,\n "b": }]').problems[0].line == 2
    assert refusal(b"a: 1\nb: 2\nc: \xff").problems[0].line == 3
    assert refusal("a: 1\nb: !!set {}\n").problems[0].line == 2
    assert refusal("a: 1\n\nb: \x02\n").problems[0].line == 3


def test_aliases_cannot_blow_up() -> None:
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "repeat more than" in str(refusal("\n".join(bomb)))
    merges = "a: &a {x: 1}\nb: {" + "<<: *a, " * 2000 + "}"
    assert "repeat more than" in str(refusal(merges))


def test_a_file_of_endless_small_values_is_refused() -> None:
    assert "more than 30000 values" in str(refusal("args: [" + "a," * 40_000 + "]"))
    assert "more than 30000 values" in str(refusal("---\n" * 40_000 + "a: 1"))
    assert "the limit is 10000" in str(refusal("[" + "{}," * 10_000 + "{}]"))
