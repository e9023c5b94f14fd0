"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ACTIVE = "state IN ('queued', 'starting', 'running', 'stopping')"
KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

APPEND_ONLY = {
    "sqlite": (
        "CREATE TRIGGER events_no_update BEFORE UPDATE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
        "CREATE TRIGGER events_no_delete BEFORE DELETE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events are append-only' USING ERRCODE = '23514'; END $$",
        "CREATE TRIGGER events_no_change BEFORE UPDATE OR DELETE ON events "
        "FOR EACH ROW EXECUTE FUNCTION events_refuse()",
        "CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION events_refuse()",
    ),
}


def upgrade() -> None:
    _jobs()
    _attempts_and_events()
    _people()
    _own()
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
    op.execute("INSERT INTO leader (id, epoch, holder, at) VALUES (1, 0, '', 0)")


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("seq", KEY, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("array_id", sa.Text),
        sa.Column("array_index", sa.BigInteger),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("group", sa.Text),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("submitted_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("exit_code", sa.BigInteger),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("faults", sa.BigInteger, nullable=False),
        sa.Column("held", sa.Boolean, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.UniqueConstraint("id", name="jobs_id"),
    )
    reference = ("owner", "name", "number", "coalesce(array_index, -1)")
    op.create_index("jobs_ref", "jobs", [sa.text(part) for part in reference], unique=True)
    op.create_index("jobs_name", "jobs", ["name", "number"])
    op.create_index("jobs_owner", "jobs", ["owner", "seq"])
    op.create_index("jobs_state", "jobs", ["state", "seq"])
    _partial_index("jobs_active", "jobs", "seq", ACTIVE)
    _partial_index("jobs_array", "jobs", "array_id", "array_id IS NOT NULL")


def _attempts_and_events() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job_id", sa.Text, sa.ForeignKey("jobs.id", name="attempts_job"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("places", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("stop", sa.Text),
        sa.Column("tasks", sa.Text, nullable=False),
        sa.UniqueConstraint("job_id", "number", name="attempts_number"),
    )
    _partial_index("attempts_active", "attempts", "created_at", ACTIVE)
    op.create_table(
        "events",
        sa.Column("seq", KEY, primary_key=True, autoincrement=False),
        sa.Column("job_id", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("events_job", "events", ["job_id", "seq"])


def _people() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("must_change", sa.Boolean, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.UniqueConstraint("name", name="users_name"),
    )
    user = sa.ForeignKey("users.id", name="tokens_user", ondelete="CASCADE")
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_id", sa.Text, user, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("last_used_at", sa.Double),
        sa.UniqueConstraint("hash", name="tokens_hash"),
    )
    op.create_index("tokens_user_id", "tokens", ["user_id"])
    op.create_table(
        "secrets",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )


def _own() -> None:
    op.create_table(
        "meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "leader",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.CheckConstraint("id = 1", name="leader_one_row"),
    )
    op.create_table(
        "batches",
        sa.Column("writer", sa.Text, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )


def _partial_index(name: str, table: str, column: str, where: str) -> None:
    only = sa.text(where)
    op.create_index(name, table, [column], sqlite_where=only, postgresql_where=only)
