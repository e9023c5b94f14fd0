"""A backup while everything runs: the database as it is at one moment, then the rest.

The logs are read after that moment, so each holds at least what was acknowledged then.
"""

from __future__ import annotations

import platform
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from danlu import __version__
from danlu.engines.api import LogFile
from danlu.files.archive import Sink, Totals, Writer
from danlu.files.backup_homes import back_up_homes
from danlu.files.bundles.stores import AREA as BUNDLES
from danlu.files.settings import FileSettings
from danlu.files.volumes import AREA
from danlu.spec.text import Text
from danlu.store import copying, migrate
from danlu.store.database import Database
from danlu.store.errors import StoreError

PRIVATE = ("admin.json",)
"""Files of the data folder that go along; keys (`*.key`) do, too."""

KEY_SUFFIX = ".key"
OF_USERS = ("home", AREA, BUNDLES)
"""Folders with what belongs to users and groups; only on request."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a backup is made of."""

    database: Database
    files: FileSettings
    logs: Callable[[], Iterator[LogFile]]  # the engines'
    homes: bool = False


def write_backup(source: Source, out: Sink) -> Totals:
    """Slow; not for the event loop. Raises StoreError, OSError."""
    totals = Totals()
    writer = _begin(source, out, totals)
    _settings(source, writer)
    _logs(source.logs(), writer, totals)
    if source.homes:
        for folder in OF_USERS:
            back_up_homes(source.files.data / folder, writer, totals)
    writer.finish(totals)
    return totals


def _begin(source: Source, out: Sink, totals: Totals) -> Writer:
    try:
        connection = source.database.connect(reader=True)
    except Exception as error:
        raise source.database.trouble(error) or error from error
    try:
        connection.begin()
        revision = migrate.present(connection, source.database)
        if revision != migrate.REVISIONS[-1]:
            raise StoreError(
                Text(
                    f"{source.database.where} is not at the version of this Danlu. Start the "
                    "server once, then back up",
                    f"{source.database.where} 的版本与本 Danlu 不一致。请先启动一次服务器再备份",
                ),
            )
        head = {
            "version": __version__,
            "made_at": time.time(),
            "host": platform.node(),
            "database": source.database.dialect,
            "revision": revision,
            "tables": {t.name: copying.columns_of(t) for t in copying.copied_tables()},
            "homes": source.homes,
        }
        writer = Writer(out, head)
        for table in copying.copied_tables():
            totals.rows[table.name] = 0
            for number, (rows, lines) in enumerate(copying.dump(connection, table)):
                writer.put(f"tables/{table.name}/{number:06}.jsonl", lines)
                totals.rows[table.name] += rows
        connection.rollback()
    except StoreError:
        raise
    except Exception as error:
        raise source.database.trouble(error) or error from error
    finally:
        connection.close()
    return writer


def _settings(source: Source, writer: Writer) -> None:
    config = source.files.config_file
    if config is not None and config.is_file():
        writer.put("settings/danlu.toml", config.read_bytes())
    for path in sorted(source.files.data.iterdir()):
        if path.name in PRIVATE or path.suffix == KEY_SUFFIX:
            writer.put(f"private/{path.name}", path.read_bytes())


def _logs(logs: Iterator[LogFile], writer: Writer, totals: Totals) -> None:
    for log in logs:
        info = tarfile.TarInfo(f"logs/{log.name}")
        info.mode, info.mtime, info.size = 0o600, int(log.modified), log.size
        with log.content as content:
            writer.stream(info, content)
        totals.logs += 1
        totals.log_bytes += log.size
