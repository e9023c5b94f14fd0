"""Passwords: argon2id over a pre-hash, because some clients only send the pre-hash."""

from __future__ import annotations

import hashlib
import secrets

from danlu.access.errors import Unfit
from danlu.spec.text import Text

SHORTEST, LONGEST = 10, 1000
_PREFIX = "GubPEmmotfiK9TMD6Zdw"
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def one_time_password() -> str:
    """Easy to read aloud (no 0/o, 1/l/i); 80 bits."""
    letters = [secrets.choice(_ALPHABET) for _ in range(16)]
    return "-".join("".join(letters[i : i + 4]) for i in range(0, 16, 4))


def check_new(password: str, name: str) -> None:
    """Raises Unfit."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Unfit(
            "password",
            Text(
                f"must have {SHORTEST} to {LONGEST} characters",
                f"需要 {SHORTEST} 到 {LONGEST} 个字符",
            ),
        )
    if len(set(password)) < 4 or name.lower() in (password.lower(), password.lower()[::-1]):
        raise Unfit(
            "password",
            Text(
                "is too easy to guess; use several words, or a generated password",
                "太容易被猜到；请用几个词，或让程序生成",
            ),
        )


def hash_password(password: str) -> str:
    from argon2 import PasswordHasher

    return PasswordHasher().hash(_prehash(password))


def verify_password(stored: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(stored, _prehash(password))
    except (VerificationError, InvalidHashError):
        return False


def _prehash(password: str) -> str:
    return hashlib.sha512((_PREFIX + password).encode("utf-8", "surrogatepass")).hexdigest()
