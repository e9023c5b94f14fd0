"""The schema in the API document says what the reader really reads."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from danlu.spec.complete import complete
from danlu.spec.read import read_jobs
from danlu.spec.request import JOB_KEYS, ROLE_KEYS, JobRequest, RoleRequest
from tests.spec.test_complete import FULL

SCHEMA = JobRequest.model_json_schema()


def every_key() -> list[tuple[str, dict[str, Any]]]:
    return [(key, SCHEMA["properties"][key]) for key in JOB_KEYS]


def test_the_keys_are_those_people_were_promised() -> None:
    assert set(JOB_KEYS) == set(JobRequest.model_fields)
    assert set(ROLE_KEYS) == set(RoleRequest.model_fields)
    assert len(JOB_KEYS) == len(set(JOB_KEYS))
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize(("key", "schema"), every_key(), ids=JOB_KEYS)
def test_every_key_is_described(key: str, schema: dict[str, Any]) -> None:
    assert schema["description"].endswith(".")


@pytest.mark.parametrize(
    ("key", "example"),
    [(key, example) for key, schema in every_key() for example in schema.get("examples", ())],
)
def test_every_example_of_a_key_fits_the_schema_and_is_accepted(key: str, example: Any) -> None:
    values = {key: example}
    if key == "args":
        values["script"] = "./x"
    elif key not in ("command", "script", "tool", "roles"):
        values["command"] = "x"
    jsonschema_rs.validate(SCHEMA, values)
    assert complete(values)


@pytest.mark.parametrize("example", SCHEMA["examples"])
def test_every_whole_example_fits_the_schema_and_is_accepted(example: dict[str, Any]) -> None:
    jsonschema_rs.validate(SCHEMA, example)
    assert complete(example)


def test_a_full_file_fits_the_schema() -> None:
    values = read_jobs(FULL)[0].values
    values["mounts"] = [{"volume": "fast", "path": "/fast", "read_only": True}, "slow:/slow"]
    values["held"] = True
    jsonschema_rs.validate(SCHEMA, values)


@pytest.mark.parametrize("key", [key for key in JOB_KEYS if key != "roles"])
def test_nothing_is_promised_that_no_reader_takes(key: str) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(SCHEMA, {key: {"no one": ["reads", "this"]}})
