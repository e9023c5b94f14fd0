"""Where images come from: registries, passwords, mirrors, progress, and what may go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest

from danlu.engines.api import Engine, ImageProgress, NoImage
from danlu.engines.local.config import ContainerConfig
from danlu.engines.local.config import Registry as RegistryConfig
from danlu.engines.local.container.pulls import Progress, Pull
from danlu.engines.local.container.wire import Wire
from danlu.engines.local.engine import LocalEngine
from tests.containers import harnesses
from tests.engines.conftest import local
from tests.engines.harness import eventually, shell
from tests.engines.local_harness import LocalHarness
from tests.support.containers import ContainerDaemon, bare_image
from tests.support.registry import PASSWORD, USER, Registry, large_layer, layer
from tests.support.server import free_port

GIGABYTE = 1 << 30
Make = Callable[..., Awaitable[LocalEngine]]


@pytest.fixture(params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


@pytest.fixture(scope="module")
def guarded() -> Iterator[Registry]:
    """A registry that wants a password."""
    registry = Registry(password=True)
    registry.add("lab/tool", [bare_image(), layer(note="guarded")])
    yield registry.start()
    registry.remove()


@pytest.fixture
async def engine(daemon: ContainerDaemon, tmp_path: Path) -> AsyncIterator[Make]:
    """Engines that know these registries."""
    made: list[LocalEngine] = []

    async def make(
        *registries: RegistryConfig, pull: Literal["missing", "always"] = "missing"
    ) -> LocalEngine:
        config = ContainerConfig(daemon.kind, daemon.socket, pull, registries)
        engine = local(tmp_path / f"data{len(made)}", containers=config)
        await engine.start()
        made.append(engine)
        return engine

    yield make
    for each in made:
        await each.close()


def nothing(_: ImageProgress) -> None:
    pass


async def cause(engine: LocalEngine, image: str) -> NoImage:
    with pytest.raises(NoImage) as caught:
        await engine.prepare_image("n1", image, nothing)
    return caught.value


async def test_an_image_behind_a_password_is_pulled_and_runs(
    daemon: ContainerDaemon, guarded: Registry, tmp_path: Path
) -> None:
    image = f"{guarded.host}/lab/tool:1"
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    file = str(tmp_path / "password")
    known = RegistryConfig(guarded.host, USER, password_file=file, plain_http=True)

    def make(data: Path) -> Engine:
        config = ContainerConfig(daemon.kind, daemon.socket, registries=(known,))
        return local(data, containers=config)

    daemon.drop_image(image)
    harness = LocalHarness(make, tmp_path)
    await harness.start()
    harnesses.contain(harness)
    harness.every["image"] = image
    try:
        assert isinstance(harness.engine, LocalEngine)
        await harness.engine.prepare_image("n1", image, nothing)
        task, log = await harness.run(shell("cat /note; echo; echo $FROM_IMAGE"))
        assert (task.exit_code, log) == (0, b"guarded\nyes\n")
    finally:
        await harness.close()


async def test_without_the_password_it_is_denied(engine: Make, guarded: Registry) -> None:
    image = f"{guarded.host}/lab/tool:2"
    for known in (
        RegistryConfig(guarded.host, plain_http=True),
        RegistryConfig(guarded.host, USER, "wrong", plain_http=True),
    ):
        trouble = await cause(await engine(known), image)
        assert trouble.reason == "image_denied"
        assert image in str(trouble)
        assert "wrong" not in str(trouble)


async def test_an_image_that_is_not_there_is_named(engine: Make, guarded: Registry) -> None:
    known = RegistryConfig(guarded.host, USER, PASSWORD, plain_http=True)
    trouble = await cause(await engine(known), f"{guarded.host}/lab/tool:9")
    assert trouble.reason == "image_not_found"
    assert "lab/tool:9" in str(trouble)


async def test_a_registry_that_is_away_is_not_a_missing_image(engine: Make) -> None:
    host = f"127.0.0.1:{free_port()}"
    trouble = await cause(await engine(RegistryConfig(host, plain_http=True)), f"{host}/x:1")
    assert trouble.reason == "registry_unreachable"
    assert host in str(trouble)


async def test_what_is_no_name_of_an_image_is_told(engine: Make) -> None:
    trouble = await cause(await engine(), "Not An Image")
    assert trouble.reason == "image_not_found"


async def test_an_image_that_is_there_needs_no_registry(
    engine: Make, daemon: ContainerDaemon
) -> None:
    daemon.import_image("mine:3", bare_image())
    await (await engine()).prepare_image("n1", "mine:3", nothing)
    await (await engine(pull="always")).prepare_image("n1", "mine:3", nothing)


async def test_a_mirror_gives_images_of_the_registry_it_mirrors(
    engine: Make, daemon: ContainerDaemon, registry: Registry
) -> None:
    registry.add("library/from-afar", [bare_image(), layer(note="mirrored")])
    away = RegistryConfig(f"127.0.0.1:{free_port()}", mirror_of=("docker.io",), plain_http=True)
    mirror = RegistryConfig(registry.host, mirror_of=("docker.io",), plain_http=True)
    found = await engine(away, mirror)
    await found.prepare_image("n1", "from-afar:1", nothing)
    await found.prepare_image("n1", "from-afar:1", nothing)
    assert daemon.has_image(f"{registry.host}/library/from-afar:1")


async def test_an_image_may_be_named_by_its_digest(
    engine: Make, daemon: ContainerDaemon, registry: Registry
) -> None:
    digest = registry.add("exact", [bare_image(), layer(note=daemon.kind)]).manifest
    found = await engine(RegistryConfig(registry.host, plain_http=True))
    for _ in range(2):
        await found.prepare_image("n1", f"{registry.host}/exact@{digest}", nothing)
    assert daemon.has_image(f"{registry.host}/exact@{digest}")


async def test_one_pull_serves_all_who_wait_for_it(
    engine: Make, daemon: ContainerDaemon, registry: Registry, tmp_path: Path
) -> None:
    blob = large_layer(tmp_path / "blob", f"shared-{daemon.kind}", 64 << 20)
    added = registry.add(f"shared-{daemon.kind}", [blob])
    image = f"{registry.host}/shared-{daemon.kind}:1"
    found = await engine(RegistryConfig(registry.host, plain_http=True))
    await asyncio.gather(*(found.prepare_image("n1", image, nothing) for _ in range(5)))
    await eventually(lambda: registry.fetched(added.layers[0]))  # noted when all of it was sent
    assert registry.fetched(added.layers[0]) == 1


class LateNews:
    """Who is told that a pull was given up hears of it when the test lets him."""

    def __init__(self) -> None:
        self.pulls = 0
        self._held: list[Wire] | None = []
        self._at_once = Wire.break_off
        self._run = Pull.run

    def __len__(self) -> int:
        return len(self._held or ())

    def keep(self, wire: Wire) -> None:
        if self._held is None:
            self._at_once(wire)
        else:
            self._held.append(wire)

    def begin(self, pull: Pull, registries: Sequence[RegistryConfig], progress: Progress) -> None:
        self.pulls += 1
        self._run(pull, registries, progress)

    def tell(self) -> None:
        held, self._held = self._held, None
        for wire in held or ():
            self._at_once(wire)


@pytest.fixture
def late_news(monkeypatch: pytest.MonkeyPatch) -> Iterator[LateNews]:
    late = LateNews()
    monkeypatch.setattr(Wire, "break_off", lambda wire: late.keep(wire))
    monkeypatch.setattr(Pull, "run", lambda pull, *more: late.begin(pull, *more))
    yield late
    late.tell()


async def test_a_pull_of_a_gigabyte_shows_its_progress_and_can_be_given_up(
    engine: Make,
    daemon: ContainerDaemon,
    registry: Registry,
    tmp_path: Path,
    late_news: LateNews,
) -> None:
    name = f"large-{daemon.kind}"
    parts = [large_layer(tmp_path / str(n), f"{name}-{n}", GIGABYTE // 4) for n in range(4)]
    registry.add(name, [layer(first=name), *parts])
    image = f"{registry.host}/{name}:1"
    found = await engine(RegistryConfig(registry.host, plain_http=True))
    begun: list[ImageProgress] = []
    seen: list[ImageProgress] = []
    with registry.slow() as a_moment:
        given_up = asyncio.ensure_future(found.prepare_image("n1", image, begun.append))
        await eventually(lambda: a_moment() or begun)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        # The thread of the first does not know yet that it was given up: nobody may join it.
        assert len(late_news) == 1
        wanted = asyncio.ensure_future(found.prepare_image("n1", image, seen.append))
        await eventually(lambda: seen or late_news.pulls == 2)
    late_news.tell()
    await wanted
    assert daemon.has_image(image)
    middle = {progress.done for progress in seen if 0 < progress.done < GIGABYTE}
    assert len(middle) >= 3, "it was seen on its way"
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert max(progress.total for progress in seen) >= GIGABYTE
    assert seen[-1].layers_done == seen[-1].layers >= 5
    daemon.drop_image(image)
