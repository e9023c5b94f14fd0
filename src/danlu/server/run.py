"""Wires the rooms together, serves, and leaves tasks running when it goes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import sys
from pathlib import Path

import uvicorn

from danlu.access.accounts import Accounts, accounts
from danlu.access.circle import Circle
from danlu.access.gate import Gate, create_admin, digest_of, new_token, token_row
from danlu.access.identities import Uids
from danlu.api.app import create_app
from danlu.api.services import Services
from danlu.control.controller import Controller
from danlu.control.logs import Logs
from danlu.control.lookup import Lookup
from danlu.control.rooms import Rooms
from danlu.control.settings import Settings, VolumeConfig
from danlu.control.submit import Submitter
from danlu.engines.local.engine import LocalEngine
from danlu.server import files
from danlu.server.identities import circle_of_trust, find_uids, settle_uids
from danlu.server.places import Places
from danlu.server.settings import ServerConfig
from danlu.server.sockets import listen, url_of
from danlu.server.words import say
from danlu.store import users
from danlu.store.store import Store
from danlu.store.tx import Tx

ADMIN = "admin"
log = logging.getLogger("danlu.server")


async def serve(config: ServerConfig, first_job: bool) -> int:
    _raise_file_limit()
    uids, why_not = find_uids(config)
    settings = _settings(config, uids)
    store = Store.open(config.database_url)
    try:
        token, password = await _admin(store, config.data)
        await settle_uids(store, uids, why_not)
        if uids is not None:
            files.open_to_users(config.data)
        engine = LocalEngine(config.engine(uids is not None))
        controller = Controller(Rooms(store, engine, settings))
        await controller.start()
        try:
            return await _serve_http(config, controller, store, token, password, first_job)
        finally:
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
) -> int:
    listeners = listen(config.listen)
    urls = [url_of(listener, config.tls_cert is not None) for listener in listeners]
    lookup, gate = Lookup(store), Gate(store)
    services = Services(
        controller,
        lookup,
        Submitter(controller, lookup),
        Logs(controller.rooms, lookup),
        gate,
        _accounts(config, controller.rooms, gate),
        urls,
        proxies=config.proxies,
    )
    server = _server(config, services)
    services.shutdown = lambda: setattr(server, "should_exit", True)
    _publish(config.data, urls[0], token)
    # uvicorn raises the signal that ended it once more: by then all that is open is to be closed.
    signal.signal(signal.SIGTERM, lambda *_: None)
    serving = asyncio.create_task(server.serve(sockets=listeners))
    deposed = asyncio.create_task(_leave_when_deposed(controller, server))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.005)
        if serving.done():
            await serving  # it says why it could not
        _banner(config, urls, password, controller)
        gc.collect()
        gc.freeze()
        if first_job:
            await _first_job(urls[0], token)
        await serving
    finally:
        deposed.cancel()
        await gate.close()
    return 1 if controller.rooms.deposed.is_set() else 0


def _server(config: ServerConfig, services: Services) -> uvicorn.Server:
    settings = uvicorn.Config(
        create_app(services),
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
        ssl_certfile=str(config.tls_cert) if config.tls_cert else None,
        ssl_keyfile=str(config.tls_key) if config.tls_key else None,
    )
    return uvicorn.Server(settings)


def _settings(config: ServerConfig, uids: Uids | None) -> Settings:
    gdata = VolumeConfig("gdata", config.data / "gdata", "/gdata", True, True)
    volumes = {"gdata": gdata, **config.volumes}
    Places("danlu.toml").check_all(config.volumes, config.data)
    return Settings(
        config.data,
        config.defaults,
        volumes,
        uids=uids,
        config_file=config.file,
        policy=config.policy,
        quotas=config.quotas,
    )


def _accounts(config: ServerConfig, rooms: Rooms, gate: Gate) -> Accounts:
    known = rooms.identities
    circle = Circle(apart=known.uids is not None, trusted=config.circle_of_trust)
    return accounts(rooms.store, gate, known, circle, config.sign_up)


async def _admin(store: Store, data: Path) -> tuple[str, str | None]:
    """The admin's token, and the one-time password when the account was made just now."""
    kept = data / "admin.json"
    token = str(files.read_json(kept).get("token") or new_token())
    known = await store.read(lambda tx: users.get_user(tx, ADMIN))
    if await store.read(lambda tx: users.find_token(tx, digest_of(token))) is not None:
        return token, None
    made = create_admin(ADMIN) if known is None else None
    user_id = made[0].id if made is not None else known.id if known is not None else ""
    row = token_row(user_id, token, "this machine", kind="machine")

    def op(tx: Tx) -> None:
        if made is not None:
            users.insert_user(tx, made[0])
        users.insert_token(tx, row)

    # The token is kept before it is valid: the other way round, a crash would lose it.
    files.write_private(kept, {"user": ADMIN, "token": token})
    await store.write(op)
    return token, made[1] if made is not None else None


