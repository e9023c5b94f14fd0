"""The file a backup is: a compressed tar, written and read from its beginning to its end.

It begins with a head that says what it is and ends with a list of everything in it, each with its
checksum: a file that was cut off has no list. A long list is in several pieces, each behind the
entries it tells of, so that neither writing nor reading needs memory for all of it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from danlu.spec.text import Text

FORMAT = 2
READABLE = (1, 2)  # 1: the whole list at the end, and no entries for files with holes
HEAD = "danlu-backup.json"
LIST = "list.json"
LISTS = "list/"  # what comes before LIST, in order
LONGEST_LIST = 1 << 20  # about as many bytes are held before they are written
PIECE = 1 << 20
LARGEST_TEXT = 1 << 28  # of a head or a list
MOST_SKIPPED = 1000  # names that are kept
NAMES = "surrogateescape"  # a name is bytes, and need not be UTF-8; it comes back as it was


class Sink(Protocol):
    def write(self, data: bytes, /) -> Any: ...


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Broken(Exception):
    """The file is not what it should be."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


@dataclass(slots=True)
class Totals:
    """What is in it, for people."""

    rows: dict[str, int] = field(default_factory=dict)
    logs: int = 0
    log_bytes: int = 0
    homes: int = 0
    skipped: list[str] = field(default_factory=list)
    skipped_count: int = 0

    def skip(self, name: str) -> None:
        self.skipped_count += 1
        if len(self.skipped) < MOST_SKIPPED:
            self.skipped.append(name)


