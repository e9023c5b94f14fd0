"""The OpenAPI document, with descriptions and examples for every operation."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from danlu.api import samples
from danlu.api.answers import StreamEvent
from danlu.spec.request import JobRequest

Values = dict[str, Any]
_REF = "#/components/schemas/{model}"
_TEXTS = {
    "application/yaml": samples.JOB_YAML,
    "application/octet-stream": samples.LOG,
    "text/plain": samples.JOB_YAML,
    "application/gzip": "(the bytes of the file)",
}


def complete(document: Values) -> Values:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    # Submissions are parsed by hand (also YAML) and streams are not JSON, so the framework
    # does not find their schemas.
    for model in (JobRequest, StreamEvent):
        _add(schemas, model)
    maker = Examples(schemas)
    for path in document["paths"].values():
        for operation in path.values():
            _describe(operation)
            _exemplify(operation, maker)
    return document


def _add(schemas: Values, model: type[BaseModel]) -> None:
    schema = model.model_json_schema(ref_template=_REF)
    for name, part in schema.pop("$defs", {}).items():
        schemas.setdefault(name, part)
    schemas[model.__name__] = schema


def _describe(operation: Values) -> None:
    """The first paragraph of a route's docstring is its summary, all of it the description."""
    text = str(operation.get("description", ""))
    summary = " ".join(text.split("\n\n")[0].split()).rstrip(".")
    operation.pop("summary", None)
    if summary:
        operation["summary"] = summary
    for parameter in operation.get("parameters", ()):
        known = samples.PARAMETERS.get(parameter["name"])
        if not parameter.get("description") and known:
            parameter["description"] = known


def _exemplify(operation: Values, maker: Examples) -> None:
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        _give(content, media, maker)
    for status, answer in operation["responses"].items():
        if str(status).startswith("2"):
            for media, content in answer.get("content", {}).items():
                _give(content, media, maker)
        elif str(status) in samples.ERRORS:
            _refuse(answer, str(status))


def _give(content: Values, media: str, maker: Examples) -> None:
    if "example" in content or "examples" in content:
        return
    if media == "application/json" or "json" in media:
        schema = content.get("schema", {})
        content["example"] = maker.of(schema) if schema else samples.JOB
    elif media in _TEXTS:
        content.setdefault("schema", {"type": "string"})
        content["example"] = _TEXTS[media]


def _refuse(answer: Values, status: str) -> None:
    code, en, zh = samples.ERRORS[status]
    details = [samples.DETAIL] if status == "422" else []
    body = {"code": code, "message_en": en, "message_zh": zh, "details": details}
    for content in answer.get("content", {}).values():
        content.setdefault("example", {"error": body})


class Examples:
    """Builds examples from schemas and samples; `missing` lists properties without a sample."""

    def __init__(self, schemas: Values) -> None:
        self._schemas = schemas
        self.missing: set[str] = set()

    def of(self, schema: Values, name: str = "", model: str = "") -> Any:
        known = (f"{model}.{name}", name) if name else ()
        for key in known:
            if key in samples.SAMPLES and _fits(samples.SAMPLES[key], self._solved(schema)):
                return samples.SAMPLES[key]
        if "$ref" in schema:
            target = schema["$ref"].rpartition("/")[2]
            if target == "JobRequest":
                return samples.JOB
            return self.of(self._schemas[target], "", target)
        if "anyOf" in schema:
            return self.of(_first(schema["anyOf"]), name, model)
        for key in ("example", "const", "default"):
            if key in schema:
                return schema[key]
        for key in ("examples", "enum"):
            if schema.get(key):
                return schema[key][0]
        return self._made(schema, name, model)

    def _made(self, schema: Values, name: str, model: str) -> Any:
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            owner = model if not name else schema.get("title", model)
            properties = schema.get("properties", {})
            return {key: self.of(value, key, owner) for key, value in properties.items()}
        if kind == "array":
            items = schema.get("items", {})
            return [self.of(items)] if "$ref" in items or "anyOf" in items else []
        if kind == "boolean":
            return False
        self.missing.add(f"{model}.{name}")
        return {"string": "", "integer": 0, "number": 0}.get(str(kind))

    def _solved(self, schema: Values) -> Values:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema


def _first(choices: list[Values]) -> Values:
    return next((each for each in choices if each.get("type") != "null"), choices[0])


def _fits(value: Any, schema: Values) -> bool:
    """Whether a sample found by name has this type."""
    if isinstance(value, list) and "$ref" in schema.get("items", {}):
        return False
    kinds = [each.get("type") for each in schema.get("anyOf", [schema])]
    if any("$ref" in each for each in schema.get("anyOf", ())):
        kinds.append("object")
    names = {
        dict: ["object"],
        list: ["array"],
        str: ["string"],
        bool: ["boolean"],
        int: ["integer", "number"],
        float: ["number"],
        type(None): ["null"],
    }
    return any(kind in names[type(value)] for kind in kinds) or kinds == [None]
