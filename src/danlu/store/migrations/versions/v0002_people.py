"""People: groups and their leaders, sign-up, scoped tokens, the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

APPEND_ONLY = {
    "sqlite": (
        "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END",
        "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'audit is append-only' USING ERRCODE = '23514'; END $$",
        "CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_refuse()",
        "CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()",
    ),
}


def upgrade() -> None:
    _users_and_tokens()
    _groups()
    _sign_up()
    _audit()
    only = sa.text('"group" IS NOT NULL')
    op.create_index(
        "jobs_group", "jobs", ["group", "seq"], sqlite_where=only, postgresql_where=only
    )


def _users_and_tokens() -> None:
    _add("users", "status", "active")
    _add("users", "full_name", "")
    op.add_column("users", sa.Column("uid", sa.BigInteger))
    op.add_column("users", sa.Column("gid", sa.BigInteger))
    op.create_index("users_uid", "users", ["uid"], unique=True)
    op.execute("UPDATE users SET status = 'disabled' WHERE disabled")
    op.drop_column("users", "disabled")
    _add("tokens", "scope", "all")
    _add("tokens", "kind", "session")
    _add("tokens", "address", "")
    op.execute("UPDATE tokens SET kind = 'machine' WHERE label = 'this machine'")


def _groups() -> None:
    op.create_table(
        "groups",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("gid", sa.BigInteger),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="groups_name"),
    )
    op.create_index("groups_gid", "groups", ["gid"], unique=True)
    user = sa.ForeignKey("users.id", name="members_user")
    group = sa.ForeignKey("groups.id", name="members_group")
    op.create_table(
        "members",
        sa.Column("user_id", sa.Text, user, primary_key=True),
        sa.Column("group_id", sa.Text, group, primary_key=True),
        sa.Column("leader", sa.Boolean, nullable=False),
        sa.Column("joined_at", sa.Double, nullable=False),
    )
    op.create_index("members_group_id", "members", ["group_id"])


def _sign_up() -> None:
    op.create_table(
        "requests",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("full_name", sa.Text, nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("group", sa.Text),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="requests_name"),
    )
    op.create_table(
        "invites",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
        sa.Column("group_id", sa.Text, sa.ForeignKey("groups.id", name="invites_group")),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("uses", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.UniqueConstraint("hash", name="invites_hash"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", KEY, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("act", sa.Text, nullable=False),
        sa.Column("thing", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
    )
    op.create_index("audit_actor", "audit", ["actor", "seq"])
    op.create_index("audit_thing", "audit", ["thing", "seq"])
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)


def _add(table: str, name: str, value: str) -> None:
    column = sa.Column(name, sa.Text, nullable=False, server_default=sa.text(f"'{value}'"))
    op.add_column(table, column)
