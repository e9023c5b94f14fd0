"""The pages below docs/reference: the command line, the HTTP API and the Python client."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

from scripts.reference.asyncify import ROOT
from scripts.reference.models import document

from danlu.cli import texts
from danlu.cli.help import markdown
from danlu.sdk import errors
from danlu.sdk.aio import AsyncClient
from danlu.sdk.client import Client
from danlu.sdk.environments import Environments
from danlu.sdk.files import Files
from danlu.sdk.people import People
from danlu.sdk.scheduling import Scheduling

FOLDER = ROOT / "docs" / "reference"
MADE = "<!-- Made by scripts/docs from the code: change that instead. -->\n"


def made() -> dict[Path, str]:
    return {
        FOLDER / "cli.md": _cli("en", "[中文](cli.zh.md)"),
        FOLDER / "cli.zh.md": _cli("zh", "[English](cli.md)"),
        FOLDER / "api.md": _api(document()),
        FOLDER / "sdk.md": _sdk(),
    }


def _cli(language: str, other: str) -> str:
    before = texts.language()
    texts.use(language)
    try:
        title, _, rest = markdown().partition("\n")
    finally:
        texts.use("zh" if before == texts.ZH else "en")
    return f"{MADE}{title}\n\n{other}\n{rest.rstrip()}\n"


def part(name: str) -> str:
    return (Path(__file__).parent / "parts" / f"{name}.md").read_text()


# The HTTP API


def _api(found: dict[str, Any]) -> str:
    parts = [MADE, part("api-head")]
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    for tag, operations in groups.items():
        parts.append(f"\n## {tag}\n")
        parts += [_operation(*each) for each in operations]
    parts.append("\n" + part("api-sockets"))
    return "".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    short = path.removeprefix("/danlu/v1")
    parts = [f"\n### {method} {short}\n\n{_text(operation['description'])}\n"]
    parameters = operation.get("parameters", [])
    if parameters:
        rows = "".join(_parameter(each) for each in parameters)
        parts.append(f"\n| parameter | where | meaning |\n|---|---|---|\n{rows}")
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        parts.append(f"\nRequest:\n{_examples(body)}")
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            parts.append(f"\nAnswer {status}:\n{_examples(answer.get('content', {}))}")
    errors_told = [s for s in operation["responses"] if not s.startswith("2")]
    parts.append(f"\nErrors: {', '.join(sorted(errors_told))}\n")
    return "".join(parts)


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    about = parameter.get("description", "").replace("|", "\\|").replace("\n", " ")
    default = schema.get("default")
    shown = f" (default `{default}`)" if default not in (None, False) else ""
    return f"| `{parameter['name']}` | {parameter['in']} | {about}{shown} |\n"


def _examples(contents: dict[str, Any]) -> str:
    parts = []
    for media, content in contents.items():
        example = content.get("example")
        if isinstance(example, str):
            parts.append(f"\n`{media}`\n\n```text\n{example.rstrip()}\n```\n")
        else:
            text = json.dumps(example, indent=1, ensure_ascii=False)
            parts.append(f"\n```json\n{text}\n```\n")
    return "".join(parts)


def _text(description: str) -> str:
    return re.sub(r"[ \t]+\n", "\n", description.strip())


# The Python client


def _sdk() -> str:
    parts = [MADE, part("sdk-head"), *_methods(Client)]
    parts.append("\n## Methods of client.people\n")
    parts += _methods(People)
    parts.append("\n## Methods of client.environments\n")
    parts += _methods(Environments)
    parts.append("\n## Methods of client.files\n")
    parts += _methods(Files)
    parts.append("\n## Methods of client.scheduling\n")
    parts += _methods(Scheduling)
    parts.append(_async_part())
    parts.append(_errors_part())
    return "".join(parts)


def _methods(kind: type) -> list[str]:
    parts = []
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or name in _INNER:
            continue
        parts.append(f"\n### {name}\n\n```text\n{_signature(name, function)}\n```\n")
        about = inspect.getdoc(function)
        parts.append(f"\n{about}\n" if about else "")
    return parts


_INNER = {"log_stream", "event_stream", "submit_text"}


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    inner = [p for p in signature.parameters.values() if p.name != "self"]
    returns = str(signature.return_annotation).replace("model.", "")
    words = [str(p).replace("model.", "").replace("'", "") for p in inner]
    if any(p.kind is p.KEYWORD_ONLY for p in inner) and not any(
        p.kind is p.VAR_POSITIONAL for p in inner
    ):
        first = next(i for i, p in enumerate(inner) if p.kind is p.KEYWORD_ONLY)
        words.insert(first, "*")
    line = f"{name}({', '.join(words)}) -> {returns}"
    if len(line) <= 100:
        return line
    return f"{name}(\n    " + ",\n    ".join(words) + f",\n) -> {returns}"


def _async_part() -> str:
    own = sorted(
        name
        for name, _ in inspect.getmembers(AsyncClient, inspect.isasyncgenfunction)
        if not name.startswith("_")
    )
    listed = ", ".join(f"`{name}`" for name in own)
    return "\n" + part("sdk-async").replace("ITERATORS", listed)


def _errors_part() -> str:
    rows = []
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__:
            base = kind.__mro__[1].__name__
            rows.append(
                f"| `{name}` | `{base}` | {(inspect.getdoc(kind) or '').splitlines()[0]} |\n"
            )
    return "\n## Errors\n\n| error | is a | when |\n|---|---|---|\n" + "".join(sorted(rows))
