"""The asyncio client against a real server, and against the blocking one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from danlu import AsyncClient, Client
from danlu.sdk import ApiError, Invalid, NotFound, NotSignedIn, Unreachable
from tests.support.server import DanluServer, free_port


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("aio") / "data").start()
    yield server
    server.cleanup()


@pytest.fixture
async def danlu(server: DanluServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.url, server.token) as client:
        yield client


async def test_a_job_is_run_to_its_end_with_its_output(danlu: AsyncClient) -> None:
    out: list[bytes] = []
    job = await danlu.run("echo hello; sleep 0.1; echo world; exit 3", on_output=out.append)
    assert (job["state"], job["exit_code"]) == ("failed", 3)
    assert b"".join(out) == b"hello\nworld\n"


async def test_many_things_are_waited_for_at_once(danlu: AsyncClient) -> None:
    jobs = await asyncio.gather(*(danlu.run(f"sleep 0.2; echo {i}", cpus=0.1) for i in range(10)))
    assert {job["state"] for job in jobs} == {"succeeded"}
    names = [job["name"] async for job in danlu.iter_jobs(limit=3, name="sleep")]
    assert len(names) == 10


async def test_events_come_as_they_happen_and_go_on_over_a_killed_server(
    server: DanluServer, danlu: AsyncClient
) -> None:
    seen: list[tuple[str, str]] = []
    lost: list[Exception] = []
    ready = asyncio.Event()

    async def listen() -> None:
        async for event in danlu.stream(hello=True, on_lost=lost.append):
            ready.set()
            if event["type"] != "job":
                continue
            seen.append((event["job"]["name"], event["kind"]))
            if seen[-1] == ("second", "ended"):
                return

    listener = asyncio.create_task(listen())
    await ready.wait()
    await danlu.run("true", name="first")
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await danlu.run("true", name="second")
    await asyncio.wait_for(listener, 180)
    kinds = ["submitted", "placed", "started", "ended"]
    assert seen == [(name, kind) for name in ("first", "second") for kind in kinds]
    assert lost


async def test_a_log_is_followed_over_a_killed_server(
    server: DanluServer, danlu: AsyncClient
) -> None:
    script = "i=0; while [ $i -lt 100 ]; do echo $i; i=$((i+1)); sleep 0.01; done"
    job = (await danlu.submit({"command": script}))["jobs"][0]
    pieces = danlu.logs(job["id"], follow=True)
    got = await anext(pieces)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    async for piece in pieces:
        got += piece
    assert got.split() == [str(i).encode() for i in range(100)]


async def test_a_command_runs_beside_a_task(danlu: AsyncClient) -> None:
    job = (await danlu.submit({"command": ["sleep", "600"], "name": "beside"}))["jobs"][0]
    async for event in danlu.stream(jobs=[job["id"]], after=0):
        if event["kind"] == "started":
            break
    script = "cat; echo bad >&2; exit 6"
    done = await danlu.exec(job["id"], ["sh", "-c", script], stdin=b"x" * 200_000)
    assert done == (6, b"x" * 200_000, b"bad\n")
    await danlu.stop(job["id"], now=True)
    await danlu.wait(job["id"])
    with pytest.raises(ApiError):
        await danlu.exec(job["id"], ["true"])


async def test_refusals_have_types(server: DanluServer, danlu: AsyncClient) -> None:
    with pytest.raises(NotFound):
        await danlu.show("nothing-1")
    with pytest.raises(Invalid) as wrong:
        await danlu.submit({"command": ["true"], "gpus": "lots"})
    assert wrong.value.details[0]["key"] == "gpus"
    async with AsyncClient(server.url, "no token") as stranger:
        with pytest.raises(NotSignedIn):
            await stranger.whoami()
        with pytest.raises(NotSignedIn):
            async for _ in stranger.stream():
                pass
    async with AsyncClient(f"http://127.0.0.1:{free_port()}", "x") as nowhere:
        with pytest.raises(Unreachable):
            await nowhere.version()


async def test_a_backup_comes_in_pieces(danlu: AsyncClient) -> None:
    data = b"".join([piece async for piece in danlu.backup()])
    assert data[:2] == b"\x1f\x8b"


def public(kind: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(kind, callable)
    return {name: inspect.signature(call) for name, call in found if not name.startswith("_")}


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    blocking, awaited = public(Client), public(AsyncClient)
    # What hands out the blocking machinery itself has no counterpart.
    for name in ("log_stream", "event_stream", "attach"):
        del blocking[name]
    assert blocking.keys() == awaited.keys()
    for name, signature in blocking.items():
        if name != "exec":
            assert list(signature.parameters) == list(awaited[name].parameters), name
