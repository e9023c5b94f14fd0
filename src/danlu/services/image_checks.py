"""Verifies an image: a job that runs in it, in which JupyterLab, VS Code, SSH and a GPU are tried.

Each result is kept with the digest it was found for; under a new digest an image is unverified.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from danlu.access.audit import note
from danlu.access.errors import Clash
from danlu.access.principal import Asker
from danlu.control.background import Background
from danlu.control.context import log
from danlu.control.controller import Controller
from danlu.control.live_job import LiveJob
from danlu.control.submit import Brought, Submitter
from danlu.engines.api import Duplex, Endpoint, Engine, Refused, Run, TaskRef, Tools, Unreachable
from danlu.engines.supervisor import CONTROL, ask
from danlu.services.images import CHECKS, Catalogue, Image
from danlu.spec.complete import Submission, complete
from danlu.spec.ids import uuid7
from danlu.spec.job import Kind
from danlu.spec.text import EMPTY, Text
from danlu.store import images as store
from danlu.store.rows import ImageCheckRow, ImageRow
from danlu.store.tx import Tx

NAME = "verify"
_LONGEST = "1h"
_PATIENCE = 300.0  # seconds for one check
_READY_SECONDS, _PAUSE = 60.0, 0.2
_WORD = "danlu-works"
_SFTP_INIT = struct.pack(">IBI", 5, 1, 3)
Check = Callable[[Engine, TaskRef], Awaitable[Text]]


@dataclass(frozen=True, slots=True)
class _Result:
    result: str
    detail: Text = EMPTY


class ImageChecks:
    def __init__(self, controller: Controller, submitter: Submitter, images: Catalogue) -> None:
        self._controller = controller
        self._context = controller.context
        self._submitter = submitter
        self._images = images
        self._work = Background(controller.context.deposed)
        self._going: set[str] = set()

    async def verify(self, asks: Asker, ref: str, gpus: int, queue: str | None) -> Image:
        """Begins. The job is the caller's and waits in the queue like any other."""
        row = await self._images.to_change(asks.who, ref)
        if row.id in self._going:
            raise Clash(
                "verifying",
                Text(f"{row.name} is already being verified", f"{row.name} 正在验证中"),
            )
        job, tools = self._submission(row, gpus, queue)

        def keep(tx: Tx) -> None:
            note(tx, asks, "image.verifying", row.name)

        self._going.add(row.id)
        try:
            made, _ = await self._submitter.submit(
                [job], asks.who, asks.address, brought=Brought((), keep)
            )
        except BaseException:
            self._going.discard(row.id)
            raise
        skipped = {"gpu": _NO_GPU} if not gpus else {}
        if tools is not None:
            skipped |= {"lab": tools, "code": tools}
        await self._note(row, row.digest, made[0].ref, {
            each: _Result("skipped", skipped[each]) if each in skipped else _Result("running")
            for each in CHECKS
        })  # fmt: skip
        self._work.spawn(self._run(row, made[0].id, made[0].ref, skipped))
        return await self._images.show(asks.who, row.id)

    async def recover(self) -> None:
        """After a restart: what was being tried has to be tried again."""
        rows = await self._context.store.read(store.every_check)
        for each in [row for row in rows if row.result == "running"]:
            ended = ImageCheckRow(
                each.image, each.digest, each.check, "failed", time.time(), each.job,
                _INTERRUPTED.en, _INTERRUPTED.zh,
            )  # fmt: skip
            await self._context.persist(partial(store.set_check, row=ended))

    async def close(self) -> None:
        await self._work.close()

    # -- details ------------------------------------------------------------------------------

    def _submission(
        self, row: ImageRow, gpus: int, queue: str | None
    ) -> tuple[Submission, Text | None]:
        """And why the tools cannot be tried."""
        values: dict[str, object] = {"name": NAME, "image": row.name, "time_limit": _LONGEST}
        values |= {"gpus": gpus, **({"queue": queue} if queue else {})}
        engine = self._context.engine_for(
            queue or self._controller.defaults.queue(Kind.ENVIRONMENT)
        )
        problem = _NO_TOOLS
        if isinstance(engine, Tools):
            problem = engine.tools_problem(True) or EMPTY
        if problem:
            values["command"] = "sleep 3600"
        else:
            values["kind"] = "environment"
        spec = complete(values, self._controller.defaults)
        return Submission(spec, uuid7()), problem or None

    async def _run(self, row: ImageRow, job_id: str, ref: str, skipped: dict[str, Text]) -> None:
        try:
            live = await self._started(job_id)
            await self._images.refresh(row.id)
            now = await self._context.store.read(lambda tx: store.get(tx, row.id))
            digest = row.digest if now is None else now.digest
            results = {each: _Result("skipped", skipped[each]) for each in skipped}
            for each in CHECKS:
                if each not in skipped:
                    results[each] = await self._try(each, live)
            await self._note(row, digest, ref, results, row.digest)
            if live is not None:
                await self._controller.stop(live, "danlu")
        finally:
            self._going.discard(row.id)

    async def _started(self, job_id: str) -> LiveJob | None:
        """None: it ended before it ran."""
        while True:
            live = self._context.jobs.get(job_id)
            if live is None:
                return None
            if live.attempt is not None and live.attempt.started_at is not None:
                return live
            waiter = self._context.notifier.subscribe(job_id)
            await self._context.notifier.wait(job_id, waiter, 1.0)

    async def _try(self, name: str, live: LiveJob | None) -> _Result:
        if live is None or live.attempt is None:
            return _Result("failed", _DID_NOT_RUN)
        engine = self._context.engine_of(live)
        task = TaskRef(live.attempt.id, 0, live.id, live.attempt.handle)
        try:
            async with asyncio.timeout(_PATIENCE):
                return _Result("ok", await _TRIED[name](engine, task))
        except _Fails as no:
            return _Result("failed", no.text)
        except (Refused, Unreachable, OSError, ValueError, TimeoutError) as error:
            log.info("%s of %s failed: %r", name, live.row.ref, error)
            words = str(error)[:300] or "no answer in time"
            return _Result("failed", Text(words, words))

    async def _note(
        self,
        row: ImageRow,
        digest: str,
        job: str,
        results: dict[str, _Result],
        before: str | None = None,
    ) -> None:
        at = time.time()

        def op(tx: Tx) -> None:
            if before is not None and before != digest:
                store.forget_checks(tx, row.id, before, job)
            for check, found in results.items():
                en, zh = found.detail.en, found.detail.zh
                made = ImageCheckRow(row.id, digest, check, found.result, at, job, en, zh)
                store.set_check(tx, made)

        await self._context.persist(op)


