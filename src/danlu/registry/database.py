"""What is in the registry: repositories, blobs, manifests, tags. One SQLite file, one thread.

A manifest is also a blob. `links`: which blobs a repository has; `pending` until a manifest names
them. `refs`: what a manifest names; `child` if that is a manifest too.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.registry.manifests import Document
from danlu.registry.names import is_digest, owner_of

_SCHEMA = """
create table if not exists repos(
  id integer primary key, name text not null unique, owner text not null);
create table if not exists blobs(
  digest text primary key, size integer not null, at real not null) without rowid;
create table if not exists links(
  repo integer not null, digest text not null, pending integer not null, at real not null,
  primary key(repo, digest)) without rowid;
create table if not exists manifests(
  repo integer not null, digest text not null, type text not null, subject text,
  artifact text not null, annotations text not null, at real not null, used real not null,
  primary key(repo, digest)) without rowid;
create table if not exists refs(
  repo integer not null, manifest text not null, digest text not null, child integer not null,
  primary key(repo, manifest, digest)) without rowid;
create table if not exists tags(
  repo integer not null, tag text not null, digest text not null, at real not null,
  primary key(repo, tag)) without rowid;
create table if not exists meta(key text primary key, value real not null) without rowid;
create index if not exists repos_by_owner on repos(owner);
create index if not exists links_by_digest on links(digest);
create index if not exists manifests_by_digest on manifests(digest);
create index if not exists manifests_by_subject on manifests(repo, subject);
create index if not exists refs_by_digest on refs(digest, repo);
create index if not exists tags_by_digest on tags(repo, digest);
pragma user_version = 1;
"""
# FULL: what was acknowledged is on disk, also after a power failure.
_PRAGMAS = """
pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = full;
pragma temp_store = memory;
"""
_USED = """
select coalesce(sum(size), 0) from blobs where digest in (
  select digest from refs where child = 0 and repo in (select id from repos where owner = :owner)
  union select digest from manifests where repo in (select id from repos where owner = :owner)
  union select digest from links
    where pending = 1 and repo in (select id from repos where owner = :owner))
