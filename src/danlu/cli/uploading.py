"""`danlu cp` to the server: large files by themselves, small ones in bundles."""

from __future__ import annotations

import io
import os
import stat
import tarfile

from danlu.cli.table import printable
from danlu.cli.texts import both
from danlu.cli.transfers import Remembered, remote_name
from danlu.sdk.errors import ApiError
from danlu.sdk.patience import persist
from danlu.sdk.uploads import PATIENCE, Uploader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.progress import Progress
    from danlu.sdk import model
    from danlu.sdk.client import Client

SMALL = 1 << 20
BUNDLE_BYTES, BUNDLE_FILES = 16 << 20, 2000
PAGE = 2000


class Uploading:
    def __init__(self, client: Client, progress: Progress, conflict: str) -> None:
        self._client = client
        self._progress = progress
        self._conflict = conflict
        self.files = self.bytes = self.skipped = 0
        self.problems: list[dict[str, str]] = []
        self.notes: list[dict[str, str]] = []  # what was left out

    def copy(self, source: str, target: str, name: str, inside: Callable[[], bool]) -> None:
        """`inside`: whether the target is a folder that it goes into."""
        server = self._client.wire.address.text
        memory = Remembered("up", server, os.path.abspath(source), target)
        if "target" not in memory.values:
            full = f"{target}/{remote_name(os.fsencode(name))}" if inside() else target
            # An interrupted copy has made the folder: it must not go into it the next time.
            memory.keep(target=full)
        full = str(memory.values["target"])
        if os.path.isdir(source):
            self._folder(os.fsencode(source), full)
        elif self._is_same(source, full):
            self.skipped += 1
        else:
            self._file(os.fsencode(source), full)
        memory.forget()

    def _is_same(self, source: str, target: str) -> bool:
        try:
            entry = persist(lambda: self._client.files.stat(target), PATIENCE)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return is_same(os.stat(source), entry)

    # -- one file -----------------------------------------------------------------------------

    def _file(self, source: bytes, target: str) -> None:
        fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = os.fstat(fd)
            server = self._client.wire.address.text
            key = ("file", server, os.path.abspath(source), found.st_size, found.st_mtime_ns)
            memory = Remembered(*key, target, self._conflict)
            uploader = Uploader(self._client.wire, self._progress.at)
            uploader.location = str(memory.values.get("location", ""))
            at = uploader.offset() if uploader.location else None
            if at is None:
                metadata = {"path": target, "conflict": self._conflict}
                uploader.begin(found.st_size, metadata | {"modified": f"{found.st_mtime:.6f}"})
                memory.keep(location=uploader.location)
                at = 0
            self._progress.begin(printable(os.path.basename(target)), found.st_size, at)
            if found.st_size:
                uploader.send(fd, found.st_size, at)
            memory.forget()
        finally:
            os.close(fd)
        self.files += 1
        self.bytes += found.st_size

    # -- a folder -----------------------------------------------------------------------------

    def _folder(self, source: bytes, target: str) -> None:
        self._client.files.make_folder(target, parents=True)
        bundle = _Bundle()
        for folder, folders, names in os.walk(source):
            below = os.path.relpath(folder, source)
            parts = b"" if below == b"." else below + b"/"
            there = self._there(target, parts)
            folders.sort()
            for name in [
                *sorted(names),
                *(n for n in folders if os.path.islink(folder + b"/" + n)),
            ]:
                path = folder + b"/" + name
                found = os.lstat(path)
                if self._is_there(there, name, found):
                    self.skipped += 1
                elif stat.S_ISREG(found.st_mode) and found.st_size > SMALL:
                    self._file(path, f"{target}/{remote_name(parts + name)}")
                elif not bundle.add(path, parts + name, found):
                    self.notes.append(both("files.left_other", path=printable(os.fsdecode(path))))
                elif bundle.full:
                    bundle = self._send(bundle, target)
            if not names and not folders and parts:
                bundle.add(folder, parts.rstrip(b"/"), os.lstat(folder))
        if bundle.count:
            self._send(bundle, target)

    def _there(self, target: str, parts: bytes) -> dict[str, model.FileEntry]:
        """What is there already, by name: repeating an interrupted copy sends only the rest."""
        path = f"{target}/{remote_name(parts)}".rstrip("/")
        found: dict[str, model.FileEntry] = {}
        at: int | None = 0
        while at is not None:
            try:
                page = self._client.files.list_folder(path, offset=at, limit=PAGE)
            except ApiError as error:
                if error.status == 404:
                    return {}
                raise
            found |= {entry["name"]: entry for entry in page["entries"]}
            at = page["next_offset"]
        return found

    def _is_there(
        self, there: dict[str, model.FileEntry], name: bytes, found: os.stat_result
    ) -> bool:
        entry = there.get(remote_name(name))
        if entry is None:
            return False
        if stat.S_ISLNK(found.st_mode):
            return entry["kind"] == "link"
        return is_same(found, entry)

    def _send(self, bundle: _Bundle, target: str) -> _Bundle:
        fd, length = bundle.finish()
        try:
            uploader = Uploader(self._client.wire, self._progress.at)
            metadata = {"path": target, "kind": "bundle", "conflict": self._conflict}
            uploader.begin(length, metadata)
            self._progress.begin(f"{printable(os.path.basename(target))} ({bundle.count})", length)
            answer = uploader.send(fd, length)
        finally:
            bundle.close()
        self.files += bundle.count
        self.bytes += bundle.bytes
        files, unpacking = self._client.files, answer.headers.get("danlu-operation")
        if unpacking is None:  # the answer was lost, not the bundle
            return _Bundle()
        done = files.finish(files.operation(unpacking, wait=20))
        self.files -= done["problem_count"]
        self.problems += [
            {"message_en": each["message_en"], "message_zh": each["message_zh"]}
            for each in done["problems"]
        ]
        if done["state"] != "done" and not done["problems"]:
            told = {"message_en": done["message_en"], "message_zh": done["message_zh"]}
            self.problems.append(told)
        return _Bundle()


def is_same(found: os.stat_result, entry: model.FileEntry) -> bool:
    """By size and time, as rsync does."""
    same = entry["size"] == found.st_size and int(entry["modified_at"]) == int(found.st_mtime)
    return entry["kind"] == "file" and same


class _Bundle:
    """A tar in a temporary file."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self._file: io.BufferedRandom | None = None
        self._tar: tarfile.TarFile | None = None

    @property
    def full(self) -> bool:
        return self.count >= BUNDLE_FILES or self.bytes >= BUNDLE_BYTES

    def add(self, path: bytes, name: bytes, found: os.stat_result) -> bool:
        """False: neither a file, a folder nor a link."""
        info = tarfile.TarInfo(os.fsdecode(name))
        info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
        data = b""
        if stat.S_ISREG(found.st_mode):
            with open(path, "rb") as file:
                data = file.read()
            info.size = len(data)
        elif stat.S_ISLNK(found.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.fsdecode(os.readlink(path))
        elif stat.S_ISDIR(found.st_mode):
            info.type = tarfile.DIRTYPE
        else:
            return False
        self._open().addfile(info, io.BytesIO(data))
        self.count += 1
        self.bytes += len(data)
        return True

    def _open(self) -> tarfile.TarFile:
        if self._tar is None:
            import tempfile

            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            self._tar = tarfile.open(  # noqa: SIM115
                fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape"
            )
        return self._tar

    def finish(self) -> tuple[int, int]:
        """Descriptor and size."""
        assert self._tar is not None and self._file is not None
        self._tar.close()
        self._file.flush()
        return self._file.fileno(), os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
