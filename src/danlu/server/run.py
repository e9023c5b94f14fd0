"""Wires everything together, serves, and leaves tasks running when it stops."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from danlu.access.accounts import Accounts, accounts
from danlu.access.circle import Circle
from danlu.access.gate import Gate
from danlu.access.identities import Uids
from danlu.api.app import create_app
from danlu.control.context import Context
from danlu.control.controller import Controller
from danlu.control.engines import Engines
from danlu.control.kernels import SupervisorKernels
from danlu.control.settings import Settings
from danlu.files.mirrors import write_mirrors
from danlu.files.settings import FileSettings, VolumeConfig
from danlu.server import banner, files, first_admin
from danlu.server.banner import Started
from danlu.server.connections import LimitedProtocol, limited
from danlu.server.engines import make_engine
from danlu.server.gateway import Gateway
from danlu.server.handshakes import Encrypted
from danlu.server.identities import find_uids, settle_uids, with_registry
from danlu.server.places import Places
from danlu.server.registry_start import start_registry
from danlu.server.settings import ServerConfig
from danlu.server.sockets import listen, tls_context, url_of
from danlu.server.web import known_hosts, web_settings
from danlu.server.words import say
from danlu.services.services import Services
from danlu.spec.text import Text
from danlu.store.store import Store

if TYPE_CHECKING:
    from danlu.server.demo.demo import Demo

log = logging.getLogger("danlu.server")


async def serve(config: ServerConfig, first_job: bool, demo: Demo | None = None) -> int:
    _raise_file_limit()
    if demo is not None:
        await demo.prepare()
    uids, why_not = find_uids(config)
    store = Store.open(config.database_url)
    try:
        uids = await with_registry(config, store, uids)
        settings = _settings(config, uids)
        token, password = await first_admin.prepare(store, config.data)
        if demo is not None:
            await demo.fill(store)
        await settle_uids(store, uids, why_not)
        if uids is not None:
            files.open_to_users(config.data)
        around = config.around(uids is not None)
        make = make_engine if demo is None else demo.engine
        engines = Engines(make(engine, around) for engine in config.engines)
        controller = Controller(Context(store, engines, settings))
        controller.context.kernels = SupervisorKernels(controller.context.engine_of)
        await controller.start()
        try:
            return await _serve_http(config, controller, store, token, password, first_job, demo)
        finally:
            if demo is not None:
                await demo.end(controller)
            await controller.close()
    finally:
        await store.close()


async def _serve_http(
    config: ServerConfig,
    controller: Controller,
    store: Store,
    token: str,
    password: str | None,
    first_job: bool,
    demo: Demo | None,
) -> int:
    listeners = listen(config.listen)
    urls = [url_of(listener, config.tls_cert is not None) for listener in listeners]
    gate = Gate(store)
    await gate.recall()
    people = _accounts(config, controller.context, gate)
    ours = Services(
        controller, gate, people, urls, config.proxies, demo is not None, config.metrics_from
    )
    server = _server(config, ours)
    gateway = await _start_gateway(config, urls[0], ours)
    registry = await start_registry(config, controller.context, ours)
    await ours.recover()
    ours.server.stop = lambda: setattr(server, "should_exit", True)
    contexts = _publish(config, urls[0], token, demo is not None)
    # uvicorn re-raises the signal that ended it; by then everything must be closed.
    signal.signal(signal.SIGTERM, lambda *_: None)
    accepting = _accept_encrypted(config, server, listeners)
    serving = asyncio.create_task(server.serve(sockets=[] if accepting else listeners))
    beside = [
        *accepting,
        asyncio.create_task(_leave_when_deposed(controller, server)),
        asyncio.create_task(ours.doors.logins.end_unused()),
        asyncio.create_task(ours.tend()),
    ]
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.005)
        if serving.done():
            await serving  # it logs the reason itself
        port = None if gateway is None else gateway.port
        banner.show(config, ours, controller, Started(urls, password, contexts, port), demo)
        first_admin.shown(config.data)
        if demo is not None:
            demo.begin(ours)
        _give_back_memory()
        if first_job:
            await _first_job(urls[0], token)
        await serving
    finally:
        for task in beside:
            task.cancel()
        await ours.close()
        if gateway is not None:
            await gateway.close()
        if registry is not None:
            await registry.close()
        await gate.close()
    return 1 if controller.context.deposed.is_set() else 0


def _give_back_memory() -> None:
    """What only the start needed."""
    gc.collect()
    gc.freeze()
    with contextlib.suppress(AttributeError):  # glibc's only
        ctypes.CDLL(None).malloc_trim(0)


async def _start_gateway(config: ServerConfig, url: str, ours: Services) -> Gateway | None:
    ssh, web = config.ssh_address, web_settings(config, url)
    if ssh is None and web is None:
        return None
    gateway = Gateway(config.data, ssh, ours, web)
    await gateway.start()
    ours.server.ssh_port = lambda: gateway.port
    ours.server.ssh_host_key = lambda: gateway.host_key
    if web is not None:
        ours.web_doors.open_door, ours.web_doors.domain = gateway.open_door, config.web_domain
        ours.web_doors.expect_visitors = gateway.expect_visitors
    return gateway


def _server(config: ServerConfig, ours: Services) -> uvicorn.Server:
    settings = uvicorn.Config(
        create_app(ours, known_hosts(config), ours.server.demo),
        http=limited(config.limits.connections, config.proxies),
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=75,
        backlog=2048,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        server_header=False,
        proxy_headers=False,
        date_header=False,
    )
    return uvicorn.Server(settings)


def _accept_encrypted(
    config: ServerConfig, server: uvicorn.Server, listeners: list[socket.socket]
) -> list[asyncio.Task[None]]:
    """In place of uvicorn's own TLS."""
    if config.tls_cert is None:
        return []
    settings = server.config
    settings.load()
    made: type[LimitedProtocol] = settings.http_protocol_class  # type: ignore[assignment]

    def http() -> LimitedProtocol:
        return made(config=settings, server_state=server.server_state, app_state={})

    context = tls_context(config.tls_cert, config.tls_key)
    encrypted = Encrypted(context, made.places, http)
    return [asyncio.create_task(encrypted.accept(listener)) for listener in listeners]


