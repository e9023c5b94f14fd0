"""`danlu up --demo`: its folder, its start and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files as resources

from danlu.access.passwords import hash_password, one_time_password
from danlu.control.controller import Controller
from danlu.engines.api import Engine
from danlu.metrics.archive import Archive
from danlu.server import files
from danlu.server.demo import past, scene
from danlu.server.demo.cast import GROUPS, LEADER, MEMBERS, SHOWN
from danlu.server.demo.engine import DemoEngine
from danlu.server.demo.folder import MARK, is_demo
from danlu.server.demo.play import Play
from danlu.server.engines import EngineConfig, Surroundings, local_config
from danlu.server.settings import ServerConfig
from danlu.services.services import Services
from danlu.spec.ids import uuid7
from danlu.spec.text import Text
from danlu.store import attempts, events, groups, jobs, users
from danlu.store.rows import GroupRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

_PATIENCE = 15.0  # seconds for the jobs to stop


class Demo:
    def __init__(self, config: ServerConfig, reset: bool) -> None:
        self._config = config
        self._mark = config.data / MARK
        self._reset = reset
        self._begun: dict[str, float] = {}
        self._playing: asyncio.Task[None] | None = None
        self._new = False
        self.password = ""

    async def prepare(self) -> None:
        """Before the database is opened."""
        if self._reset and is_demo(self._config.data):
            await self._remove()
        kept = files.read_json(self._mark)
        self.password = str(kept.get("password") or one_time_password())
        self._new = kept.get("complete") is not True
        if self._new:
            # Marked first: an interrupted start is begun again from nothing.
            if kept:
                await self._remove()
            files.write_private(self._mark, {"password": self.password})

    async def _remove(self) -> None:
        """Ends what is left of its tasks, then deletes everything but the lock."""
        data = self._config.data
        engine = self.engine(self._config.engines[0], self._config.around(os.geteuid() == 0))
        await engine.start()
        try:
            await engine.sweep(frozenset)
        finally:
            await engine.close()
        for entry in list(data.iterdir()):
            if entry.name == "server.lock":
                continue
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        files.make_data_folder(data)

    async def fill(self, store: Store) -> None:
        """People, jobs and samples of a new demo."""
        self._install()
        if not self._new:
            return
        now = time.time()
        rows = scene.Rows()
        opening = scene.opening(rows, now)
        present = past.stays_of(opening, rows, now)
        stays = present + past.earlier(rows, present, now)
        await store.write(lambda tx: _people(tx, hash_password(self.password), now))
        await store.write(lambda tx: _write(tx, rows))
        self._begun = rows.begun
        await asyncio.to_thread(self._write_files, rows, stays, now)
        files.write_private(self._mark, {"password": self.password, "complete": True})

    def _install(self) -> None:
        """The script its jobs run, readable by all of its people."""
        folder = self._config.data / "gdata" / "demo"
        folder.mkdir(mode=0o755, exist_ok=True)
        script = folder / "train"
        script.write_text(resources(__package__).joinpath("train").read_text())
        script.chmod(0o644)

    def _write_files(self, rows: scene.Rows, stays: list[past.Stay], now: float) -> None:
        past.write_logs(self._config.data, rows.jobs, rows.attempts)
        archive = Archive(self._config.data / "metrics.db")
        try:
            past.write_samples(archive, stays, now)
        finally:
            archive.close()

    def engine(self, config: EngineConfig, around: Surroundings) -> Engine:
        found = local_config(config, around)
        return DemoEngine(
            replace(found, containers=replace(found.containers, runtime="off")),
            config.name,
            self._begun,
        )

    def begin(self, ours: Services) -> None:
        self._playing = asyncio.create_task(Play(ours).run())

    async def end(self, controller: Controller) -> None:
        """Nothing of a demo keeps running after it; what waits goes on waiting."""
        if self._playing is not None:
            self._playing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._playing
        context = controller.context
        # So that what waits does not start in their place.
        context.ledger.drain(dict.fromkeys(context.ledger.known, ""))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                for job in list(context.attempts.values()):
                    await controller.stop(job, "demo", 0.0)
                while context.attempts:  # noqa: ASYNC110 - emptied by many drivers
                    await asyncio.sleep(0.05)

    def words(self, url: str) -> Iterator[Text]:
        yield Text(
            "This is a demo: its people, jobs and GPU usage are made up.",
            "这是演示：其中的人员、任务和显卡使用情况都是虚构的。",
        )
        yield Text(
            f"  open {url} and sign in with the password {self.password}",
            f"  打开 {url}，密码 {self.password}",
        )
        yield Text(
            f"    {SHOWN:<10} a member with jobs running and waiting",
            f"    {SHOWN:<10} 普通成员，有运行中和排队的任务",
        )
        yield Text(f"    {LEADER:<10} the leader of a group", f"    {LEADER:<10} 课题组负责人")
        yield Text("    admin      the administrator", "    admin      管理员")
        command = "danlu jobs --all --context demo"
        yield Text(f"  command line: {command}", f"  命令行：{command}")
        yield Text(
            "  Ctrl-C ends it and its jobs; the next start continues, --reset starts over",
            "  按 Ctrl-C 结束演示和其中的任务；再次启动会继续，加 --reset 则重新开始",
        )


def _people(tx: Tx, password_hash: str, now: float) -> None:
    long_ago = now - past.DAYS * 24 * scene.HOUR
    admin = users.get_user(tx, "admin")
    if admin is not None:
        users.set_password(tx, admin.id, password_hash)
    known = {}
    for name, note in GROUPS.items():
        known[name] = GroupRow(uuid7(), name, long_ago, note=note)
        groups.insert_group(tx, known[name])
    for member in MEMBERS:
        row = UserRow(uuid7(), member.name, "member", password_hash, long_ago)
        row.full_name = member.full_name
        users.insert_user(tx, row)
        groups.put_member(tx, row.id, known[member.group].id, member.leads, long_ago)


def _write(tx: Tx, rows: scene.Rows) -> None:
    jobs.insert_jobs(tx, sorted(rows.jobs, key=lambda row: row.submitted_at))
    for attempt in rows.attempts:
        attempts.insert_attempt(tx, attempt)
    events.append(tx, sorted(rows.events, key=lambda event: event.at))
