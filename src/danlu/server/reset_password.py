"""`danlu admin reset-password`: works on the data folder, whether a server runs or not."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys

from danlu.access.errors import AccessError
from danlu.access.passwords import hash_password, one_time_password
from danlu.access.people import give_one_time_password
from danlu.access.principal import Asker, Principal
from danlu.server import files, first_admin
from danlu.server.__main__ import config_of
from danlu.server.settings import ConfigError, ServerConfig
from danlu.server.words import say
from danlu.spec.text import Text
from danlu.store.database import database
from danlu.store.errors import StoreError
from danlu.store.store import Store

HERE = "this machine"


class NotOurs(Exception):
    """The data folder is missing or belongs to somebody else."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    try:
        config = config_of(options)
        _may_read(config)
        password = asyncio.run(_reset(config, options.name))
    except (ConfigError, NotOurs, AccessError, StoreError) as error:
        print(f"danlu: {say(error.message)}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"name": options.name, "password": password}))
        return 0
    print(
        say(
            Text(
                f"one-time password of {options.name}: {password}\n"
                "Log in with it (danlu login), then choose your own: danlu passwd",
                f"{options.name} 的一次性密码：{password}\n"
                "用它登录（danlu login），然后设置自己的密码：danlu passwd",
            )
        )
    )
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu admin reset-password", description=__doc__)
    parser.add_argument("action", choices=["reset-password"])
    parser.add_argument("name", nargs="?", default=first_admin.ADMIN)
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(host=None, port=None)
    return parser.parse_args(argv)


def _may_read(config: ServerConfig) -> None:
    """The token in this file already allows everything; nobody else gets a password."""
    path = config.data / "admin.json"
    try:
        path.read_bytes()
    except FileNotFoundError:
        raise NotOurs(
            Text(
                f"{config.data} is not the data folder of a server; name it with --data",
                f"{config.data} 不是服务器的数据目录；请用 --data 指定",
            )
        ) from None
    except OSError as error:
        owner = _owner(str(config.data))
        raise NotOurs(
            Text(
                f"{path} cannot be read ({error.strerror}). Run this as the user of the server"
                f"{owner}, or as root",
                f"无法读取 {path}（{error.strerror}）。请以服务器的用户{owner}或 root 身份运行",
            )
        ) from None


def _owner(folder: str) -> str:
    try:
        return f" (uid {os.stat(folder).st_uid})"
    except OSError:
        return ""


async def _reset(config: ServerConfig, name: str) -> str:
    """Written to the database, so that it works without a server. One that runs notices."""
    store = _open(config)
    try:
        password = one_time_password()
        hashed = hash_password(password)
        asker = Asker(Principal(first_admin.ADMIN, "admin"), HERE)
        await store.write(lambda tx: give_one_time_password(tx, asker, name, hashed))
    finally:
        await store.close()
    if name == first_admin.ADMIN:
        first_admin.shown(config.data)
    return password


def _open(config: ServerConfig) -> Store:
    try:
        os.close(files.lock(config.data))
    except files.AlreadyRunning:
        # Its tables are not ours to upgrade.
        return Store(database(config.database_url), deadline=10.0, readers=1)
    return Store.open(config.database_url)


if __name__ == "__main__":
    sys.exit(main())
