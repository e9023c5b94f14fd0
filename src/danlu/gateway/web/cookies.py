"""Cookies and tokens: which are the platform's own, and never reach a task."""

from __future__ import annotations

import base64
import binascii
import re

_OURS = re.compile(r"(__host-|__secure-)?danlu-", re.IGNORECASE)
LANGUAGE = "danlu-language"
"""Which of the two somebody reads the platform's pages in."""
_TOKEN = re.compile(rb"dlu_[A-Za-z0-9_-]{8,}")


def cookie_name(door: str, encrypted: bool) -> str:
    """Browsers send a cookie to all ports of a host, so that each door needs a name of its own."""
    return f"{'__Host-' if encrypted else ''}danlu-door-{door}"


def mark_name(port: int, encrypted: bool) -> str:
    """Remembers whose tasks a browser last saw on a port."""
    return f"{'__Host-' if encrypted else ''}danlu-port-{port}"


def values_of(cookies: list[bytes], name: str) -> list[str]:
    """All with this name: a page on another port of the host can add more of them."""
    found = []
    for pair in _pairs(cookies):
        key, _, value = pair.partition("=")
        if key.strip() == name and value.strip() not in found:
            found.append(value.strip())
    return found


def without_ours(cookies: list[bytes]) -> bytes:
    kept = [pair for pair in _pairs(cookies) if not _OURS.match(pair)]
    return "; ".join(kept).encode("latin-1")


def _pairs(cookies: list[bytes]) -> list[str]:
    text = ";".join(each.decode("latin-1") for each in cookies)
    return [pair.strip() for pair in text.split(";") if pair.strip()]


def sets_ours(value: bytes) -> bool:
    """A cookie that a task wants to set. Browsers also take one without a name for its value."""
    return bool(_OURS.match(value.decode("latin-1").lstrip("= \t")))


def has_token(authorization: bytes) -> bool:
    """Whether it holds a token of ours, also as the password of a name."""
    kind, _, value = authorization.partition(b" ")
    if kind.lower() == b"basic":
        try:
            value = base64.b64decode(value.strip(), validate=False)
        except binascii.Error:
            return False
    return bool(_TOKEN.search(value))


def cookie(name: str, value: str, encrypted: bool, lasts: float) -> bytes:
    secure = "; Secure" if encrypted else ""
    text = f"{name}={value}; Max-Age={int(lasts)}; Path=/; HttpOnly; SameSite=Lax{secure}"
    return text.encode()
