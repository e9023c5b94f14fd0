"""Operations on files that may take long: they go on without the request that began them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from danlu.access.errors import Crowded, NotThere
from danlu.files.helpers import Away, Call
from danlu.services.file_words import FileFault, fault
from danlu.spec.ids import uuid7
from danlu.spec.text import EMPTY, Text

MOST_RUNNING = 4  # of one user
MOST_KEPT = 50  # of one user, with those that have ended
SILENCE = 300.0  # seconds without any progress after which one has failed


@dataclass(slots=True)
class Operation:
    id: str
    kind: str
    paths: list[str]
    target: str | None
    state: str = "running"
    files_done: int = 0
    bytes_done: int = 0
    files_total: int | None = None
    bytes_total: int | None = None
    results: list[str] = field(default_factory=list)
    problems: list[tuple[str, FileFault]] = field(default_factory=list)
    problem_count: int = 0
    started_at: float = field(default_factory=time.time)
    ended_at: float | None = None
    message: Text = EMPTY
    fault: FileFault | None = None
    usage: dict[str, Any] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    work: asyncio.Task[None] | None = None

    async def wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)


Done = Callable[[Operation], None]


class Operations:
    def __init__(self) -> None:
        self._of: dict[str, OrderedDict[str, Operation]] = {}
        self._beginning: Counter[str] = Counter()

    @contextlib.contextmanager
    def room(self, user: str) -> Iterator[None]:
        """For one more, which begins meanwhile. Raises Crowded."""
        running = sum(each.state == "running" for each in self._of.get(user, {}).values())
        if running + self._beginning[user] >= MOST_RUNNING:
            raise Crowded(MOST_RUNNING, Text("file operations running", "正在进行的文件操作"))
        self._beginning[user] += 1
        try:
            yield
        finally:
            self._beginning[user] -= 1
            if not self._beginning[user]:
                del self._beginning[user]

    def start(
        self,
        user: str,
        kind: str,
        paths: list[str],
        target: str | None,
        call: Call,
        done: Done | None = None,
    ) -> Operation:
        operation = Operation(uuid7(), kind, paths, target)
        own = self._of.setdefault(user, OrderedDict())
        own[operation.id] = operation
        ended = [key for key, each in own.items() if each.state != "running"]
        for key in ended[: max(0, len(own) - MOST_KEPT)]:
            del own[key]
        operation.work = asyncio.create_task(_follow(operation, call, done))
        return operation

    def list(self, user: str) -> list[Operation]:
        return list(self._of.get(user, {}).values())[::-1]

    def find(self, user: str, id: str) -> Operation:
        """Others' operations are not there."""
        found = self._of[user].get(id) if user in self._of else None
        if found is None:
            shown = id[:64]
            raise NotThere(Text(f"file operation {shown}", f"文件操作 {shown}"))
        return found

    async def cancel(self, operation: Operation) -> None:
        if operation.work is not None and operation.state == "running":
            operation.work.cancel()
            await operation.wait(5.0)

    async def close(self) -> None:
        works = [each.work for own in self._of.values() for each in own.values() if each.work]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)


async def _follow(operation: Operation, call: Call, done: Done | None) -> None:
    try:
        while not _take(operation, await call.receive(SILENCE)):
            pass
        if done is not None:
            done(operation)
    except asyncio.CancelledError:
        operation.state = "cancelled"
    except Away as away:
        _fail(operation, FileFault(away.code, operation.paths[0] if operation.paths else ""))
    except Exception as error:
        _fail(operation, FileFault("failed", "", type(error).__name__))
    finally:
        call.close()
        operation.ended_at = time.time()
        operation.ended.set()


def _fail(operation: Operation, error: FileFault) -> None:
    operation.state, operation.message, operation.fault = "failed", error.message, error


def _take(operation: Operation, values: dict[str, Any]) -> bool:
    """One report of the helper; True: the last."""
    progress = values.get("progress")
    if isinstance(progress, dict):
        operation.files_done = int(progress.get("files_done") or 0)
        operation.bytes_done = int(progress.get("bytes_done") or 0)
        operation.files_total = _count(progress.get("files_total"))
        operation.bytes_total = _count(progress.get("bytes_total"))
        return False
    if "error" in values:
        _fail(operation, fault(values))
        return True
    if isinstance(values.get("usage"), dict):
        operation.usage = values["usage"]
        operation.files_done = int(operation.usage["files"])
        operation.bytes_done = int(operation.usage["size"])
    operation.results = [str(each) for each in values.get("results", ())][:1000]
    problems = [each for each in values.get("problems", ()) if isinstance(each, dict)][:100]
    operation.problems = [(str(each.get("path", "")), fault(each)) for each in problems]
    operation.problem_count = int(values.get("problem_count") or 0)
    operation.state = "done"
    if problems and not operation.results and operation.problem_count >= len(operation.paths):
        _fail(operation, operation.problems[0][1])
    return True


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None
