"""Database errors, with messages in both languages."""

from __future__ import annotations

from danlu.spec.text import EMPTY, Text


class StoreError(Exception):
    """Base class: what happened, to which database, what to do next."""

    passing = False  # may pass within moments, so a write retries until its deadline

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message

    def again(self) -> StoreError:
        """A copy for each waiting caller: a shared exception would collect tracebacks."""
        return type(self)(self.message)


class StoreAway(StoreError):
    """The database does not answer. The operation was not done and will not be done later."""

    passing = True


class StoreInDoubt(StoreError):
    """The store was closed before the outcome of the last commit was known."""


class StoreFull(StoreError):
    """The database's disk is full. Nothing was written."""


class StoreReadOnly(StoreError):
    """The database is read-only. Nothing was written; reads still work."""


class StoreConflict(StoreError):
    """A constraint failed: something with this key exists, or is missing."""


class StoreNewer(StoreError):
    """The database was written by a newer version of Danlu."""


class Deposed(StoreError):
    """Another server has taken over. Nothing was written."""


def deposed(ours: int, theirs: int) -> Deposed:
    return Deposed(
        Text(
            f"Another server has taken over (epoch {theirs}, ours was {ours}); this one no longer "
            "writes. If two servers were started by mistake, stop one; otherwise there is nothing "
            "to do.",
            f"现在由另一个服务器主导（epoch {theirs}，本机为 {ours}），本机不再写入。"
            "若误启动了两个服务器，请停止其中一个；否则无需处理。",
        ),
    )


def too_late(where: str, seconds: float, problem: StoreError | None) -> StoreAway:
    cause = Text(f": {problem.message.en}", f"：{problem.message.zh}") if problem else EMPTY
    return StoreAway(
        Text(
            f"The database {where} did not accept the change within {seconds:g} s; nothing was "
            "changed. Try again in a moment",
            f"数据库 {where} 在 {seconds:g} 秒内没有接受更改，更改未生效。请稍后重试",
        )
        + cause,
    )


def closed() -> StoreError:
    return StoreError(
        Text(
            "The server is shutting down; nothing was changed. Try again when it is back.",
            "服务器正在关闭，更改未生效。请在它恢复后重试。",
        ),
    )


def in_doubt(where: str) -> StoreInDoubt:
    return StoreInDoubt(
        Text(
            f"The server stopped before {where} confirmed whether the change was saved. Check once "
            "the database is back.",
            f"服务器在 {where} 确认更改是否保存之前停止。请在数据库恢复后查看结果。",
        ),
    )
