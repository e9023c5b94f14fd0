"""What can go wrong with the database, in words for both languages."""

from __future__ import annotations


class StoreError(Exception):
    """Base of all: what happened, to which database, what to do next."""

    passing = False  # may be gone a moment later, so a write waits for it up to its deadline

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh

    def again(self) -> StoreError:
        """A fresh one for each waiting caller: a shared exception would collect tracebacks."""
        return type(self)(self.en, self.zh)


class StoreAway(StoreError):
    """The database does not answer. What was asked was not done and will not be done later."""

    passing = True


class StoreInDoubt(StoreError):
    """The store was closed before the database could say whether the last commit was done."""


class StoreFull(StoreError):
    """The disk below the database is full. Nothing was written."""


class StoreReadOnly(StoreError):
    """The database cannot be written. Nothing was written; reading goes on."""


class StoreConflict(StoreError):
    """A rule of the tables refused it: something with this key exists, or is missing."""


class StoreNewer(StoreError):
    """The database was written by a newer Danlu than this one."""


class Deposed(StoreError):
    """Another server leads now. Nothing was written."""


def deposed(ours: int, theirs: int) -> Deposed:
    return Deposed(
        f"Another server leads now (epoch {theirs}, ours was {ours}); this one writes no more. "
        "Nothing needs to be done unless two servers were started by mistake: then stop one.",
        f"现在由另一个服务器主导（epoch {theirs}，本机为 {ours}），本机不再写入。"
        "若误启动了两个服务器，请停止其中一个；否则无需处理。",
    )


def too_late(where: str, seconds: float, problem: StoreError | None) -> StoreAway:
    cause_en = f": {problem.en}" if problem else ""
    cause_zh = f"：{problem.zh}" if problem else ""
    return StoreAway(
        f"The database {where} did not take the change within {seconds:g} s; it was not made. "
        f"Try again in a moment{cause_en}",
        f"数据库 {where} 在 {seconds:g} 秒内没有接受更改，更改未生效。请稍后重试{cause_zh}",
    )


def closed() -> StoreError:
    return StoreError(
        "The server is shutting down; the change was not made. Try again when it is back.",
        "服务器正在关闭，更改未生效。请在它恢复后重试。",
    )


def in_doubt(where: str) -> StoreInDoubt:
    return StoreInDoubt(
        f"The server stopped before {where} could say whether the change was saved. "
        "Look whether it is there once the database answers again.",
        f"服务器在 {where} 确认更改是否保存之前停止。请在数据库恢复后查看结果。",
    )
