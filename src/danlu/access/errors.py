"""What access refuses, and why: both languages, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Sequence


class AccessError(Exception):
    """Becomes an answer of this status."""

    status = 403

    def __init__(self, code: str, en: str, zh: str) -> None:
        super().__init__(en)
        self.code = code
        self.en = en
        self.zh = zh


class NotAllowed(AccessError):
    """One may see it, but not do this with it."""

    def __init__(self, en: str, zh: str, code: str = "not_allowed") -> None:
        super().__init__(code, en, zh)


class NotThere(AccessError):
    """It does not exist, or not for whoever asks: the two are told alike."""

    status = 404

    def __init__(self, what_en: str, what_zh: str) -> None:
        super().__init__("not_found", f"There is no {what_en}", f"没有{what_zh}")


class Clash(AccessError):
    """Not possible as things are."""

    status = 409

    def __init__(self, code: str, en: str, zh: str) -> None:
        super().__init__(code, en, zh)


class Unfit(AccessError):
    """A value that cannot be taken."""

    status = 422

    def __init__(self, key: str, en: str, zh: str) -> None:
        super().__init__("invalid_request", f"{key}: {en}", f"{key}：{zh}")
        self.key = key


class Unknown(Unfit):
    """A name of something that is not here; those that are, are told."""

    def __init__(
        self, key: str, what: tuple[str, str], value: object, known: Sequence[str]
    ) -> None:
        shown, listed = str(value)[:64], known[:50]
        super().__init__(
            key,
            f"{shown!r} is no {what[0]} here; there is: {', '.join(listed) or 'none yet'}",
            f"{shown!r} 不是这里的{what[1]}；现有：{'、'.join(listed) or '无'}",
        )


class WrongPassword(AccessError):
    status = 401

    def __init__(self) -> None:
        super().__init__("wrong_password", "Wrong name or password", "用户名或密码错误")


class TooMany(AccessError):
    status = 429

    def __init__(self, wait: float) -> None:
        self.retry_after = max(1, math.ceil(wait))
        super().__init__(
            "too_many_tries",
            f"Too many tries; wait {self.retry_after} s, then try again",
            f"尝试次数过多；请等 {self.retry_after} 秒再试",
        )
