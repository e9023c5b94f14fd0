"""Keys are added to job files without moving a line, and mean what they would have meant."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from danlu.cli.jobfile import JobFile, NotEditable


def changed(text: str, **keys: object) -> str:
    file = JobFile("job.yaml", text)
    file.set(keys)
    return file.body()[0].decode()


def test_a_new_key_goes_to_the_end_and_no_line_moves() -> None:
    text = "# mine\nname: a\n\ncommand: |\n  one\n  two\n"
    result = changed(text, gpus=2)
    assert result == text + "gpus: 2\n"


def test_a_key_that_is_there_is_replaced_on_the_spot_of_a_blank_line() -> None:
    text = "name: a\nenv:\n  A: '1'\n  B: '2'\nqueue: q\n"
    result = changed(text, env={"C": "3"})
    assert yaml.safe_load(result) == {"name": "a", "env": {"C": "3"}, "queue": "q"}
    assert result.splitlines()[4] == "queue: q"


def test_a_list_at_the_left_edge_belongs_to_its_key() -> None:
    result = changed("command:\n- python\n- train.py\nname: a\n", command=["ls"])
    assert yaml.safe_load(result) == {"name": "a", "command": ["ls"]}


def test_every_document_of_a_file_is_changed_and_empty_ones_are_left() -> None:
    text = "---\nname: a\n---\n# nothing\n---\nname: b\ngpus: 1\n"
    assert list(yaml.safe_load_all(changed(text, gpus=4))) == [
        {"name": "a", "gpus": 4},
        None,
        {"name": "b", "gpus": 4},
    ]


def test_a_key_is_offered_only_to_jobs_that_have_none() -> None:
    file = JobFile("f", "workdir: /there\n---\nimage: x\n---\nname: c\n")
    file.offer("workdir", "/here", unless=("image",))
    jobs = list(yaml.safe_load_all(file.body()[0]))
    assert jobs == [{"workdir": "/there"}, {"image": "x"}, {"name": "c", "workdir": "/here"}]


def test_ids_are_made_for_each_job_so_that_sending_twice_is_safe() -> None:
    made = iter("xyz")
    file = JobFile("f", "name: a\n---\nname: b\nid: mine\n---\nname: c\n")
    assert not file.repeatable
    file.offer("id", lambda: next(made))
    ids = [job["id"] for job in yaml.safe_load_all(file.body()[0])]
    assert ids == ["x", "mine", "z"] or ids == ["x", "mine", "y"]
    assert file.repeatable


def test_it_is_known_which_line_is_which() -> None:
    text = "name: a\ngpus: 1\n---\nname: b\n\nqueue: q"
    file = JobFile("f", text)
    file.set({"gpus": 2, "memory": "1G"})
    sent = file.body()[0].decode().split("\n")
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("gpus"):
            places = {file.place(i) for i, each in enumerate(sent, 1) if each == line}
            assert f"f:{number}: " in places
    added = [i for i, each in enumerate(sent, 1) if each in ("gpus: 2", 'memory: "1G"')]
    assert len(added) == 4
    assert {file.place(i) for i in added} == {""}
    assert file.place(None) == file.place(99) == ""


def test_json_stays_json() -> None:
    file = JobFile("f", '[{"name": "a"}, {"name": "b", "gpus": 1}]')
    file.set({"gpus": 3})
    body, kind = file.body()
    assert kind == "application/json"
    assert json.loads(body) == [{"name": "a", "gpus": 3}, {"name": "b", "gpus": 3}]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{name: a, gpus: 1}\n",
            "- name: a\n",
            "just words\n",
            "--- {name: a}\n",
            "name: a\n...\n",
        ),
        *("a: 1\na: 2\n", "  name: a\n", "? complex\n: 1\n", "<<: {a: 1}\n"),
    ],
)
def test_a_file_of_another_shape_is_sent_untouched_or_not_changed_at_all(text: str) -> None:
    untouched = JobFile("f", text)
    untouched.offer("id", "x")
    assert untouched.body()[0].decode() == text
    with pytest.raises(NotEditable):
        changed(text, gpus=1)


def test_an_empty_file_stays_empty() -> None:
    for text in ("", "\n\n", "# only words\n", "---\n---\n"):
        file = JobFile("f", text)
        file.offer("id", "x")
        file.set({"gpus": 1})
        assert file.body()[0].decode() == text


KEYS = st.sampled_from(["name", "gpus", "env", "command", "roles", "after", "queue"])
VALUES = st.recursive(
    st.integers() | st.text(st.characters(blacklist_categories=("Cs",)), max_size=20) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcde", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, min_size=1), st.dictionaries(KEYS, VALUES, min_size=1))
def test_changing_the_text_is_changing_the_job(
    job: dict[str, object], keys: dict[str, object]
) -> None:
    text = yaml.safe_dump(job, allow_unicode=True, sort_keys=False)
    result = changed(text, **keys)
    # PyYAML does not read every text back as it wrote it; ours must.
    assert yaml.safe_load(result) == yaml.safe_load(text) | keys
    kept = [k for k in job if k not in keys]
    for key in kept:
        line = f"{key}:"
        was = next(i for i, each in enumerate(text.split("\n")) if each.startswith(line))
        assert result.split("\n")[was].startswith(line)
