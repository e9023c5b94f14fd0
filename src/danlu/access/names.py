"""Names of people and groups.

A name becomes a folder, part of job references and part of mount paths, and is never reused: so it
is short, lower-case and unambiguous.
"""

from __future__ import annotations

import re

from danlu.access.errors import Unfit
from danlu.registry.names import RESERVED as IMAGES
from danlu.spec.text import Text

NAME_PATTERN = r"[a-z][a-z0-9_.-]{0,30}[a-z0-9]|[a-z]"
RESERVED = frozenset(
    {"all", "anyone", "danlu", "everyone", "me", "nobody", "root", "system"} | IMAGES
)
LONGEST_TEXT = 200
_NAME = re.compile(NAME_PATTERN)


def check_name(name: str, key: str = "name") -> str:
    """Raises Unfit."""
    if not _NAME.fullmatch(name):
        raise Unfit(
            key,
            Text(
                f"{name[:40]!r} is not a valid name; use 1 to 32 of a-z, 0-9, _, - and ., starting "
                "with a letter and ending with a letter or digit",
                f"{name[:40]!r} 不能用作名称；请用 1 到 32 个 a-z、0-9、_、-、.，"
                "以字母开头，以字母或数字结尾",
            ),
        )
    if name in RESERVED:
        raise Unfit(
            key,
            Text(f"{name!r} is reserved; choose another name", f"{name!r} 是保留名称；请换一个"),
        )
    return name


def check_text(text: str, key: str) -> str:
    """One line of free text. Raises Unfit."""
    tidy = text.strip()
    if len(tidy) > LONGEST_TEXT or not tidy.isprintable():
        raise Unfit(
            key,
            Text(
                f"must be one line of at most {LONGEST_TEXT} characters",
                f"请写一行，最多 {LONGEST_TEXT} 个字符",
            ),
        )
    return tidy
