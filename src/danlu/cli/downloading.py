"""`danlu cp` from the server. What is there already with the same size and time is left out.

A folder that is not here at all comes as one tar, which is unpacked on the way. One that is here in
part is compared with the server's, and only the rest is asked for: so does repeating the command
continue it.
"""

from __future__ import annotations

import os
import stat
import tarfile

from danlu.cli import codes
from danlu.cli.drafts import LARGE, TRIES, Draft
from danlu.cli.failure import Failure
from danlu.cli.table import printable
from danlu.cli.texts import both
from danlu.cli.transfers import Remembered, local_name, remote_name
from danlu.cli.unpacking import MADE, OTHER, THERE, UNSAFE, Tree, is_same
from danlu.sdk.calls import BASE
from danlu.sdk.downloads import Changed, Download
from danlu.sdk.errors import ApiError
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from danlu.cli.progress import Progress
    from danlu.sdk import model
    from danlu.sdk.client import Client

PAGE = 2000
MOST_PATHS, LONGEST = 100, 6000  # of one archive: paths, and characters of its address
LEFT_OUT = "not-included.txt"  # what an archive says at its end
Parts = list[bytes]


class Downloading:
    def __init__(self, client: Client, progress: Progress, no_clobber: bool) -> None:
        self._client = client
        self._progress = progress
        self._no_clobber = no_clobber
        self.files = self.bytes = self.skipped = 0
        self.problems: list[dict[str, str]] = []
        self.notes: list[dict[str, str]] = []

    # -- one file -----------------------------------------------------------------------------

    def copy_file(self, path: str, local: str, entry: model.FileEntry) -> None:
        name = os.fsdecode(local_name(path.rstrip("/").rpartition("/")[2]))
        where = os.path.join(local, name) if os.path.isdir(local) else local
        known = entry["kind"] == "file"
        size, modified = entry["size"], entry["modified_at"]
        try:
            found = os.stat(where)
        except OSError:
            found = None
        same = known and is_same(found, size, modified)
        if same or (self._no_clobber and os.path.lexists(where)):
            self.skipped += 1
            return
        above, name = os.path.split(os.path.abspath(where))
        try:
            folder = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                draft = Draft(self._client, self._progress, path, os.path.abspath(where))
                args = (size, modified) if known else (None, None)
                self.bytes += draft.fetch(folder, os.fsencode(name), *args)
            finally:
                os.close(folder)
        except OSError as error:
            cause = error.strerror or str(error)
            raise Failure("file.unwritable", file=where, cause=cause) from None
        self.files += 1

    # -- a folder -----------------------------------------------------------------------------

    def copy_folder(self, path: str, local: str) -> None:
        server = self._client.wire.address.text
        memory = Remembered("tree", server, path, os.path.abspath(local))
        if "where" not in memory.values:
            name = os.fsdecode(local_name(path.rstrip("/").rpartition("/")[2]))
            where = os.path.join(local, name) if os.path.isdir(local) else local
            # An interrupted copy has made the folder: it must not go into it the next time.
            memory.keep(where=os.path.abspath(where))
        where = str(memory.values["where"])
        for _ in range(TRIES):
            whole = not os.path.lexists(where)
            work = _Filling(self, path, where)
            try:
                if not whole or not work.take_whole():
                    work.take_rest()
                memory.forget()
                return
            except Changed:
                continue  # what has come is here, and is not asked for again
            except ApiError:
                memory.forget()
                if whole:
                    _remove_empty(where)
                raise
            except OSError as error:
                place = os.fsdecode(error.filename) if error.filename else where
                cause = error.strerror or str(error)
                raise Failure("file.unwritable", file=place, cause=cause) from None
            finally:
                work.close()
        raise Failure("files.changing", codes.CONFLICT, path=printable(path))


