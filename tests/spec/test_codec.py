"""A job survives being stored, and being written as a file and read again."""

from __future__ import annotations

import json

import yaml
from hypothesis import given, settings

from danlu.spec.codec import from_values, to_values
from danlu.spec.complete import complete, read_submissions
from danlu.spec.job import JobSpec
from danlu.spec.native import to_native
from danlu.spec.native_yaml import to_yaml
from tests.spec.strategies import specs


@settings(max_examples=40)
@given(specs())
def test_stored_values_read_back_as_the_same_job(spec: JobSpec) -> None:
    assert from_values(json.loads(json.dumps(to_values(spec)))) == spec


@settings(max_examples=40)
@given(specs())
def test_native_values_complete_to_the_same_job(spec: JobSpec) -> None:
    assert complete(to_native(spec)) == spec


@settings(max_examples=40)
@given(specs())
def test_a_native_yaml_file_reads_back_as_the_same_job(spec: JobSpec) -> None:
    assert [each.spec for each in read_submissions(to_yaml(spec))] == [spec]


@settings(max_examples=40)
@given(specs())
def test_a_native_json_file_reads_back_as_the_same_job(spec: JobSpec) -> None:
    text = json.dumps(to_native(spec)).encode()
    assert [each.spec for each in read_submissions(text, "application/json")] == [spec]


def test_a_simple_job_makes_a_short_readable_file() -> None:
    spec = complete({"command": "set -e\npython train.py\n", "gpus": 1, "time_limit": 5400})
    assert to_yaml(spec) == (
        "name: train\n"
        "command: |\n"
        "  set -e\n"
        "  python train.py\n"
        "gpus: 1\n"
        "cpus: 8\n"
        "memory: 80G\n"
        "shm: 40G\n"
        "time_limit: 1h30m\n"
    )


def test_the_file_means_the_same_to_other_yaml_readers() -> None:
    spec = complete({"command": ["echo", "no", "010", "1:30"], "env": {"A": "on", "B": "1.5"}})
    values = yaml.safe_load(to_yaml(spec))
    assert values["command"] == ["echo", "no", "010", "1:30"]
    assert values["env"] == {"A": "on", "B": "1.5"}
