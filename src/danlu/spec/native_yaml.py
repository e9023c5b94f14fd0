"""Native job files as YAML, the way a person would write them."""

from __future__ import annotations

from typing import Any

import yaml

from danlu.spec.job import JobSpec
from danlu.spec.native import to_native
from danlu.spec.read_yaml import scalar

Values = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks, lists and mappings without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    # The writer treats these as line breaks, readers fold them.
    if any(char in text for char in "\r\x85\u2028\u2029"):
        style = '"'
    if style is None and not isinstance(scalar(text), str):
        style = "'"  # our reader accepts more numbers than the writer knows
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _number(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    """As Python writes it, which our reader accepts as a number."""
    text = repr(number)
    # The writer treats 1e-05 as text, and would add a tag.
    kind = "float" if "." in text else "str"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", text)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _number)


def to_yaml(spec: JobSpec) -> str:
    """A readable file that parses to the same job."""
    return as_yaml(to_native(spec))


def as_yaml(native: Values) -> str:
    return yaml.dump(native, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)
