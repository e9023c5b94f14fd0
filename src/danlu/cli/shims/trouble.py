"""Failures of foreign commands, in their own style: `name: error: ...`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.errors import ApiError


class Trouble(Exception):
    """A failure of a command."""

    def __init__(self, en: str, zh: str, code: int = 1) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh
        self.code = code


def say(name: str, text: str) -> None:
    try:
        sys.stdout.flush()
        sys.stderr.write(f"{name}: {text}\n")
        sys.stderr.flush()
    except OSError:
        pass


def chosen(en: str, zh: str) -> str:
    from danlu.cli.texts import ZH, language

    return zh if language() == ZH else en


def explain(name: str, error: BaseException) -> int:
    if isinstance(error, Trouble):
        say(name, f"error: {chosen(error.en, error.zh)}")
        return error.code
    from danlu.sdk import errors

    if isinstance(error, errors.ApiError):
        return refused(name, error)
    from danlu.cli import failure

    # Everything else can happen to any Danlu command.
    return failure.explain(error)


def refused(name: str, error: ApiError) -> int:
    """The server's error, with the lines it refers to."""
    from danlu.cli.texts import pick

    say(name, f"error: {pick(error, 'message')}")
    for detail in error.details:
        line = detail.get("line")
        place = f"line {line}: " if line else ""
        say(name, f"error: {place}{pick(detail, 'message')}")
    return 1
