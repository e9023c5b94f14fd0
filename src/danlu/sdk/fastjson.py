"""JSON through the interpreter's C routines, without the `json` package.

`json` imports `re`, which costs half as much as starting Python. The C scanner and encoder do not
need it; interpreters without them use `json`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WHITESPACE = " \t\n\r"


class _Rules:
    """The settings the C scanner reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own key cache

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _build() -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner
    except ImportError:
        import json

        return json.loads, lambda value: json.dumps(value, separators=(",", ":"))

    scan = make_scanner(_Rules())  # type: ignore[arg-type]

    def read(text: str) -> Any:
        text = text.strip(_WHITESPACE)
        try:
            value, end = scan(text, 0)
        except StopIteration as stop:
            raise ValueError(f"not JSON at character {stop.value}") from None
        except SystemError:
            # The scanner looks up its error type in `json`, which is not imported yet.
            import json

            return json.loads(text)
        if end != len(text):
            raise ValueError(f"not JSON from character {end}")
        return value

    def write(value: Any) -> str:
        encode = make_encoder(
            {}, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False
        )
        return "".join(encode(value, 0))

    return read, write


_read, _write = _build()


def loads(text: str | bytes) -> Any:
    """The value; ValueError if the text is not JSON."""
    return _read(text.decode() if isinstance(text, bytes) else text)


def dumps(value: Any) -> str:
    return _write(value)
