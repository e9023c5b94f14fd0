"""Images built from a base and lists of packages.

A build is a job in the base image: root inside its container, without any capability and without
volumes, under the same system call filter as every task. What it has changed is then saved as the
new image. Why: docs/decisions/0023-saved-and-built-images.md.
"""

from __future__ import annotations

from dataclasses import replace

from danlu.access.audit import note
from danlu.access.errors import AccessError, Clash
from danlu.access.principal import Asker
from danlu.control import records
from danlu.control.background import Background
from danlu.control.context import now
from danlu.control.controller import Controller
from danlu.control.submit import Brought, Submitter
from danlu.engines.api import SaveImage, TaskRef
from danlu.services.build_script import Recipe, script_of
from danlu.services.image_names import target
from danlu.services.images import Catalogue
from danlu.services.saves import Saves
from danlu.spec.complete import Submission, complete
from danlu.spec.ids import uuid7
from danlu.spec.job import Kind
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store.jobs import get_job
from danlu.store.tx import Tx

NAME = "build"
IMAGE = "DANLU_BUILD_IMAGE"  # in its environment: what it becomes
ABOUT = "DANLU_BUILD_DESCRIPTION"
_LONGEST = "6h"


class ImageBuilds:
    def __init__(
        self, controller: Controller, submitter: Submitter, images: Catalogue, saves: Saves
    ) -> None:
        self._controller = controller
        self._context = controller.context
        self._submitter = submitter
        self._images = images
        self._saves = saves
        self._work = Background(controller.context.deposed)
        self._jobs = saves.builds
        images.builds = saves.builds

    async def build(self, asks: Asker, recipe: Recipe) -> tuple[str, str]:
        """(job, image). Its log is the build's."""
        where = target(asks.who, recipe.name, self._images.link())
        script = script_of(recipe)
        queue = recipe.queue or self._controller.defaults.queue(Kind.TRAIN)
        if not isinstance(self._context.engine_for(queue), SaveImage):
            raise Clash(
                "cannot_build",
                Text(f"Queue {queue} cannot build images", f"队列 {queue} 不能构建镜像"),
            )
        values: dict[str, object] = {
            "name": NAME,
            "image": recipe.base,
            "command": script,
            "workdir": "/",
            "time_limit": _LONGEST,
            "env": {IMAGE: where.reference, ABOUT: recipe.description[:2000], "HOME": "/root"},
        }
        if recipe.queue:
            values["queue"] = recipe.queue
        spec = replace(complete(values, self._controller.defaults), build=True)

        def keep(tx: Tx) -> None:
            note(tx, asks, "image.building", where.reference, base=recipe.base)

        job = Submission(spec, uuid7())
        assert job.id is not None
        self._jobs.add(job.id)
        made, _ = await self._submitter.submit(
            [job], asks.who, asks.address, brought=Brought((), keep)
        )
        self._work.spawn(self._finish(asks, made[0].id, where.reference, recipe.description))
        return made[0].ref, where.reference

    async def recover(self) -> None:
        """After a restart, what is being built is saved when it is done."""
        for live in list(self._context.jobs.values()):
            if not live.spec.build:
                continue
            who = await self._saves.person(live.row.owner)
            env = live.spec.roles[0].env
            if who is not None:
                self._jobs.add(live.id)
                work = self._finish(Asker(who), live.id, env.get(IMAGE, ""), env.get(ABOUT, ""))
                self._work.spawn(work)

    async def close(self) -> None:
        await self._work.close()

    async def _finish(self, asks: Asker, job_id: str, image: str, description: str) -> None:
        attempt, engine = "", None
        while (live := self._context.jobs.get(job_id)) is not None:
            if live.attempt is not None:
                attempt, engine = live.attempt.id, self._context.engine_of(live)
            waiter = self._context.notifier.subscribe(job_id)
            await self._context.notifier.wait(job_id, waiter, 1.0)
        if not attempt or not isinstance(engine, SaveImage):
            return
        at = TaskRef(attempt, 0, job_id)
        row = await self._context.store.read(lambda tx: get_job(tx, job_id))
        if row is None or row.state is not State.SUCCEEDED:
            await engine.let_go(at)
            return
        try:
            await self._saves.begin_held(asks, row, engine, at, image, description)
        except AccessError as no:
            await engine.let_go(at)
            data = {"image": image, "state": "failed", **no.message.values("why")}
            await self._context.persist(records.noted(job_id, "not_saved", data, now()))
