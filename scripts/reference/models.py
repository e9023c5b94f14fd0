"""Generates `sdk/model.py` from the OpenAPI document: the server's answers as types."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from scripts.reference.asyncify import SDK, formatted

from danlu.api.app import create_app
from danlu.services.services import Services

HEAD = '''"""The shapes the server answers with. Only type checkers read this file at length.

Made by `scripts/docs` from the answers of the API.
"""

from __future__ import annotations

from typing import Any, TypedDict
'''
NAMES = {
    "GPU": "Gpu",
    "GpuList": "Gpus",
    "GpuSummary": "GpuSummary",
    "JobList": "JobPage",
    "LoginAnswer": "Login",
    "NodeVerdict": "NodeFit",
    "Me": "Person",
    "ServerInfo": "Server",
}
"""Names in the client that differ from the server's."""

_PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
Schema = dict[str, Any]


def document() -> dict[str, Any]:
    return create_app(cast(Services, None)).openapi()


def made() -> dict[Path, str]:
    schemas: dict[str, Schema] = document()["components"]["schemas"]
    wanted = sorted(answered(document()), key=lambda name: NAMES.get(name, name))
    # Enums need no type of their own.
    parts = [_type(name, schemas) for name in wanted if "properties" in schemas[name]]
    return {SDK / "model.py": formatted(HEAD + "\n\n" + "\n\n".join(parts))}


def answered(found: dict[str, Any]) -> set[str]:
    """Every schema used in a successful answer."""
    schemas, names = found["components"]["schemas"], set()
    waiting: list[Any] = [{"$ref": "#/components/schemas/StreamEvent"}]
    waiting += [
        answer
        for path in found["paths"].values()
        for operation in path.values()
        for status, answer in operation["responses"].items()
        if str(status).startswith("2")
    ]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            name = str(one.get("$ref", "")).rpartition("/")[2]
            if name and name not in names:
                names.add(name)
                waiting.append(schemas[name])
            waiting += [value for key, value in one.items() if key != "$ref"]
    return names


def _type(name: str, schemas: dict[str, Schema]) -> str:
    schema = schemas[name]
    lines = [f"class {NAMES.get(name, name)}(TypedDict, total=False):"]
    about = str(schema.get("description", "")).strip()
    if about:
        lines.append(f'    """{about}"""\n')
    for key, value in schema.get("properties", {}).items():
        lines.append(f"    {key}: {_hint(value, schemas)}")
    return "\n".join(lines) + "\n"


def _hint(schema: Schema, schemas: dict[str, Schema]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return NAMES.get(name, name) if "properties" in schemas[name] else "str"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_hint(each, schemas) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return "str"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_hint(schema.get('items', {}), schemas)}]"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"dict[str, {_hint(schema['additionalProperties'], schemas)}]"
    return _PLAIN.get(str(kind), "Any")
