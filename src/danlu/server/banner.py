"""What a started server says: where it is, how to sign in, and what else to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from danlu.control.controller import Controller
from danlu.server import files
from danlu.server.first_admin import ADMIN
from danlu.server.identities import circle_of_trust
from danlu.server.settings import ServerConfig
from danlu.server.words import say
from danlu.services.services import Services
from danlu.spec.text import Text, counted

if TYPE_CHECKING:
    from danlu.server.demo.demo import Demo


@dataclass(frozen=True, slots=True)
class Started:
    urls: list[str]
    password: str | None  # of the admin, if nobody has seen it yet
    contexts: tuple[str, str]  # this server's, and the one commands go to
    ssh_port: int | None


def show(
    config: ServerConfig,
    ours: Services,
    controller: Controller,
    started: Started,
    demo: Demo | None,
) -> None:
    lines = [*_where(config, controller, started), *_doors(ours, started)]
    running = len(controller.context.attempts)
    if running and demo is None:
        lines.append(
            Text(
                f"  adopted {counted(running, 'running job')}",
                f"  接管了 {running} 个运行中的任务",
            )
        )
    if demo is not None:
        lines += demo.words(started.urls[0])
    else:
        lines += [*_admin(started.password), *_context(*started.contexts)]
    trust = circle_of_trust(controller.context.settings.uids)
    if trust is not None:
        lines.append(Text(f"  {trust.en}", f"  {trust.zh}"))
    print("\n".join(say(line) for line in lines), flush=True)


def _where(config: ServerConfig, controller: Controller, started: Started) -> Iterator[Text]:
    nodes = controller.context.ledger.nodes()
    gpus = sum(len(node.gpus) for node in nodes)
    urls = started.urls
    yield Text(f"Danlu is running: {', '.join(urls)}", f"丹炉已启动：{'、'.join(urls)}")
    yield Text(
        f"  {counted(len(nodes), 'node')}, {counted(gpus, 'GPU')}, data folder {config.data}",
        f"  节点 {len(nodes)} 个，显卡 {gpus} 张，数据目录 {config.data}",
    )


def _doors(ours: Services, started: Started) -> Iterator[Text]:
    url, port = started.urls[0], started.ssh_port
    if port is not None:
        host = urlsplit(url).hostname
        yield Text(
            f"  ssh -p {port} USER+JOB@{host} enters a running job",
            f"  ssh -p {port} 用户+任务@{host} 进入运行中的任务",
        )
    images = ours.registry.address_at(url)
    if images:
        yield Text(
            f"  docker login {images} lets you push images (danlu registry says how)",
            f"  docker login {images} 之后可以推送镜像（详见 danlu registry）",
        )


def _admin(password: str | None) -> Iterator[Text]:
    if password is None:
        yield Text(
            f"  admin user: {ADMIN} (password lost? danlu admin reset-password)",
            f"  管理员：{ADMIN}（忘记密码：danlu admin reset-password）",
        )
        return
    yield Text(f"  admin user: {ADMIN}", f"  管理员：{ADMIN}")
    yield Text(f"  one-time password: {password}", f"  一次性密码：{password}")


def _context(context: str, current: str) -> Iterator[Text]:
    if context != files.LOCAL:
        yield Text(
            f"  another server runs here; to use this one: danlu --context {context} ...",
            f"  本机还运行着另一个服务；使用这一个：danlu --context {context} ...",
        )
    elif current != context:
        yield Text(
            f"  your commands still go to {current}; to use this server: danlu context use "
            f"{context}",
            f"  你的命令仍发往 {current}；改用本服务：danlu context use {context}",
        )