class _Filling:
    """One folder of the server on its way into one here."""

    def __init__(self, work: Downloading, path: str, where: str) -> None:
        self._work = work
        self._client, self._progress = work._client, work._progress
        self._path = path.rstrip("/")
        self._where = where
        self._tree = Tree(where)

    def close(self) -> None:
        self._tree.close()

    def take_whole(self) -> bool:
        """False: there are too many files in it for one archive."""
        return self._unpack([self._path], [], 1)

    def take_rest(self) -> None:
        """Folder by folder, what is not here yet."""
        waiting: list[Parts] = [[]]
        while waiting:
            parts = waiting.pop()
            self._tree.enter(parts)
            wanted: list[str] = []
            for entry in self._entries(parts):
                inner = [*parts, local_name(entry["name"])]
                if self._is_here(entry, inner):
                    if entry["kind"] == "folder":
                        waiting.append(inner)
                    else:
                        self._work.skipped += 1
                elif entry["kind"] == "file" and entry["size"] >= LARGE:
                    self._fetch(entry, inner)
                elif entry["kind"] != "other":
                    wanted.append(entry["path"])
                    if _is_full(wanted):
                        waiting += self._archive(wanted, parts)
                        wanted = []
            if wanted:
                waiting += self._archive(wanted, parts)

    def _entries(self, parts: Parts) -> Iterator[model.FileEntry]:
        path = "/".join([self._path, *map(remote_name, parts)])
        at: int | None = 0
        while at is not None:
            page = self._client.files.list_folder(path, offset=at, limit=PAGE)
            yield from page["entries"]
            at = page["next_offset"]

    def _is_here(self, entry: model.FileEntry, parts: Parts) -> bool:
        found = self._tree.look(parts)
        if found is None:
            return False
        if entry["kind"] == "folder":
            return stat.S_ISDIR(found.st_mode)
        if self._work._no_clobber or is_same(found, entry["size"], entry["modified_at"]):
            return True
        linked = entry["kind"] == "link" and stat.S_ISLNK(found.st_mode)
        return linked and self._tree.target_of(parts) == local_name(entry["target"] or "")

    def _fetch(self, entry: model.FileEntry, parts: Parts) -> None:
        folder = self._tree.enter(parts[:-1])
        draft = self._draft(entry["path"], parts)
        self._work.bytes += draft.fetch(folder, parts[-1], entry["size"], entry["modified_at"])
        self._work.files += 1

    def _draft(self, path: str, parts: Parts) -> Draft:
        place = os.path.join(self._where, *map(os.fsdecode, parts))
        return Draft(self._client, self._progress, path, place)

    # -- archives -----------------------------------------------------------------------------

    def _archive(self, paths: list[str], base: Parts) -> list[Parts]:
        """Folders that have too many files for an archive, which are to be looked into instead."""
        if self._unpack(paths, base, 0):
            return []
        left: list[Parts] = []
        for path in paths:
            if len(paths) == 1 or not self._unpack([path], base, 0):
                left.append([*base, local_name(path.rpartition("/")[2])])
        return left

    def _unpack(self, paths: list[str], base: Parts, strip: int) -> bool:
        """`strip`: leading parts of the names in it that mean the folder itself."""
        address = target(f"{BASE}/files/archive", {"path": paths})
        transfer = Download(self._client.wire, address)
        stream = _Stream(transfer.pieces(), self._progress, transfer)
        try:
            stream.begin(printable(os.path.basename(self._where)))
        except ApiError as error:
            if error.code != "too_many_entries":
                raise
            return False
        with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:  # type: ignore[call-overload]
            while (member := tar.next()) is not None:
                tar.members = []
                if member.name == LEFT_OUT and not member.mtime:
                    self._left_out(tar, member)
                else:
                    self._take(tar, member, base, strip)
        stream.drain()
        self._work.bytes += transfer.at
        return True

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo, base: Parts, strip: int) -> None:
        name = member.name.encode("utf-8", "surrogateescape")
        inner = [part for part in name.split(b"/") if part not in (b"", b".")][strip:]
        if not inner:
            return
        parts = [*base, *inner]
        path = "/".join([self._path, *map(remote_name, parts)])
        source = tar.extractfile(member) if member.isreg() else None
        draft = self._draft(path, parts) if member.size >= LARGE else None

        def begun() -> None:
            if draft is not None:
                draft.remember(member.size, member.mtime)

        how = self._tree.take(member, parts, source, not self._work._no_clobber, begun)
        if draft is not None:
            draft.forget()
        if how == THERE:
            self._work.skipped += 1
        elif how in (UNSAFE, OTHER):
            key = "files.left_unsafe" if how == UNSAFE else "files.left_other"
            link = printable(member.linkname)
            self._work.notes.append(both(key, path=printable(path), target=link))
        elif how == MADE and not member.isdir():
            self._work.files += 1

    def _left_out(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Lines of `path: code`, as the server has written them."""
        file = tar.extractfile(member)
        for line in (file.read() if file is not None else b"").decode(errors="replace").split("\n"):
            path, _, code = line.rpartition(": ")
            if code == "not_a_file":
                self._work.notes.append(both("files.left_other", path=printable(path)))
            elif line:
                self._work.problems.append(
                    both("files.left_unread", path=printable(path or line), code=code)
                )


def _remove_empty(folder: str) -> None:
    try:  # noqa: SIM105
        os.rmdir(folder)
    except OSError:
        pass


def _is_full(paths: list[str]) -> bool:
    from urllib.parse import quote

    return len(paths) >= MOST_PATHS or sum(len(quote(path)) + 6 for path in paths) > LONGEST


class _Stream:
    """What tarfile reads from."""

    def __init__(self, pieces: Iterator[bytes], progress: Progress, transfer: Download) -> None:
        self._pieces = pieces
        self._progress = progress
        self._transfer = transfer
        self._held = b""

    def begin(self, name: str) -> None:
        self._held = next(self._pieces, b"")
        self._progress.begin(name, self._transfer.size)

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0:
            if not self._held:
                self._held = next(self._pieces, b"")
                self._progress.at(self._transfer.at)
                if not self._held:
                    break
            part, self._held = self._held[:size], self._held[size:]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def drain(self) -> None:
        for _ in self._pieces:
            pass
