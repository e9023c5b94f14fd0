"""Whatever the bytes are: jobs, or a clear refusal. Never anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from danlu.spec.codec import from_values, to_values
from danlu.spec.complete import complete, read_submissions
from danlu.spec.errors import SpecError
from danlu.spec.native_yaml import to_yaml
from danlu.spec.read import RawJob, read_jobs
from danlu.spec.request import JOB_KEYS, ROLE_KEYS
from tests.spec.test_complete import FULL

MEDIA_TYPES = (None, "application/json", "application/yaml", "text/plain")

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([10**4000, -(10**400), "9" * 5000, "\x00", "\ud800", "0-999999999", "1:1"])
    | st.sampled_from(
        ["a-1", "a:/b", "2:X", "64G", "12h", "per_gpu", "tty", "ended", "x" * 200_000]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=8)
            | st.sampled_from(
                [*JOB_KEYS, "model", "fraction", "volume", "path", "job", "when", "\ud800"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
role_like = st.dictionaries(st.sampled_from(ROLE_KEYS), anything, max_size=6)
job_like = st.builds(
    lambda flat, roles: flat | ({"roles": roles} if roles is not None else {}),
    st.dictionaries(st.sampled_from(JOB_KEYS), anything, max_size=8),
    st.none() | st.dictionaries(st.text(max_size=6) | st.just("worker"), role_like, max_size=3),
)


def answer(text: bytes, media_type: str | None = None) -> None:
    try:
        submissions = read_submissions(text, media_type)
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.message.en
            assert problem.message.zh
            problem.text("zh").encode()
            json.dumps(problem.values(), ensure_ascii=False).encode()
        return
    for submission in submissions:
        json.dumps(to_values(submission.spec)).encode()


@given(st.binary(max_size=300), st.sampled_from(MEDIA_TYPES))
def test_any_bytes_are_answered(data: bytes, media_type: str | None) -> None:
    answer(data, media_type)


@given(st.text(max_size=300), st.sampled_from(MEDIA_TYPES))
def test_any_text_is_answered(text: str, media_type: str | None) -> None:
    answer(text.encode("utf-8", "surrogatepass"), media_type)


@given(st.text("{}[]:,-&*!|>'\"%@`#?~<= \n\tab01.\\\x00\x85\ufeff", max_size=80))
def test_any_run_of_yamls_special_characters_is_answered(text: str) -> None:
    answer(text.encode())


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(FULL)),
            st.integers(0, 8),
            st.binary(max_size=4)
            | st.sampled_from([b"\n", b": ", b"- ", b"[", b"{", b"&a ", b"*a"]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_damage_to_a_good_file_is_answered(cuts: list[tuple[int, int, bytes]]) -> None:
    data = FULL.encode()
    for at, length, put in cuts:
        data = data[:at] + put + data[at + length :]
    answer(data)


@given(job_like)
@example({"gpus": {"count": 10**400}})
@example({"command": "x", "after": [[[[[[[]]]]]]]})
def test_any_values_complete_or_are_refused(values: dict[str, Any]) -> None:
    try:
        spec = complete(RawJob(values))
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            json.dumps(problem.values(), ensure_ascii=False).encode()
        return
    assert from_values(to_values(spec)) == spec
    assert complete(read_jobs(to_yaml(spec))[0]) == spec


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 500_000,
        b"{a: " * 200_000,
        b'{"a":' * 150_000,
        b"- " * 400_000,
        b"? " * 400_000,
        b"&a " * 300_000,
        b"---\n" * 200_000,
        b"# x\n" * 200_000,
        b"\t" * 1_000_000,
        b'"' * 1_000_000,
        b"cpus: " + b"9" * 900_000,
        b'{"command":"x","array":"' + b"0-99999," * 60_000 + b'"}',
        b'{"command":"x","after":"' + b"a-" * 400_000 + b'"}',
        b'{"command":"' + b"./a.b-" * 20_000 + b'"}',
        json.dumps({"x" * 400_000: 1, "y" * 400_000: 1}).encode(),
        json.dumps({f"k{n}": 1 for n in range(40_000)}, indent=1).encode(),
        json.dumps([{}] * 9_999).encode(),
        b"x" * 5_000_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_huge_files_are_answered(data: bytes) -> None:
    answer(data)