class Writer:
    def __init__(self, out: Sink, head: dict[str, Any]) -> None:
        self._entries: list[dict[str, Any]] = []
        self._listed = 0  # bytes, about
        self._lists = 0
        self._packed = gzip.GzipFile(
            filename="",
            mode="wb",
            compresslevel=1,  # on the way of a server that has other things to do
            fileobj=_Out(out),
            mtime=0,
        )
        self._tar = tarfile.open(  # noqa: SIM115
            fileobj=self._packed,
            mode="w|",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors=NAMES,
        )
        self.note(HEAD, {"format": FORMAT, **head})

    def note(self, name: str, values: dict[str, Any]) -> None:
        self.put(name, json.dumps(values).encode())

    def put(self, name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o600
        self.stream(info, io.BytesIO(data))

    def stream(self, info: tarfile.TarInfo, source: Readable) -> None:
        """Exactly as many bytes as the entry says; a file that got shorter is filled up."""
        measured = _Measured(source, info.size)
        self._add(info, measured)
        self._list({"name": info.name, "size": info.size, "sha256": measured.digest})

    def entry(self, info: tarfile.TarInfo) -> None:
        """A folder or a link."""
        self._add(info, None)
        self._list({"name": info.name, "size": 0, "sha256": ""})

    def _add(self, info: tarfile.TarInfo, source: _Measured | None) -> None:
        self._tar.addfile(info, source)
        self._tar.members.clear()  # type: ignore[attr-defined]  # it would remember all

    def _list(self, entry: dict[str, Any]) -> None:
        self._entries.append(entry)
        self._listed += len(entry["name"]) + 100
        if self._listed >= LONGEST_LIST:
            entries, self._entries, self._listed = self._entries, [], 0
            self.note(f"{LISTS}{self._lists:08}.json", {"entries": entries})
            self._lists += 1

    def finish(self, totals: Totals) -> None:
        about = {
            "rows": totals.rows,
            "logs": totals.logs,
            "log_bytes": totals.log_bytes,
            "homes": totals.homes,
            "skipped": totals.skipped,
            "skipped_count": totals.skipped_count,
        }
        self._listed = -LONGEST_LIST  # nothing follows this one
        self.note(LIST, {"entries": list(self._entries), "lists": self._lists, "totals": about})
        self._tar.close()
        self._packed.close()


class _Out(io.RawIOBase):
    """What gzip writes to; it does not close what is not its own."""

    def __init__(self, out: Sink) -> None:
        self._out = out

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._out.write(bytes(data))
        return len(data)


class _Measured(io.RawIOBase):
    def __init__(self, source: Readable, size: int) -> None:
        self._source = source
        self._left = size
        self._sum = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._source.read(wanted) or b""
        data += b"\0" * (wanted - len(data))
        self._left -= len(data)
        self._sum.update(data)
        return data

    @property
    def digest(self) -> str:
        return self._sum.hexdigest()


Take = Callable[[tarfile.TarInfo, Readable], None]


def read(path: str, take: Take | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Goes through the whole file and checks all of it: its head and its list.

    `take` is given every entry but these two, with what it holds. Raises Broken.
    """
    try:
        with open(path, "rb") as raw, gzip.open(raw) as packed:
            with tarfile.open(fileobj=packed, mode="r|", encoding="utf-8", errors=NAMES) as tar:
                found = _walk(tar, take)
            # The checksum of the whole stands behind the last entry.
            while packed.read(PIECE):
                pass
            return found
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, UnicodeDecodeError) as error:
        cause = str(error) or type(error).__name__
        raise Broken(
            Text(
                f"{path} is broken or cut off: {cause}. Take another copy of it, or an older "
                "backup",
                f"{path} 已损坏或不完整：{cause}。请使用另一份副本或更早的备份",
            ),
        ) from None
    except OSError as error:
        raise Broken(
            Text(
                f"{path} cannot be read: {error.strerror or error}",
                f"无法读取 {path}：{error.strerror or error}",
            ),
        ) from None


def _walk(tar: tarfile.TarFile, take: Take | None) -> tuple[dict[str, Any], dict[str, Any]]:
    head: dict[str, Any] | None = None
    seen: list[dict[str, Any]] = []  # since the last list
    lists = 0
    while (info := tar.next()) is not None:
        tar.members.clear()  # type: ignore[attr-defined]  # it would remember all
        source = tar.extractfile(info) if info.isreg() else None
        measured = _Checked(source or io.BytesIO())
        if head is None:
            head = _head(info, measured)
        elif info.name == LIST:
            listed = _values(info, measured)
            _compare(seen, listed)
            if listed.get("lists", 0) != lists:
                raise _damaged(LIST)
            return head, listed
        elif info.name.startswith(LISTS):
            if info.name != f"{LISTS}{lists:08}.json":
                raise _damaged(info.name)
            _compare(seen, _values(info, measured))
            seen, lists = [], lists + 1
        elif take is not None:
            take(info, measured)
        measured.rest()
        digest = measured.digest if source is not None else ""
        seen.append({"name": info.name, "size": measured.size, "sha256": digest})
    raise Broken(
        Text(
            "The backup is cut off: its end is missing. Take another copy of it, or an older "
            "backup",
            "备份不完整：缺少结尾。请使用另一份副本或更早的备份",
        ),
    )


def _head(info: tarfile.TarInfo, source: _Checked) -> dict[str, Any]:
    if info.name != HEAD:
        raise Broken(Text("This is not a backup of Danlu", "这不是 Danlu 的备份"))
    head = _values(info, source)
    if head.get("format") not in READABLE:
        found = head.get("format")
        raise Broken(
            Text(
                f"The backup has format {found}, this Danlu reads format {FORMAT}. Use the version "
                f"of Danlu that made it ({head.get('version')}) or a newer one",
                f"备份的格式为 {found}，本版本读取格式 {FORMAT}。"
                f"请使用制作它的 Danlu 版本（{head.get('version')}）或更新版本",
            ),
        )
    return head


def _values(info: tarfile.TarInfo, source: _Checked) -> dict[str, Any]:
    try:
        if info.size > LARGEST_TEXT:
            raise ValueError("too large")
        values = json.loads(source.read())
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise Broken(Text(f"{info.name} in the backup is damaged", f"备份中的 {info.name} 已损坏"))
    return values


def _compare(seen: list[dict[str, Any]], listed: dict[str, Any]) -> None:
    entries = listed.get("entries")
    if entries == seen:
        return
    wrong = next(
        (one["name"] for one, other in zip(seen, entries or [], strict=False) if one != other),
        "its list",
    )
    raise _damaged(wrong)


def _damaged(wrong: str) -> Broken:
    return Broken(
        Text(
            f"The backup is damaged: {wrong} is not what was written. Take another copy of it",
            f"备份已损坏：{wrong} 与写入时不一致。请使用另一份副本",
        ),
    )


class _Checked(io.RawIOBase):
    """Counts and sums what is read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._sum = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size) or b""
        self._sum.update(data)
        self.size += len(data)
        return data

    def rest(self) -> None:
        while self.read(PIECE):
            pass

    @property
    def digest(self) -> str:
        return self._sum.hexdigest()
