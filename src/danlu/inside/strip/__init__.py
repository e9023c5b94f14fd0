"""Time left and a few buttons, as extensions of JupyterLab and VS Code. They ask the gateway."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def put(program: str, folder: str, script: str) -> None:
    """The extension of `program`, lab or code, whose manifest names the path `script`."""
    os.makedirs(os.path.dirname(f"{folder}/{script}"), mode=0o700, exist_ok=True)
    for name in os.listdir(f"{_HERE}/{program}"):
        if name.endswith(".json"):
            _write(f"{folder}/{name}", _read(f"{program}/{name}"))
    parts = (_read("core.js"), _read(f"{program}/{program}.js"))
    _write(f"{folder}/{script}", "\n".join(("(() => {", *parts, "})();\n")))


def _read(name: str) -> str:
    with open(f"{_HERE}/{name}", encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
