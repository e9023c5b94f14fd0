"""`danlu restore FILE`: restores a backup. The server must not be running."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.files import archive
from danlu.files.archive import Broken
from danlu.server import files
from danlu.server.__main__ import config_of
from danlu.server.settings import ConfigError, ServerConfig, find_file, load, usual_file
from danlu.server.unpack import Placing, Restored, Unpacking, upgraded
from danlu.server.words import say
from danlu.spec.text import Text, counted
from danlu.store import copying, migrate
from danlu.store.database import Database, database
from danlu.store.errors import StoreError
from danlu.store.loading import Loading
from danlu.store.sqlite import Sqlite


class NotEmpty(Exception):
    pass


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    try:
        head, listed = archive.read(options.file)
        _known_version(head)
        if options.check:
            if options.json:
                print(json.dumps({**head, **listed["totals"]}))
                return 0
            _print_contents(head, listed["totals"])
            return 0
        done = _restore(options, head)
    except Broken as error:
        return _fail(error.message)
    except (ConfigError, StoreError) as error:
        return _fail(error.message)
    except files.AlreadyRunning:
        return _fail(
            Text(
                "A server is running on this data folder: stop it first (danlu down)",
                "该数据目录上有服务器在运行：请先停止（danlu down）",
            ),
        )
    except NotEmpty as error:
        return _fail(
            Text(
                f"{error} is not empty; nothing was changed. Restore into an empty folder "
                "(--data), or use --force: existing data is moved aside, not deleted",
                f"{error} 不是空的，未做任何更改。请恢复到空目录（--data），"
                "或使用 --force：已有内容会移到一边，不会删除",
            ),
        )
    except OSError as error:
        return _fail(
            Text(
                f"The backup cannot be restored: {error}. Nothing was changed",
                f"无法恢复备份：{error}。未做任何更改",
            ),
        )
    if options.json:
        aside = None if done.aside is None else str(done.aside)
        told = {"made_at": done.made_at, "rows": done.rows, "logs": done.logs, "homes": done.homes}
        skipped = {"skipped": done.skipped, "skipped_count": done.skipped_count}
        print(json.dumps({**told, **skipped, "running": done.running, "aside": aside}))
    else:
        _print_done(done)
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu restore", description="Restore a backup.")
    parser.add_argument("file")
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--force", action="store_true", help="move existing data aside")
    parser.add_argument(
        "--check", action="store_true", help="only check that the backup is complete"
    )
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(host=None, port=None)
    return parser.parse_args(argv)


def _known_version(head: dict[str, Any]) -> None:
    if head.get("revision") not in migrate.REVISIONS:
        raise Broken(
            Text(
                f"The backup was made by a newer Danlu ({head.get('version')}); install that "
                "version",
                f"备份由更新版本的 Danlu（{head.get('version')}）制作；请安装该版本",
            ),
        )


def _restore(options: argparse.Namespace, head: dict[str, Any]) -> Restored:
    named = find_file(options.config)
    config, installed = _config(options, named)
    try:
        return _into(config, options, head, keep_config=installed is None)
    except BaseException:
        if installed is not None:
            installed.unlink()
        raise


def _config(options: argparse.Namespace, named: Path | None) -> tuple[ServerConfig, Path | None]:
    """On a machine without configuration, the one in the backup is used."""
    if named is not None:
        return config_of(options), None
    found: list[bytes] = []

    def take(info: Any, source: archive.Readable) -> None:
        if info.name == "settings/danlu.toml":
            found.append(source.read())

    archive.read(options.file, take)
    if not found or options.data:
        return config_of(options), None
    place = usual_file()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(found[0])
    try:
        load(place)
    except ConfigError:
        place.unlink()
        raise
    return config_of(options), place


def _into(
    config: ServerConfig, options: argparse.Namespace, head: dict[str, Any], keep_config: bool
) -> Restored:
    data, made = config.data, _missing_folders(config.data)
    locked_before = (data / "server.lock").exists()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = files.lock(data)
    try:
        if not options.force:
            _must_be_empty(data, database(config.database_url))
        done = _fill(config, options, head)
        if keep_config and done.config is not None:
            _keep_config(data, done.config)
        return done
    except BaseException:
        if not locked_before:
            (data / "server.lock").unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    finally:
        os.close(held)


def _fill(config: ServerConfig, options: argparse.Namespace, head: dict[str, Any]) -> Restored:
    data, target = config.data, database(config.database_url)
    new = _beside(target) if isinstance(target, Sqlite) else target
    stamp = time.strftime("%Y%m%d_%H%M%S")
    loading = Loading(new, f"danlu_before_{stamp}" if options.force else None)
    unpacking: Unpacking | None = None
    placing: Placing | None = None
    try:
        unpacking = Unpacking(data, head, loading)
        _read(options.file, head, loading, unpacking)
        unpacking.finish()
        unpacking.restored.running = loading.settle(float(head["made_at"]))
        placing = Placing(data, unpacking.draft)
        placing.place()
        loading.commit()
        if isinstance(target, Sqlite) and isinstance(new, Sqlite):
            _install(placing, new, target)
    except BaseException:
        if placing is not None:
            placing.undo()
        with contextlib.suppress(Exception):
            loading.undo()
        if isinstance(new, Sqlite) and new is not target:
            for end in ("", "-wal", "-shm"):
                Path(new.path + end).unlink(missing_ok=True)
        raise
    finally:
        if unpacking is not None:
            unpacking.discard()
    os.sync()
    unpacking.restored.aside = placing.aside
    return unpacking.restored


def _read(file: str, head: dict[str, Any], loading: Loading, unpacking: Unpacking) -> None:
    if head["revision"] == migrate.REVISIONS[-1]:
        archive.read(file, unpacking.take)
        return
    older = upgraded(file, head, unpacking.draft)
    connection = older.connect(reader=True)
    connection.begin()
    try:
        loading.copy_from(connection)
    finally:
        connection.close()

    def take(info: Any, source: archive.Readable) -> None:
        if not info.name.startswith("tables/"):
            unpacking.take(info, source)

    archive.read(file, take)


def _beside(target: Sqlite) -> Sqlite:
    Path(target.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = Sqlite(f"sqlite:///{target.path}.restoring")
    for end in ("", "-wal", "-shm"):
        Path(new.path + end).unlink(missing_ok=True)
    return new


def _install(placing: Placing, new: Sqlite, target: Sqlite) -> None:
    for end in ("-wal", "-shm", ""):
        old = Path(target.path + end)
        if old.exists():
            placing.set_aside(old)
    placing.put(Path(new.path), Path(target.path))


def _must_be_empty(data: Path, target: Database) -> None:
    for path in data.iterdir():
        harmless = path.name in ("server.lock", "gdata")
        if not harmless and not (path.is_dir() and not any(path.iterdir())):
            raise NotEmpty(str(data))
    exists = not isinstance(target, Sqlite) or Path(target.path).exists()
    if exists and not copying.is_empty(target):
        raise NotEmpty(target.where)


def _keep_config(data: Path, config: bytes) -> None:
    path = data / "danlu.toml.from-backup"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(config)


def _missing_folders(data: Path) -> list[Path]:
    """The folders to be created, outermost first."""
    missing: list[Path] = []
    while not data.exists():
        missing.insert(0, data)
        data = data.parent
    return missing


def _print_contents(head: dict[str, Any], totals: dict[str, Any]) -> None:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(head["made_at"])))
    rows = totals["rows"]
    print(
        say(
            Text(
                f"Complete. Made at {at} on {head['host']} by Danlu {head['version']} "
                f"({head['database']}): {_totals(rows, totals['logs'], totals['homes'])}",
                f"完整。{at} 由 {head['host']} 上的 Danlu {head['version']}（{head['database']}）"
                f"制作：{rows['jobs']} 个任务，{rows['events']} 个事件，{rows['users']} 个用户，"
                f"{totals['logs']} 个日志，{totals['homes']} 个用户文件",
            ),
        )
    )

    if totals.get("skipped"):
        count, some = totals.get("skipped_count", len(totals["skipped"])), _some(totals["skipped"])
        print(
            say(
                Text(
                    f"Left out when it was made: {counted(count, 'file')} of users that could not "
                    f"be read or are not regular files: {some}",
                    f"制作时未包含 {count} 个无法读取或不是普通文件的用户文件：{some}",
                ),
            )
        )


def _some(names: list[str]) -> str:
    """Names are the users' choice: nothing in them reaches the admin's terminal unescaped."""
    return ", ".join(map(_printable, names[:10]))


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name[:200])


def _totals(rows: Mapping[str, int], logs: int, homes: int) -> str:
    parts = [counted(rows.get(f"{name}s", 0), name) for name in ("job", "event", "user")]
    return ", ".join((*parts, counted(logs, "log"), f"{counted(homes, 'file')} from homes"))


def _print_done(done: Restored) -> None:
    rows = done.rows
    print(
        say(
            Text(
                f"Restored: {_totals(rows, done.logs, done.homes)}",
                f"已恢复：{rows.get('jobs', 0)} 个任务，{rows.get('events', 0)} 个事件，"
                f"{rows.get('users', 0)} 个用户，{done.logs} 个日志，{done.homes} 个用户文件",
            ),
        )
    )
    if done.running:
        print(
            say(
                Text(
                    f"Running at the time: {counted(done.running, 'job')}. Those not running here "
                    "are retried by their own rules",
                    f"当时有 {done.running} 个任务在运行：不在本机运行的会按各自的规则重试",
                ),
            )
        )
    if done.skipped:
        some = _some(done.skipped)
        print(
            say(
                Text(
                    f"Skipped {counted(done.skipped_count, 'file')} of users that cannot be put "
                    f"here, such as a second one of the same name: {some}",
                    f"已跳过 {done.skipped_count} 个无法在此恢复的用户文件"
                    f"（如同名的第二个）：{some}",
                ),
            )
        )
    if done.aside is not None:
        print(say(Text(f"The previous data is in {done.aside}", f"原有内容在 {done.aside}")))
    print(say(Text("Start the server with danlu up", "用 danlu up 启动服务器")))


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
