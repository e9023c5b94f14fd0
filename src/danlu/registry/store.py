"""The contents of the registry: blobs, manifests, tags, and how much each owner may keep.

**To write an image from inside the server** (a saved container, a build), use `client.Client` with
a token from `services.registry.Registry.client`, over HTTP on loopback, not this class: the folder
belongs to the registry's own user, its process is the only one that writes there (garbage is
collected in the same thread that notes new blobs, which is what makes it safe while serving), and
quota and read-only mode are enforced here. The client has the same verbs: `has_blob`, `mount`,
`upload` with `append` and `commit`, `put_manifest`.

Metadata is read and written by one thread, files by others; the event loop does neither.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from danlu.registry import refusals
from danlu.registry.blobs import Blobs, Draft
from danlu.registry.buffers import Buffers, Pool
from danlu.registry.database import Database, Manifest
from danlu.registry.errors import Refusal, bad_digest, unknown_blob, unknown_upload
from danlu.registry.manifests import Document, read
from danlu.registry.names import Owner, is_digest, is_tag, owner_of
from danlu.registry.settings import RegistrySettings

PIECE = 1 << 20
SMALL = 1 << 20
"""Blobs up to this are taken although the quota is full: the config comes after all layers."""
SLACK = 64 << 20
"""By how much small blobs and manifests may exceed a quota."""
MOST_UPLOADS = 100  # of one person; not of an owner: a group is many
UPLOAD_SECONDS = 3600.0  # that an upload may rest
_THREADS = 16
_CHECK_EVERY = 16 << 20  # bytes
T = TypeVar("T")


@dataclass(slots=True)
class Upload:
    id: str
    repository: str
    owner: Owner
    draft: Draft
    hash: hashlib._Hash
    by: str = ""  # who sends it
    size: int = 0
    busy: bool = False
    touched: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Put:
    digest: str
    subject: str | None


class Store:
    def __init__(self, settings: RegistrySettings, database: Database, folder: Path) -> None:
        self.settings = settings
        self.blobs = Blobs(folder)
        self.database = database
        self.seen: dict[str, float] = {}  # digest -> when somebody last asked for it
        self.arriving: Counter[str] = Counter()  # digests whose files are being put in place
        self.asked_until = self.database.take_asked() or time.time()
        """When a former process may last have told somebody that a blob is here."""
        self.written = time.time()
        self._uploads: dict[str, Upload] = {}
        self._ended: dict[str, float] = {}  # repository -> when an upload to it was last over
        self._uploading: Counter[str] = Counter()  # owner -> bytes
        self._pool = Pool()
        self._unchecked = 0  # bytes since the disk was last looked at
        self._used: dict[str, int] = {}  # owner -> bytes, until something changes
        self.changed: Callable[[str, str, Sequence[str]], None] = lambda repository, by, tags: None
        """Told of tags that were pushed by somebody; without tags, of a deletion."""
        self._metadata = ThreadPoolExecutor(1, "registry-metadata")
        self._files = ThreadPoolExecutor(_THREADS, "registry-files")

    def close(self) -> None:
        """When nobody is being served any more."""
        self._metadata.submit(lambda: self.database.keep_asked(max(self.seen.values(), default=0)))
        for upload in list(self._uploads.values()):
            upload.draft.discard()
        self._files.shutdown()
        self._metadata.shutdown()
        self.database.close()

    async def metadata(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._metadata, work)

    @contextmanager
    def change(self) -> Iterator[None]:
        """In the metadata thread."""
        with self.database.change():
            yield
        self._used.clear()
        self.written = time.time()

    async def file(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._files, work)

    # -- blobs -------------------------------------------------------------------------------

    async def has_blob(self, repository: str, digest: str) -> int | None:
        """Its size. Whoever asks may rely on it for a while: garbage collection spares it."""

        def look() -> int | None:
            size = self.database.blob_size(repository, digest)
            if size is not None:
                self.seen[digest] = time.time()
            return size

        return await self.metadata(look)

    async def open_blob(self, repository: str, digest: str) -> tuple[int, int]:
        """A descriptor to read from, and the size. Raises Refusal."""

        def look() -> tuple[int, int]:
            size = self.database.blob_size(repository, digest)
            if size is None:
                raise unknown_blob(digest)
            self.seen[digest] = time.time()
            return os.open(self.blobs.path(digest), os.O_RDONLY | os.O_CLOEXEC), size

        return await self.metadata(look)

    async def mount(self, repository: str, digest: str, source: str) -> bool:
        """Takes a blob over from another repository. False: it is not there, or too much."""
        owner = _owner(repository)

        def take() -> bool:
            size = self.database.blob_size(source, digest)
            if size is None or self._over(owner, size):
                return False
            self.seen[digest] = time.time()
            with self.change():
                self.database.link(repository, digest)
            return True

        return await self.metadata(take)

    async def delete_blob(self, repository: str, digest: str) -> None:
        if await self.has_blob(repository, digest) is None:
            raise unknown_blob(digest)
        await self.metadata(lambda: self.database.unlink(repository, digest))

    # -- uploads -----------------------------------------------------------------------------

    async def begin(self, repository: str, algorithm: str = "sha256", by: str = "") -> Upload:
        """Raises Refusal."""
        owner = _owner(repository)
        mine = sum(1 for each in self._uploads.values() if each.by == by)
        if mine >= MOST_UPLOADS:
            raise refusals.too_many_uploads(MOST_UPLOADS)
        await self._admit(owner, 0)
        try:
            draft = await self.file(self.blobs.draft)
        except OSError as error:
            raise refusals.of_disk(error) from None
        upload = Upload(draft.path.name, repository, owner, draft, hashlib.new(algorithm), by)
        self._uploads[upload.id] = upload
        return upload

    def upload(self, repository: str, name: str) -> Upload:
        found = self._uploads.get(name)
        if found is None or found.repository != repository:
            raise unknown_upload()
        return found

    async def append(self, upload: Upload, pieces: AsyncIterator[bytes]) -> None:
        """Written and hashed in a thread while the next ones come. Raises Refusal.

        What came before a broken connection stays: the upload goes on from there."""
        if upload.busy:
            raise Refusal(409, "BLOB_UPLOAD_INVALID", "another request is writing this upload")
        upload.busy = True
        buffers = Buffers(self._pool)
        work: asyncio.Future[None] | None = None
        written: list[memoryview] = []
        try:
            async for piece in pieces:
                buffers.add(piece)
                # On a busy machine a thread comes to its turn late: then it gets more at once.
                if buffers.many or (buffers.some and (work is None or work.done())):
                    if work is not None:
                        await work
                        buffers.give_back(written)
                    written = buffers.take()
                    work = await self._write(upload, written)
            if work is not None:
                await work
                buffers.give_back(written)
            if written := buffers.take(all_of_it=True):
                work = await self._write(upload, written)
                await work
        except OSError as error:
            self.cancel(upload)
            raise refusals.of_disk(error) from None
        except Refusal:
            self.cancel(upload)
            raise
        finally:
            if work is not None and not work.done():
                await asyncio.wait([work])
            buffers.give_back(written + buffers.take(all_of_it=True))
            upload.busy = False
            upload.touched = time.monotonic()

    async def _write(self, upload: Upload, pieces: list[memoryview]) -> asyncio.Future[None]:
        count = sum(map(len, pieces))
        if upload.size + count > SMALL:
            await self._admit(upload.owner, count)
        at, upload.size = upload.size, upload.size + count
        self._uploading[str(upload.owner)] += count
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._files, upload.draft.write, pieces, at, upload.hash)

    async def commit(self, upload: Upload, digest: str) -> None:
        """Raises Refusal; the upload is over either way, but not before its file is kept: with
        large ones the disk takes long, and the layers before them must not be collected."""
        upload.busy = True
        algorithm, _, wanted = digest.partition(":")
        draft = upload.draft
        try:
            if upload.hash.name == algorithm:
                found = upload.hash.hexdigest()
            else:
                found = await self.file(lambda: draft.digest(algorithm))
            if found != wanted:
                what = f"the content is {algorithm}:{found}"
                raise Refusal(400, "DIGEST_INVALID", f"{what}, not {digest}")
            size, repository = upload.size, upload.repository
            await self._keep(draft, digest, lambda: self._add(repository, digest, size))
        except OSError as error:
            raise refusals.of_disk(error) from None
        finally:
            self.cancel(upload)

    def _add(self, repository: str, digest: str, size: int) -> None:
        self.database.add_blob(digest, size)
        self.database.link(repository, digest)

    async def _keep(self, draft: Draft, digest: str, note: Callable[[], None]) -> None:
        """File first, then row; meanwhile garbage collection leaves this digest alone."""

        def begin() -> None:
            self.arriving[digest] += 1

        def end() -> None:
            self._arrived(digest)
            with self.change():
                note()

        await self.metadata(begin)
        try:
            await self.file(lambda: self.blobs.keep(draft, digest))
        except BaseException:
            await self.metadata(lambda: self._arrived(digest))
            raise
        await self.metadata(end)

    def _arrived(self, digest: str) -> None:
        self.arriving[digest] -= 1
        if not self.arriving[digest]:
            del self.arriving[digest]

    def cancel(self, upload: Upload) -> None:
        self._forget(upload)
        upload.draft.discard()

    def _forget(self, upload: Upload) -> None:
        if self._uploads.pop(upload.id, None) is not None:
            self._uploading[str(upload.owner)] -= upload.size
            self._ended[upload.repository] = time.time()

    def uploading_to(self, since: float | None = None) -> set[str]:
        """Repositories; with `since` also those whose last upload ended no earlier."""
        found = {upload.repository for upload in self._uploads.values()}
        if since is not None:
            self._ended = {name: at for name, at in self._ended.items() if at >= since}
            found |= self._ended.keys()
        return found

    def drop_resting(self) -> None:
        """Uploads that nobody goes on with."""
        before = time.monotonic() - UPLOAD_SECONDS
        for upload in list(self._uploads.values()):
            if not upload.busy and upload.touched < before:
                self.cancel(upload)

    # -- quota -------------------------------------------------------------------------------

    async def _admit(self, owner: Owner, more: int) -> None:
        """Raises Refusal: quota or disk."""
        quota = self.settings.quota_of(owner)
        if quota is not None:
            used = self._used.get(str(owner))
            if used is None:
                used = await self.metadata(lambda: self.used(owner))
            used += self._uploading[str(owner)]
            # At the start of an upload nothing is known of its size.
            if used + more > quota and (more or used > quota + SLACK):
                raise refusals.over_quota(owner, quota)
        self._unchecked += more
        if not more or self._unchecked >= _CHECK_EVERY:
            self._unchecked = 0
            free = await self.file(self.blobs.free)
            if free < self.settings.free + _CHECK_EVERY:
                raise refusals.disk_full()

    def used(self, owner: Owner) -> int:
        """In the metadata thread."""
        found = self._used[str(owner)] = self.database.used(str(owner))
        return found

    def _over(self, owner: Owner, more: int) -> bool:
        quota = self.settings.quota_of(owner)
        if quota is None or more <= SMALL:
            return False
        return self.used(owner) + more > quota

    # -- manifests ---------------------------------------------------------------------------

    async def put_manifest(
        self,
        repository: str,
        reference: str,
        body: bytes,
        media_type: str,
        tags: Sequence[str] = (),
        algorithm: str = "sha256",
    ) -> Put:
        """`reference`: a tag or the digest. `tags`: further ones. Raises Refusal."""
        by_digest = is_digest(reference)
        if by_digest:
            algorithm = reference.partition(":")[0]
        named = list(tags) if by_digest else [reference, *tags]
        for tag in named:
            if not is_tag(tag):
                raise Refusal(400, "TAG_INVALID", f"{tag[:200]!r} is not a valid tag")
        digest = f"{algorithm}:{hashlib.new(algorithm, body).hexdigest()}"
        if by_digest and digest != reference:
            raise bad_digest(reference)
        document = await self.file(lambda: read(body, media_type))
        await self.metadata(lambda: self._check(repository, document, len(body)))
        await self._put(repository, digest, body, document, named)
        return Put(digest, document.subject)

    def _check(self, repository: str, document: Document, size: int) -> None:
        missing = self.database.lacks(repository, document.parts)
        if missing is not None:
            raise Refusal(
                404,
                "MANIFEST_BLOB_UNKNOWN",
                f"the manifest names {missing}, which has not been pushed",
            )
        for part in document.parts:
            self.seen[part] = time.time()
        owner = _owner(repository)
        quota = self.settings.quota_of(owner)
        if quota is not None and self.used(owner) + size > quota + SLACK:
            raise refusals.over_quota(owner, quota)

    async def _put(
        self, repository: str, digest: str, body: bytes, document: Document, tags: Sequence[str]
    ) -> None:
        draft = await self.file(self.blobs.draft)

        def write() -> None:
            draft.write([body], 0, hashlib.sha256())

        def note() -> None:
            # Again: what it names may have been deleted meanwhile.
            if owner_of(repository) != Owner("hub"):
                self._check(repository, document, 0)
            self.database.put(repository, digest, len(body), document, tags)

        try:
            await self.file(write)
            await self._keep(draft, digest, note)
        except OSError as error:
            raise refusals.of_disk(error) from None
        finally:
            draft.discard()

    async def cache_manifest(
        self, repository: str, reference: str, body: bytes, media_type: str
    ) -> str:
        """Of another registry: its blobs come when they are asked for. Raises Refusal."""
        document = await self.file(lambda: read(body, media_type))
        algorithm = reference.partition(":")[0] if is_digest(reference) else "sha256"
        digest = f"{algorithm}:{hashlib.new(algorithm, body).hexdigest()}"
        tags = [] if is_digest(reference) else [reference]
        await self._put(repository, digest, body, document, tags)
        return digest

    async def add_cached(self, repository: str, digest: str, draft: Draft, size: int) -> None:
        """A blob of another registry, whose digest was checked."""
        await self._keep(draft, digest, lambda: self._add(repository, digest, size))

    async def manifest(self, repository: str, reference: str) -> Manifest | None:
        return await self.metadata(lambda: self.database.find(repository, reference))

    async def read_manifest(self, digest: str) -> bytes:
        return await self.file(self.blobs.path(digest).read_bytes)

    async def delete_manifest(self, repository: str, reference: str) -> bool:
        """By tag: only the tag goes. False: there is none."""

        def delete() -> bool:
            found = self.database.find(repository, reference)
            if found is None:
                return False
            with self.change():
                if is_digest(reference):
                    self.database.remove(repository, found.digest)
                else:
                    self.database.untag(repository, reference)
            return True

        return await self.metadata(delete)


def _owner(repository: str) -> Owner:
    owner = owner_of(repository)
    if owner is None:
        raise refusals.no_such_place(repository)
    return owner
