"""A new database, an old one, a newer one, and one that is not ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from danlu.spec.placement import Placement
from danlu.store import Store, StoreAway, StoreError, StoreNewer, migrate
from danlu.store.attempts import attempts_of
from danlu.store.database import Database, database
from danlu.store.jobs import active_jobs
from tests.support.postgres import PostgresServer

SCHEMA = {
    "sqlite": ["SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"],
    "postgresql": [
        "SELECT table_name, column_name, data_type, is_nullable, column_default, "
        "rank() OVER (PARTITION BY table_name ORDER BY ordinal_position) "
        "FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = "
        "'public'::regnamespace",
        "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    ],
}


def run(db: Database, sql: str) -> list[tuple[Any, ...]]:
    connection = db.connect()
    rows = connection.execute(sql)
    connection.close()
    return rows


def schema(db: Database) -> list[set[str]]:
    """Without white space: the two ways of writing a table break lines differently. With the parts
    of a table in order of the alphabet: a column that came later stands after the constraints."""
    found = []
    for query in SCHEMA[db.dialect]:
        texts = {
            "".join(str(row).replace("\\n", "").replace("\\t", "").split())
            for row in run(db, query)
        }
        found.append({",".join(sorted(parts(text))) for text in texts})
    return found


def parts(text: str) -> list[str]:
    if "CREATETABLE" not in text:
        return [text]
    head, _, body = text.rpartition(")")[0].partition("CREATETABLE")
    name, _, columns = body.partition("(")
    return [head + name, *re.split(r",(?![^(]*\))", columns)]


@pytest.fixture
def empty(url: str) -> Database:
    db = database(url)
    db.create()
    return db


def test_the_migrations_make_the_same_tables_as_a_new_database(
    empty: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if empty.dialect == "sqlite":
        fresh = database(f"sqlite:///{tmp_path}/fresh.db")
    else:
        fresh = database(request.getfixturevalue("postgres").new_database())
    migrate.upgrade(empty)
    migrate.prepare(fresh)
    assert schema(empty) == schema(fresh)
    for query in ("SELECT * FROM alembic_version", "SELECT * FROM leader"):
        assert run(empty, query) == run(fresh, query)


def test_people_of_the_first_version_are_still_there(empty: Database, url: str) -> None:
    migrate.upgrade(empty, "0001")
    yes, no = ("1", "0") if empty.dialect == "sqlite" else ("true", "false")
    run(
        empty,
        f"INSERT INTO users VALUES ('u1', 'admin', 'admin', 'h', {yes}, {no}, 1.5), "
        f"('u2', 'eve', 'member', 'h', {no}, {yes}, 2.5)",
    )
    run(
        empty,
        "INSERT INTO tokens VALUES ('t1', 'u1', 'a', 'this machine', 1, NULL, NULL), "
        "('t2', 'u1', 'b', 'login', 1, NULL, NULL)",
    )
    migrate.prepare(empty)
    people = run(empty, "SELECT name, status, must_change, uid FROM users ORDER BY name")
    assert people == [("admin", "active", True, None), ("eve", "disabled", False, None)]
    kinds = run(empty, "SELECT id, kind, scope FROM tokens ORDER BY id")
    assert kinds == [("t1", "machine", "all"), ("t2", "session", "all")]


def test_keys_are_kept_when_two_people_may_have_the_same(empty: Database) -> None:
    migrate.upgrade(empty, "0014")
    run(empty, "INSERT INTO ssh_keys VALUES ('k1', 'alice', 'laptop', 'SHA256:a', 'ssh-x A', 1.5)")
    migrate.prepare(empty)
    run(empty, "INSERT INTO ssh_keys VALUES ('k2', 'bob', '', 'SHA256:a', 'ssh-x A', 2.5)")
    found = run(empty, "SELECT id, owner, label, line, created_at FROM ssh_keys ORDER BY id")
    assert found[0] == ("k1", "alice", "laptop", "ssh-x A", 1.5)
    assert [row[0] for row in found] == ["k1", "k2"]


OLD_PLACES = """[{"task":0,"node":"n1","cards":[0,1],"share":0,"ports":[5001]}]"""
OLD_STOP = """{"by":"danlu","why":"moved","to":[{"node":"n2","cards":[3],"share":500}]}"""
OLD_PLACED = """{"attempt":1,"places":[{"task":0,"node":"n1","cards":[0,1]}]}"""
# What a person wrote is left alone, whatever it looks like.
OLD_TALK = """{"detail":"say \\"cards\\": [1]"}"""


async def test_placements_of_the_version_before_are_read_as_they_are_now(
    empty: Database, url: str
) -> None:
    migrate.upgrade(empty, "0004")
    no = "0" if empty.dialect == "sqlite" else "false"
    run(
        empty,
        "INSERT INTO jobs VALUES (1, 'j1', 'al', 'x', 1, NULL, NULL, 'train', 'running', NULL, "
        f"'default', NULL, 0, 1, 1, NULL, NULL, 1, 0, 0, {no}, '{{}}', '{{}}')",
    )
    run(
        empty,
        "INSERT INTO attempts VALUES "
        f"('a1', 'j1', 1, 'stopping', 1, 1, NULL, 1, NULL, '{OLD_PLACES}', '{{}}', '{OLD_STOP}', "
        f"'[]'), ('a2', 'j1', 2, 'running', 1, 1, NULL, 1, NULL, '[]', '{OLD_TALK}', NULL, '[]')",
    )
    run(
        empty,
        f"INSERT INTO events VALUES (1, 'j1', 1, 'placed', 'danlu', '{OLD_PLACED}'), "
        f"(2, 'j1', 1, 'stop_requested', 'danlu', '{OLD_STOP}'), "
        f"(3, 'j1', 1, 'stop_requested', 'al', '{OLD_TALK}')",
    )
    migrate.prepare(empty)
    first, second = run(empty, "SELECT places, stop, detail, engine FROM attempts ORDER BY id")
    assert first[:2] == (OLD_PLACES.replace("cards", "gpus"), OLD_STOP.replace("cards", "gpus"))
    assert second[:3] == ("[]", None, OLD_TALK)
    assert [first[3], second[3]] == ["local", "local"]
    events = [row[0] for row in run(empty, "SELECT data FROM events ORDER BY seq")]
    renamed = [text.replace("cards", "gpus") for text in (OLD_PLACED, OLD_STOP)]
    assert events == [*renamed, OLD_TALK]
    with pytest.raises(Exception, match="append-only"):
        run(empty, "UPDATE events SET data = '' WHERE seq = 1")
    store = Store.open(url)
    attempt, _ = await store.read(lambda tx: attempts_of(tx, "j1"))
    await store.close()
    assert attempt.places == (Placement("n1", (0, 1), ports=(5001,)),)
    assert (attempt.stop or {})["to"] == (Placement("n2", (3,), 500),)
    owned = run(empty, "SELECT DISTINCT installation FROM attempts")
    assert owned == run(empty, "SELECT value FROM meta WHERE key = 'installation'") != []


async def test_the_elements_of_an_old_array_share_one_spec(empty: Database, url: str) -> None:
    migrate.upgrade(empty, "0005")
    no = "0" if empty.dialect == "sqlite" else "false"
    for seq, (array, spec) in enumerate(
        [("'j1'", '{"a":1}'), ("'j1'", '{"a":1}'), ("'j1'", '{"a":2}'), ("NULL", '{"a":3}')], 1
    ):
        run(
            empty,
            f"INSERT INTO jobs VALUES ({seq}, 'j{seq}', 'al', 'x', {seq}, {array}, {seq}, "
            "'train', 'queued', NULL, 'default', NULL, 0, 1, NULL, NULL, NULL, 0, 0, 0, "
            f"{no}, '{{}}', '{spec}')",
        )
    migrate.prepare(empty)
    assert run(empty, "SELECT id, spec FROM specs") == [("j1", '{"a":1}')]
    stored = [row[0] for row in run(empty, "SELECT spec FROM jobs ORDER BY seq")]
    assert stored == ["", "", '{"a":2}', '{"a":3}']
    store = Store.open(url)
    rows = await store.read(active_jobs)
    await store.close()
    assert [row.spec["a"] for row in rows] == [1, 1, 2, 3]


async def test_an_installation_has_one_id(url: str) -> None:
    store = Store.open(url)
    made = await store.installation()
    assert made and await store.installation() == made
    await store.close()
    again = Store.open(url)
    assert await again.installation() == made
    await again.close()


def test_the_list_of_revisions_is_what_the_folder_holds() -> None:
    config = Config()
    config.set_main_option("script_location", migrate.MIGRATIONS)
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == migrate.REVISIONS


def test_preparing_again_changes_nothing(empty: Database) -> None:
    migrate.prepare(empty)
    before = schema(empty)
    migrate.prepare(empty)
    assert schema(empty) == before


def test_a_migrated_database_is_opened_as_it_is(empty: Database) -> None:
    migrate.upgrade(empty)
    migrate.prepare(empty)
    assert run(empty, "SELECT epoch FROM leader") == [(0,)]


def test_a_newer_database_is_refused_and_left_alone(empty: Database, url: str) -> None:
    migrate.prepare(empty)
    run(empty, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreNewer, match="newer Danlu") as refusal:
        Store.open(url)
    assert "9999" in refusal.value.message.en and "9999" in refusal.value.message.zh
    assert run(empty, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_a_database_of_another_program_is_refused(empty: Database, url: str) -> None:
    run(empty, "CREATE TABLE jobs (id INTEGER)")
    with pytest.raises(StoreError, match="another program"):
        Store.open(url)


def test_two_servers_may_prepare_the_same_database_at_once(url: str) -> None:
    program = "import sys; from danlu.store import Store; Store.open(sys.argv[1])"
    both = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(3)]
    assert [process.wait() for process in both] == [0, 0, 0]


def test_alembic_is_not_loaded_for_a_database_that_needs_no_migration(url: str) -> None:
    program = (
        "import sys; from danlu.store import Store; Store.open(sys.argv[1]);"
        "sys.exit('alembic' in sys.modules)"
    )
    for _ in ("new", "known"):
        assert subprocess.run([sys.executable, "-c", program, url]).returncode == 0


def test_psycopg_is_not_loaded_for_sqlite(tmp_path: Path) -> None:
    program = (
        "import sys; from danlu.store import Store; Store.open(sys.argv[1]);"
        "sys.exit('psycopg' in sys.modules)"
    )
    command = [sys.executable, "-c", program, f"sqlite:///{tmp_path}/danlu.db"]
    assert subprocess.run(command).returncode == 0


def test_a_url_nobody_knows_is_refused() -> None:
    with pytest.raises(StoreError, match="Unknown database: mysql"):
        Store.open("mysql://localhost/danlu")
    with pytest.raises(StoreError, match="names no file"):
        Store.open("sqlite://")
    with pytest.raises(StoreError, match="Invalid database URL"):
        Store.open("postgresql://localhost/danlu?colour=red")


def test_a_postgresql_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreAway, match="does not answer") as away:
        Store.open(f"postgresql://danlu:hunter2@/danlu?host={tmp_path}")
    assert "hunter2" not in away.value.message.en + away.value.message.zh


def test_a_missing_database_is_named(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match='"nowhere" does not exist'):
        Store.open(postgres.url_of("nowhere"))


def test_a_user_who_may_not_create_tables_is_told(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    postgres.sql("DROP ROLE IF EXISTS guest")
    postgres.sql("CREATE ROLE guest LOGIN")
    with pytest.raises(StoreError, match="may create tables"):
        Store.open(url.replace("danlu@", "guest@"))


@pytest.mark.parametrize("revision", migrate.REVISIONS[:-1])
def test_a_sqlite_database_is_copied_before_it_is_upgraded(tmp_path: Path, revision: str) -> None:
    db = database(f"sqlite:///{tmp_path}/danlu.db")
    db.create()
    migrate.upgrade(db, revision)
    migrate.prepare(db)
    assert run(db, "SELECT version_num FROM alembic_version") == [(migrate.REVISIONS[-1],)]
    (kept,) = tmp_path.glob("danlu.db.before-*")
    assert kept.stat().st_mode & 0o777 == 0o600
    before = database(f"sqlite:///{kept}")
    assert run(before, "SELECT version_num FROM alembic_version") == [(revision,)]
    migrate.prepare(db)
    assert list(tmp_path.glob("danlu.db.before-*")) == [kept]


def test_if_it_cannot_be_copied_nothing_is_upgraded(tmp_path: Path) -> None:
    db = database(f"sqlite:///{tmp_path}/danlu.db")
    db.create()
    migrate.upgrade(db, migrate.REVISIONS[-2])
    (tmp_path / f"danlu.db.before-{migrate.REVISIONS[-1]}").mkdir()
    with pytest.raises(StoreError):
        migrate.prepare(db)
    rows = run(db, "SELECT version_num FROM alembic_version")
    assert rows == [(migrate.REVISIONS[-2],)]
    assert list(tmp_path.glob("*.part")) == []