def _settings(config: ServerConfig, uids: Uids | None) -> Settings:
    gdata = VolumeConfig("gdata", config.data / "gdata", "/gdata", True, True)
    volumes = {"gdata": gdata, **config.volumes}
    Places("danlu.toml").check_all(config.volumes, config.data)
    write_mirrors(config.data, config.mirrors)
    return Settings(
        FileSettings(config.data, volumes, config.file),
        config.defaults,
        uids=uids,
        policy=config.policy,
        quotas=config.quotas,
        limits=config.limits,
        login=config.login,
        idle=config.idle,
        carry=config.carry,
        disks=config.disks,
        mirrors=config.mirrors,
        names_by_group=config.names == "group",
        metrics_size=config.metrics_size,
    )


def _accounts(config: ServerConfig, context: Context, gate: Gate) -> Accounts:
    known = context.identities
    circle = Circle(apart=known.uids is not None, trusted=config.circle_of_trust)
    return accounts(context.store, gate, known, circle, config.sign_up)


def _publish(config: ServerConfig, url: str, token: str, demo: bool) -> tuple[str, str]:
    """Returns the name of the context for this server, and of the current one."""
    here = {"pid": os.getpid(), "url": url, "token": token, "config": str(config.file or "")}
    files.write_private(config.data / "server.json", here)
    if os.environ.get("DANLU_NO_CONTEXT") == "1":
        return files.LOCAL, files.LOCAL
    return files.write_context(config.data, url, token, demo)


async def _leave_when_deposed(controller: Controller, server: uvicorn.Server) -> None:
    await controller.context.deposed.wait()
    log.error("another server has taken over; this one stops")
    server.should_exit = True


async def _first_job(url: str, token: str) -> None:
    greeting = say(
        Text(
            'echo "Hello from $DANLU_JOB on $DANLU_NODE"; for i in 1 2 3; do echo "step $i"; '
            'sleep 0.2; done; echo "done: this job went through the queue"',
            'echo "你好，这里是 $DANLU_NODE 上的 $DANLU_JOB"; for i in 1 2 3; do echo "第 $i 步"; '
            'sleep 0.2; done; echo "完成：这个任务走完了队列"',
        ),
    )
    command = ["run", "--name", "first", "--", "sh", "-c", greeting]
    shown = "danlu run -- sh -c '...'"
    print(say(Text(f"First job: {shown}", f"第一个任务：{shown}")), flush=True)
    environment = {**os.environ, "DANLU_SERVER": url, "DANLU_TOKEN": token}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "danlu.cli",
        *command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
    )
    status = await process.wait()
    if status == 0:
        print(
            say(
                Text(
                    "It works. In another terminal, try: danlu run -- COMMAND, danlu jobs, danlu "
                    "--help. Ctrl-C stops the server; tasks keep running.",
                    "运行成功。在另一个终端试试：danlu run -- 命令、danlu jobs、danlu --help。"
                    "在这里按 Ctrl-C 停止服务器，任务会继续运行。",
                ),
            ),
            flush=True,
        )
    else:
        print(
            say(
                Text(f"The first job ended with status {status}", f"第一个任务以状态 {status} 结束")
            ),
            flush=True,
        )


def _raise_file_limit() -> None:
    """Every running task and every log follower needs a file descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
