"""The OpenAPI document is complete: words, examples and errors for every operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import jsonschema_rs
import pytest

from danlu.api.app import create_app
from danlu.api.document import Examples
from danlu.services.services import Services

document: dict[str, Any] = create_app(cast(Services, None)).openapi()
OPEN = {
    "get /danlu/v1/version",
    "get /danlu/v1/sign-up",
    "post /danlu/v1/login",
    "post /danlu/v1/sign-up",
}
"""Nobody has to be signed in for these."""


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


every = pytest.mark.parametrize(
    "operation", [pytest.param(found, id=name) for name, found in operations()]
)


def contents(answer: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from answer.get("content", {}).items()


def check(example: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": document["components"]}
    jsonschema_rs.validate(whole, example)


@every
def test_an_operation_says_what_it_does(operation: dict[str, Any]) -> None:
    assert operation.get("summary"), "give the route a docstring"
    assert len(operation["summary"]) <= 100
    assert operation["description"].startswith(operation["summary"].split()[0])
    assert operation["tags"]


@every
def test_every_parameter_is_explained(operation: dict[str, Any]) -> None:
    unexplained = [
        parameter["name"]
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    assert unexplained == [], "say it in the route, or in samples.PARAMETERS"


@every
def test_a_request_has_an_example_that_is_valid(operation: dict[str, Any]) -> None:
    for media, content in contents(operation.get("requestBody", {})):
        assert "example" in content, media
        if "json" in media:
            check(content["example"], content["schema"])


@every
def test_a_good_answer_has_an_example_that_is_valid(operation: dict[str, Any]) -> None:
    good = {s: a for s, a in operation["responses"].items() if s.startswith("2")}
    assert good
    for answer in good.values():
        found = dict(contents(answer))
        assert found
        for media, content in found.items():
            assert content.get("example") not in (None, "", {}), media
            if "json" in media and "schema" in content:
                check(content["example"], content["schema"])


@pytest.mark.parametrize(
    ("name", "operation"), [pytest.param(*each, id=each[0]) for each in operations()]
)
def test_errors_have_the_one_shape_and_an_example(name: str, operation: dict[str, Any]) -> None:
    errors = {s: a for s, a in operation["responses"].items() if not s.startswith("2")}
    wanted = {"422", "503"} | (set() if name in OPEN else {"401"})
    assert wanted <= errors.keys()
    for answer in errors.values():
        content = answer["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/ErrorAnswer"}
        check(content["example"], content["schema"])
        error = content["example"]["error"]
        assert error["message_en"] != error["message_zh"]


def test_ids_of_operations_are_unique_and_readable() -> None:
    ids = [operation["operationId"] for _, operation in operations()]
    assert len(ids) == len(set(ids))
    assert all(name.replace("_", "").replace("-", "").isalnum() for name in ids)


def test_every_property_of_an_answer_or_order_has_a_sample() -> None:
    maker = Examples(document["components"]["schemas"])
    for _, operation in operations():
        parts = [operation.get("requestBody", {}), *operation["responses"].values()]
        for part in parts:
            for media, content in contents(part):
                if "json" in media and "$ref" in content.get("schema", {}):
                    maker.of(content["schema"])
    missing = {each for each in maker.missing if not each.startswith(("ErrorBody", "ErrorDetail"))}
    assert missing == set(), "add a value to samples.SAMPLES"