class _Fails(Exception):
    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


async def _shell(engine: Engine, task: TaskRef, line: str) -> tuple[int | None, str]:
    duplex = await engine.exec(task, Run((line,), shell=True))  # noqa: S604
    try:
        out = b""
        while len(out) < 65536 and (piece := await duplex.receive()) is not None:
            out += piece[1]
        return await duplex.exit_code(), out.decode("utf-8", "replace")
    finally:
        await duplex.close()


async def _ssh(engine: Engine, task: TaskRef) -> Text:
    """What SSH clients get: a shell, and files."""
    code, out = await _shell(engine, task, f"echo {_WORD}")
    if code != 0 or _WORD not in out:
        raise _Fails(Text(f"the shell says: {out[:200]}", f"shell 返回：{out[:200]}"))
    duplex = await engine.exec(task, Run((), files=True))
    try:
        await duplex.send(_SFTP_INIT)
        answer = b""
        while len(answer) < 5:
            piece = await duplex.receive()
            if piece is None:
                raise _Fails(Text("no file transfer", "无法传输文件"))
            answer += piece[1]
    finally:
        await duplex.close()
    if answer[4] != 2:  # SSH_FXP_VERSION
        raise _Fails(Text("no file transfer", "无法传输文件"))
    return EMPTY


async def _supervisor(engine: Engine, task: TaskRef) -> Duplex:
    """It listens a moment after its task has started."""
    limit = time.monotonic() + _READY_SECONDS
    while True:
        try:
            return await engine.connect(task, Endpoint(path=CONTROL))
        except (OSError, Refused):
            if time.monotonic() > limit:
                raise
        await asyncio.sleep(_PAUSE)


def _tool(name: str) -> Check:
    async def tried(engine: Engine, task: TaskRef) -> Text:
        answer = await ask(await _supervisor(engine, task), {"start": name})
        if isinstance(answer, dict) and answer.get("ready"):
            return EMPTY
        told = answer.get("error") if isinstance(answer, dict) else None
        words = told if isinstance(told, dict) else {}
        en = str(words.get("en") or "it does not start")[:300]
        raise _Fails(Text(en, str(words.get("zh") or "无法启动")[:300]))

    return tried


async def _gpu(engine: Engine, task: TaskRef) -> Text:
    code, out = await _shell(engine, task, "nvidia-smi -L 2>&1 || ls /dev/nvidia0")
    if code != 0:
        raise _Fails(Text(f"no GPU is visible: {out[:200]}", f"看不到 GPU：{out[:200]}"))
    first = out.partition("\n")[0][:200]
    return Text(first, first)


_TRIED: dict[str, Check] = {"ssh": _ssh, "lab": _tool("lab"), "code": _tool("code"), "gpu": _gpu}
_NO_GPU = Text("no GPU was requested", "没有申请 GPU")
_NO_TOOLS = Text("this engine has no tools", "此引擎没有工具")
_DID_NOT_RUN = Text("its job did not run; see why it ended", "任务没有运行；请查看其结束原因")
_INTERRUPTED = Text("the server was restarted meanwhile", "期间服务器重启")