"""
_USED_EVERY = 3600.0  # seconds between notes of when a manifest was last asked for


@dataclass(frozen=True, slots=True)
class Manifest:
    digest: str
    type: str
    size: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """One image of a repository, as lists show it. `tag`: empty for one without."""

    repository: str
    tag: str
    digest: str
    type: str
    size: int  # of all it names
    at: float
    used: float


class Database:
    """Every method in the same thread."""

    def __init__(self, path: Path) -> None:
        """All its files are opened here: later, this process may not enter the folder."""
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        self._db.executescript(_PRAGMAS + _SCHEMA)
        with self.change():
            self.run("insert or replace into meta values('opened', ?)", time.time())

    def close(self) -> None:
        self._db.close()

    def keep_asked(self, at: float) -> None:
        """When somebody last asked for something, for the next process."""
        self.run("insert or replace into meta values('asked', ?)", at or 1.0)

    def take_asked(self) -> float | None:
        """None: the former process did not get to say so."""
        row = self.one("select value from meta where key = 'asked'")
        self.run("delete from meta where key = 'asked'")
        return None if row is None else float(row[0])

    @contextmanager
    def change(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def all(self, query: str, *values: object, **named: object) -> list[Any]:
        return self._db.execute(query, named or values).fetchall()

    def one(self, query: str, *values: object, **named: object) -> Any:
        return self._db.execute(query, named or values).fetchone()

    def run(self, query: str, *values: object) -> int:
        return self._db.execute(query, values).rowcount

    # -- repositories ------------------------------------------------------------------------

    def repo(self, name: str) -> int | None:
        row = self.one("select id from repos where name = ?", name)
        return None if row is None else int(row[0])

    def make_repo(self, name: str) -> int:
        known = self.repo(name)
        if known is not None:
            return known
        self.run("insert into repos(name, owner) values(?, ?)", name, str(owner_of(name)))
        return int(self.one("select last_insert_rowid()")[0])

    def used(self, owner: str) -> int:
        """Bytes that count against a quota."""
        return int(self.one(_USED, owner=owner)[0])

    # -- blobs -------------------------------------------------------------------------------

    def blob_size(self, repository: str, digest: str) -> int | None:
        row = self.one(
            "select b.size from repos p join links l on l.repo = p.id join blobs b on "
            "b.digest = l.digest where p.name = ? and l.digest = ?",
            repository,
            digest,
        )
        return None if row is None else int(row[0])

    def holder(self, owner: str, digest: str) -> str | None:
        """A repository of this owner that has the blob."""
        row = self.one(
            "select p.name from links l join repos p on p.id = l.repo where l.digest = ? and "
            "p.owner = ? limit 1",
            digest,
            owner,
        )
        return None if row is None else str(row[0])

    def add_blob(self, digest: str, size: int) -> None:
        self.run(
            "insert into blobs values(?, ?, ?) on conflict(digest) do update set at = excluded.at",
            digest,
            size,
            time.time(),
        )

    def link(self, repository: str, digest: str) -> None:
        """Pending, unless a manifest of the repository names it already."""
        repo = self.make_repo(repository)
        named = self.one("select 1 from refs where digest = ? and repo = ?", digest, repo)
        self.run(
            "insert into links values(?, ?, ?, ?) on conflict(repo, digest) do update set "
            "at = excluded.at, pending = excluded.pending",
            repo,
            digest,
            int(named is None),
            time.time(),
        )

    def unlink(self, repository: str, digest: str) -> None:
        self.run("delete from links where repo = ? and digest = ?", self.repo(repository), digest)

    # -- manifests ---------------------------------------------------------------------------

    def find(self, repository: str, reference: str) -> Manifest | None:
        """`reference`: a tag or a digest."""
        repo = self.repo(repository)
        digest = reference
        if not is_digest(reference):
            row = self.one("select digest from tags where repo = ? and tag = ?", repo, reference)
            digest = "" if row is None else row[0]
        row = self.one(
            "select m.digest, m.type, b.size, m.used from manifests m join blobs b using(digest) "
            "where m.repo = ? and m.digest = ?",
            repo,
            digest,
        )
        if row is None:
            return None
        if time.time() - row[3] > _USED_EVERY:
            self.run(
                "update manifests set used = ? where repo = ? and digest = ?",
                time.time(),
                repo,
                digest,
            )
        return Manifest(row[0], row[1], int(row[2]))

    def put(
        self, repository: str, digest: str, size: int, document: Document, tags: Sequence[str]
    ) -> None:
        now = time.time()
        repo = self.make_repo(repository)
        self.add_blob(digest, size)
        self.run(
            "insert into manifests values(?, ?, ?, ?, ?, ?, ?, ?) on conflict(repo, digest) do "
            "update set type = excluded.type, at = excluded.at, used = excluded.used",
            repo,
            digest,
            document.type,
            document.subject,
            document.artifact,
            json.dumps(document.annotations),
            now,
            now,
        )
        for part, child in (
            *((p, 0) for p in document.parts),
            *((c, 1) for c in document.children),
        ):
            self.run("insert or ignore into refs values(?, ?, ?, ?)", repo, digest, part, child)
        for part in document.parts:
            self.run("update links set pending = 0 where repo = ? and digest = ?", repo, part)
        for tag in tags:
            self.run("insert or replace into tags values(?, ?, ?, ?)", repo, tag, digest, now)

    def lacks(self, repository: str, parts: Sequence[str]) -> str | None:
        """The first of these blobs that the repository does not have."""
        repo = self.repo(repository)
        for part in parts:
            if self.one("select 1 from links where repo = ? and digest = ?", repo, part) is None:
                return part
        return None

    def remove(self, repository: str, digest: str) -> None:
        """A manifest and its tags. Its blobs are collected later."""
        repo = self.repo(repository)
        self.run("delete from tags where repo = ? and digest = ?", repo, digest)
        self.run("delete from refs where repo = ? and manifest = ?", repo, digest)
        self.run("delete from manifests where repo = ? and digest = ?", repo, digest)

    def untag(self, repository: str, tag: str) -> None:
        self.run("delete from tags where repo = ? and tag = ?", self.repo(repository), tag)

    # -- lists -------------------------------------------------------------------------------

    def tags(self, repository: str, last: str, most: int) -> list[str] | None:
        """None: no such repository."""
        repo = self.repo(repository)
        if repo is None:
            return None
        query = "select tag from tags where repo = ? and tag > ? order by tag limit ?"
        return [row[0] for row in self.all(query, repo, last, most)]

    def repositories(self, last: str, most: int) -> list[str]:
        """Those that have manifests."""
        query = (
            "select name from repos where name > ? and exists(select 1 from manifests m where "
            "m.repo = repos.id) order by name limit ?"
        )
        return [row[0] for row in self.all(query, last, most)]

    def referrers(self, repository: str, digest: str) -> list[dict[str, Any]]:
        query = (
            "select m.digest, m.type, m.artifact, m.annotations, b.size from manifests m join "
            "blobs b using(digest) where m.repo = ? and m.subject = ? order by m.digest limit 1000"
        )
        found = []
        for name, kind, artifact, notes, size in self.all(query, self.repo(repository), digest):
            one = {"mediaType": kind, "digest": name, "size": size, "artifactType": artifact}
            given = json.loads(notes)
            found.append(one | ({"annotations": given} if given else {}))
        return found

    def tagged(self, repository: str | None, after: tuple[str, str], most: int) -> list[Tagged]:
        """What has a tag, in one repository or in all but cached ones, in order."""
        query = (
            "select p.name, t.tag, t.digest, m.type, t.at, m.used, m.repo from repos p "
            "join tags t on t.repo = p.id join manifests m on m.repo = p.id and "
            "m.digest = t.digest where p.owner != 'hub' and (? or p.name = ?) "
            "and (p.name, t.tag) > (?, ?) order by 1, 2 limit ?"
        )
        rows = self.all(query, repository is None, repository, *after, most)
        return [
            Tagged(name, tag, digest, kind, self._size(repo, digest), at, used)
            for name, tag, digest, kind, at, used, repo in rows
        ]

    def images(self, repository: str) -> list[Tagged]:
        query = (
            "select p.name, coalesce(t.tag, ''), m.digest, m.type, coalesce(t.at, m.at), m.used, "
            "m.repo from repos p join manifests m on m.repo = p.id left join tags t on "
            "t.repo = m.repo and t.digest = m.digest where p.name = ? and (t.tag is not null or "
            "not exists(select 1 from refs r where r.digest = m.digest and r.repo = m.repo)) "
            "order by 2, 3 limit 10000"
        )
        return [
            Tagged(name, tag, digest, kind, self._size(repo, digest), at, used)
            for name, tag, digest, kind, at, used, repo in self.all(query, repository)
        ]

    def summaries(
        self, owners: Sequence[str] | None, names: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        """Repositories with their number of tags, size and time of the latest push."""
        query = (
            "select p.id, p.name, (select count(*) from tags t where t.repo = p.id), "
            "(select max(m.at) from manifests m where m.repo = p.id) from repos p where "
            "exists(select 1 from manifests m where m.repo = p.id) "
            "and (? or p.owner in (select value from json_each(?)) or "
            "p.name in (select value from json_each(?))) order by p.name limit ?"
        )
        given = json.dumps(list(owners or ())), json.dumps(list(names))
        rows = self.all(query, owners is None, *given, most)
        return [
            {"name": name, "tags": tags, "size": self._repo_size(repo), "pushed_at": at}
            for repo, name, tags, at in rows
        ]

    def _repo_size(self, repo: int) -> int:
        query = (
            "select coalesce(sum(size), 0) from blobs where digest in (select digest from refs "
            "where repo = ? and child = 0 union select digest from manifests where repo = ?)"
        )
        return int(self.one(query, repo, repo)[0])

    def digests(self, repository: str) -> list[str]:
        query = "select digest from manifests where repo = ?"
        return [row[0] for row in self.all(query, self.repo(repository))]

    def has_tags(self, repository: str, digest: str) -> bool:
        query = "select 1 from tags where repo = ? and digest = ?"
        return self.one(query, self.repo(repository), digest) is not None

    def _size(self, repo: int, digest: str) -> int:
        query = (
            "with recursive named(digest, child) as (select ?, 1 union select r.digest, r.child "
            "from named join refs r on r.manifest = named.digest and r.repo = ? "
            "where named.child = 1) select coalesce(sum(b.size), 0) from "
            "(select distinct digest from named) n join blobs b on b.digest = n.digest"
        )
        return int(self.one(query, digest, repo)[0])