def _publish(data: Path, url: str, token: str) -> None:
    files.write_private(data / "server.json", {"pid": os.getpid(), "url": url, "token": token})
    if os.environ.get("DANLU_NO_CONTEXT") != "1":
        files.write_context(url, token)


async def _leave_when_deposed(controller: Controller, server: uvicorn.Server) -> None:
    await controller.rooms.deposed.wait()
    log.error("another server leads now; this one leaves")
    server.should_exit = True


def _banner(
    config: ServerConfig, urls: list[str], password: str | None, controller: Controller
) -> None:
    nodes = controller.rooms.ledger.nodes()
    cards = sum(len(node.gpus) for node in nodes)
    running = len(controller.rooms.attempts)
    lines = [say(f"Danlu is serving: {', '.join(urls)}", f"丹炉已启动：{'、'.join(urls)}")]
    lines.append(
        say(
            f"  nodes {len(nodes)}, cards {cards}, data in {config.data}",
            f"  节点 {len(nodes)} 个，显卡 {cards} 张，数据目录 {config.data}",
        )
    )
    if running:
        lines.append(
            say(f"  running jobs adopted: {running}", f"  接管了 {running} 个运行中的任务")
        )
    if password is not None:
        lines.append(say(f"  admin's name: {ADMIN}", f"  管理员：{ADMIN}"))
        lines.append(say(f"  one-time password: {password}", f"  一次性密码：{password}"))
    else:
        lines.append(
            say(
                f"  admin's name: {ADMIN} (the password was shown at the first start)",
                f"  管理员：{ADMIN}（密码在首次启动时显示过）",
            )
        )
    trust = circle_of_trust(controller.rooms.settings.uids)
    if trust is not None:
        lines.append(f"  {say(*trust)}")
    print("\n".join(lines), flush=True)


async def _first_job(url: str, token: str) -> None:
    greeting = say(
        'echo "Hello from $DANLU_JOB on $DANLU_NODE"; for i in 1 2 3; do echo "step $i"; '
        'sleep 0.2; done; echo "done: this came through the queue"',
        'echo "你好，这里是 $DANLU_NODE 上的 $DANLU_JOB"; for i in 1 2 3; do echo "第 $i 步"; '
        'sleep 0.2; done; echo "完成：这个任务走完了队列"',
    )
    command = ["run", "--name", "first", "--", "sh", "-c", greeting]
    shown = "danlu run -- sh -c '...'"
    print(say(f"First job: {shown}", f"第一个任务：{shown}"), flush=True)
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
                "It ran. In another terminal: danlu run -- COMMAND, danlu jobs, danlu --help. "
                "Ctrl-C here stops the server; tasks go on.",
                "运行成功。在另一个终端试试：danlu run -- 命令、danlu jobs、danlu --help。"
                "在这里按 Ctrl-C 停止服务器，任务会继续运行。",
            ),
            flush=True,
        )
    else:
        print(
            say(f"The first job ended with status {status}", f"第一个任务以状态 {status} 结束"),
            flush=True,
        )


def _raise_file_limit() -> None:
    """Every running task and every follower takes a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
