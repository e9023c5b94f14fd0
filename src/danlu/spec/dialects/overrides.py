"""`a.b.c=value` on a command line: changes one value of a YAML file, typed as YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.spec.dialects.source import core_scalar
from danlu.spec.errors import file_error
from danlu.spec.read_yaml import load_yaml
from danlu.spec.text import Text

DEEPEST = 12


def apply_overrides(values: dict[str, Any], settings: Sequence[str]) -> None:
    """Raises `SpecError`."""
    for setting in settings:
        path, equals, text = setting.partition("=")
        parts = path.strip().split(".")
        if not equals or not all(parts) or len(parts) > DEEPEST:
            raise file_error(
                Text(
                    f"{setting[:80]!r} is not a setting; use key=value or outer.inner=value",
                    f"{setting[:80]!r} 无效；请写 key=value 或 outer.inner=value",
                ),
                value=setting,
            )
        place = values
        for part in parts[:-1]:
            below = place.get(part)
            if not isinstance(below, dict):
                below = place[part] = {}
            place = below
        documents = load_yaml(text, core_scalar, frozenset())
        place[parts[-1]] = documents[0].value if documents else ""
