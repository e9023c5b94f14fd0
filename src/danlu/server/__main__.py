"""`python -m danlu.server`: what `danlu up` runs."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.server import files
from danlu.server.demo.folder import demo_config, demo_folder, refuse_demo
from danlu.server.settings import Address, ConfigError, ServerConfig, find_file, load
from danlu.server.sockets import check_tls
from danlu.server.words import say
from danlu.spec.text import Text

if TYPE_CHECKING:
    from danlu.server.demo.demo import Demo

_PRIORITY = "-10"  # of the session, in the units of nice
_SWITCH = 0.0005
"""Seconds a worker thread may keep the interpreter while the event loop wants it (Python: 0.005).
A request needs it several times."""


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    sys.setswitchinterval(_SWITCH)
    # If our parent ignored SIGCHLD, we would not learn how our child processes end.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    logging.basicConfig(
        level=logging.DEBUG if os.environ.get("DANLU_DEBUG") else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if options.install_service:
        return _install(options)
    if options.dry_run:
        return _fail(
            Text("--dry-run needs --install-service", "--dry-run 须与 --install-service 同用")
        )
    if options.reset and not options.demo:
        return _fail(
            Text(
                "--reset deletes a demo; it needs --demo",
                "--reset 用来清除演示，须与 --demo 一起使用",
            )
        )
    try:
        config = _demo_of(options) if options.demo else config_of(options)
        check_tls(config)
        files.make_data_folder(config.data)
        held = files.lock(config.data)
    except ConfigError as error:
        return _fail(error.message)
    except files.AlreadyRunning as running:
        url, pid = running.info.get("url", "?"), running.info.get("pid", "?")
        return _fail(
            Text(
                f"Danlu is already running: {url} (process {pid}); stop it with `danlu down`",
                f"丹炉已在运行：{url}（进程 {pid}）；`danlu down` 可停止",
            ),
        )
    except OSError as error:
        return _fail(
            Text(
                f"Cannot use the data folder: {error}. Choose another with --data",
                f"无法使用数据目录：{error}。可用 --data 指定其他目录",
            ),
        )
    try:
        return _run(config, options)
    finally:
        os.close(held)


def _install(options: argparse.Namespace) -> int:
    from danlu.server.service import install

    try:
        config = config_of(options)
        check_tls(config)
    except ConfigError as error:
        return _fail(error.message)
    words: list[str] = []
    for name in ("host", "port", "data", "config"):
        value = getattr(options, name)
        if value is not None:
            shown = os.path.abspath(value) if name in ("data", "config") else str(value)
            words += [f"--{name}", shown]
    return install(words, options.dry_run)


def _run(config: ServerConfig, options: argparse.Namespace) -> int:
    # Imported here so that a configuration error is reported at once.
    import uvloop

    from danlu.server.run import serve
    from danlu.store.errors import StoreError

    _go_first()
    try:
        demo = _demo(config, options.reset) if options.demo else None
        return uvloop.run(serve(config, options.first_job, demo))
    except (ConfigError, StoreError) as error:
        return _fail(error.message)
    except KeyboardInterrupt:
        return 0


def _go_first() -> None:
    """Before tasks, which have sessions of their own, where both wait for a CPU. Only root may."""
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(_PRIORITY)


def _demo(config: ServerConfig, reset: bool) -> Demo:
    from danlu.server.demo.demo import Demo

    return Demo(config, reset)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu up", description="Start the platform.")
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, help="port to listen on (default 8080, or the next free one)"
    )
    parser.add_argument("--first-job", action="store_true", help="run a small job at startup")
    parser.add_argument(
        "--install-service", action="store_true", help="install and start a systemd service"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the service")
    parser.add_argument("--demo", action="store_true", help="a made-up cluster to look at")
    parser.add_argument("--reset", action="store_true", help="with --demo: start over")
    return parser.parse_args(argv)


def config_of(options: argparse.Namespace) -> ServerConfig:
    config = load(find_file(options.config))
    if options.data:
        config = replace(config, data=Path(options.data))
    config = replace(config, data=Path(os.path.abspath(config.data)))
    refuse_demo(config.data)
    return _listening(config, options)


def _demo_of(options: argparse.Namespace) -> ServerConfig:
    if options.config:
        raise ConfigError(
            Text(
                "--config: the demo has its own settings; leave it out",
                "--config：演示使用自己的配置，请去掉",
            )
        )
    data = Path(options.data) if options.data else demo_folder()
    return _listening(demo_config(Path(os.path.abspath(data))), options)


def _listening(config: ServerConfig, options: argparse.Namespace) -> ServerConfig:
    if not options.host and options.port is None:
        return config
    first = config.listen[0]
    port = options.port if options.port is not None else first.port
    if port is not None and not 0 <= port < 65536:
        raise ConfigError(Text(f"--port: {port} is not a valid port", f"--port：{port} 不是端口号"))
    return replace(config, listen=(Address(options.host or first.host, port),))


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
