"""`danlu backup FILE --data FOLDER`: reads the data folder directly, with or without a server."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from danlu.engines.local.logs import LogFiles
from danlu.files.backup import Source, write_backup
from danlu.files.settings import FileSettings
from danlu.server.__main__ import config_of
from danlu.server.settings import ConfigError
from danlu.server.words import say
from danlu.spec.text import Text
from danlu.spec.units import format_size
from danlu.store.database import database
from danlu.store.errors import StoreError


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="danlu backup", description="Create a backup.")
    parser.add_argument("file")
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--homes", action="store_true", help="include the users' home folders")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(host=None, port=None)
    options = parser.parse_args(argv)
    try:
        config = config_of(options)
        if not config.data.is_dir():
            raise FileNotFoundError(2, "No such folder", str(config.data))
        source = Source(
            database(config.database_url),
            FileSettings(config.data, config_file=config.file),
            LogFiles(config.data).export,
            options.homes,
        )
        size = _write(Path(options.file), source)
    except (ConfigError, StoreError) as error:
        return _fail(error.message)
    except OSError as error:
        return _fail(Text(f"The backup failed: {error}", f"备份失败：{error}"))
    if options.json:
        print(json.dumps({"file": options.file, "size": size}))
        return 0
    shown = format_size(size)
    print(say(Text(f"{options.file}: {shown}, complete", f"{options.file}：{shown}，完整")))
    return 0


def _write(path: Path, source: Source) -> int:
    """Written under another name until it is complete and on disk."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, _end)
    draft = path.with_name(f"{path.name}.part-{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            write_backup(source, file)
            file.flush()
            os.fsync(fd)
            size = os.fstat(fd).st_size
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return size


def _end(number: int, _: object) -> NoReturn:
    """In order: the unfinished file is removed."""
    raise SystemExit(128 + number)


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
