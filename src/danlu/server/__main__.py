"""`python -m danlu.server`: what `danlu up` runs."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from danlu.server import files
from danlu.server.settings import Address, ConfigError, ServerConfig, find_file, load
from danlu.server.sockets import check_tls
from danlu.server.words import say


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    # Ignored by whoever started us, it would keep us from hearing how our helpers end.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    logging.basicConfig(
        level=logging.DEBUG if os.environ.get("DANLU_DEBUG") else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    try:
        config = config_of(options)
        check_tls(config)
        files.make_data_folder(config.data)
        held = files.lock(config.data)
    except ConfigError as error:
        return _fail(error.en, error.zh)
    except files.AlreadyRunning as running:
        url, pid = running.info.get("url", "?"), running.info.get("pid", "?")
        return _fail(
            f"Danlu already runs here: {url} (process {pid}); `danlu down` stops it",
            f"丹炉已在运行：{url}（进程 {pid}）；`danlu down` 可停止",
        )
    except OSError as error:
        return _fail(
            f"The data folder cannot be used: {error}. Name another with --data",
            f"无法使用数据目录：{error}。可用 --data 指定其他目录",
        )
    try:
        return _run(config, options.first_job)
    finally:
        os.close(held)


def _run(config: ServerConfig, first_job: bool) -> int:
    # Imported here: a mistake in the configuration is told at once.
    import uvloop

    from danlu.server.run import serve
    from danlu.store.errors import StoreError

    try:
        return uvloop.run(serve(config, first_job))
    except (ConfigError, StoreError) as error:
        return _fail(error.en, error.zh)
    except KeyboardInterrupt:
        return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu up", description="Starts the platform.")
    parser.add_argument("--data", help="the data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, help="port to listen on (default 8080, or the next free)"
    )
    parser.add_argument("--first-job", action="store_true", help="run a small job at the start")
    return parser.parse_args(argv)


def config_of(options: argparse.Namespace) -> ServerConfig:
    config = load(find_file(options.config))
    if options.data:
        config = replace(config, data=Path(options.data))
    config = replace(config, data=Path(os.path.abspath(config.data)))
    if options.host or options.port is not None:
        first = config.listen[0]
        port = options.port if options.port is not None else first.port
        if port is not None and not 0 <= port < 65536:
            raise ConfigError(f"--port: {port} is not a port", f"--port：{port} 不是端口号")
        config = replace(config, listen=(Address(options.host or first.host, port),))
    return config


def _fail(en: str, zh: str) -> int:
    print(f"danlu: {say(en, zh)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
