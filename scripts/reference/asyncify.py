"""Generates `sdk/async_*.py` from the files in `SOURCES`: the same methods, awaited."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "src" / "danlu" / "sdk"
HEAD = """# ruff: noqa: ASYNC109 - a timeout that goes along with the request
\"\"\"The requests of `NAME`, awaited. Made by `scripts/docs`: change that instead.\"\"\"

"""
SOURCES = ("calls", "people", "scheduling", "environments", "files")


def made() -> dict[Path, str]:
    return {SDK / f"async_{name}.py": _made(name) for name in SOURCES}


def _made(name: str) -> str:
    text = (SDK / f"{name}.py").read_text()
    for word in ("from danlu.sdk.calls import Calls", ": Calls)"):
        text = text.replace(
            word, word.replace("sdk.calls", "sdk.async_calls").replace("Calls", "AsyncCalls")
        )
    tree = ast.parse(text)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for one in classes:
        _Awaited({node.name for node in one.body if isinstance(node, ast.FunctionDef)}).change(one)
    shared = [node for node in tree.body if _shared(node)]
    tree.body = [node for node in tree.body[1:] if node not in shared]
    names = ", ".join(sorted(_names(shared) & _used(tree)))
    at = next(i for i, node in enumerate(tree.body) if _is_local_import(node))
    tree.body.insert(at, ast.parse(f"from danlu.sdk.{name} import {names}").body[0])
    head = HEAD.replace("NAME", name)
    return formatted(head + ast.unparse(ast.fix_missing_locations(tree)))


def _shared(node: ast.stmt) -> bool:
    """Imports functions and constants unchanged."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id != "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef)


def _names(nodes: list[ast.stmt]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.add(node.targets[0].id)
    return found


def _used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _is_local_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("danlu")


class _Awaited(ast.NodeTransformer):
    def __init__(self, methods: set[str]) -> None:
        self._methods = methods

    def change(self, one: ast.ClassDef) -> None:
        one.name = f"Async{one.name}"
        one.body = [
            self._coroutine(node)
            if isinstance(node, ast.FunctionDef) and node.name != "__init__"
            else node
            for node in one.body
        ]

    def _coroutine(self, method: ast.FunctionDef) -> ast.stmt:
        self.generic_visit(method)
        return ast.AsyncFunctionDef(**dict(ast.iter_fields(method)), lineno=method.lineno)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        ours = (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id == "self"
            and function.attr in self._methods
        )
        # Calls through self._calls are awaited too.
        beneath = (
            isinstance(function, ast.Attribute) and ast.unparse(function.value) == "self._calls"
        )
        ours = ours or beneath
        return ast.Await(node) if ours else node


def formatted(text: str) -> str:
    """Formatted like `make format`."""
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", "src/danlu/sdk/made.py"]
    for command in (
        [*ruff, "check", "--fix-only", "--quiet", "--ignore", "F821", *name, "-"],
        [*ruff, "format", "--quiet", *name, "-"],
    ):
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        )
        text = done.stdout
    return text
