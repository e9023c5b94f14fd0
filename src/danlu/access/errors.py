"""Errors raised by access checks: status, code and a message in both languages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from danlu.spec.text import Text


class AccessError(Exception):
    """Becomes an HTTP answer with this status."""

    status = 403

    def __init__(self, code: str, message: Text) -> None:
        super().__init__(message.en)
        self.code = code
        self.message = message


class NotAllowed(AccessError):
    """The principal may see the object, but not do this to it."""

    def __init__(self, message: Text, code: str = "not_allowed") -> None:
        super().__init__(code, message)


class NotThere(AccessError):
    """The object does not exist, or is hidden from the principal; the answer is the same."""

    status = 404

    def __init__(self, what: Text) -> None:
        super().__init__("not_found", Text(f"There is no {what.en}", f"没有{what.zh}"))


class Clash(AccessError):
    """Not possible in the current state."""

    status = 409

    def __init__(self, code: str, message: Text) -> None:
        super().__init__(code, message)


class Unfit(AccessError):
    """An invalid value."""

    status = 422

    def __init__(self, key: str, message: Text) -> None:
        super().__init__("invalid_request", message.after(key))
        self.key = key


class Unknown(Unfit):
    """A name that does not exist; the message lists those that do."""

    def __init__(self, key: str, what: Text, value: object, known: Sequence[str]) -> None:
        shown, listed = str(value)[:64], known[:50]
        kind = f"{'an' if what.en[:1] in 'aeio' else 'a'} {what.en}"
        super().__init__(
            key,
            Text(
                f"{shown!r} is not {kind}; available: {', '.join(listed) or 'none yet'}",
                f"{shown!r} 不是这里的{what.zh}；现有：{'、'.join(listed) or '无'}",
            ),
        )


class WrongPassword(AccessError):
    status = 401

    def __init__(self) -> None:
        super().__init__("wrong_password", Text("Wrong name or password", "用户名或密码错误"))


class TooMany(AccessError):
    status = 429

    def __init__(self, wait: float) -> None:
        self.retry_after = max(1, math.ceil(wait))
        super().__init__(
            "too_many_tries",
            Text(
                f"Too many attempts; try again in {self.retry_after} s",
                f"尝试次数过多；请等 {self.retry_after} 秒再试",
            ),
        )


class Crowded(AccessError):
    """One person has as many of these as anybody may."""

    status = 429

    def __init__(self, most: int, what: Text) -> None:
        super().__init__(
            "too_many",
            Text(
                f"You have {most} {what.en}, which is the limit here; close or delete some first",
                f"你已有 {most} 个{what.zh}，达到上限；请先关闭或删除一些",
            ),
        )
