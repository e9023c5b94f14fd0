"""The same SSH key may belong to several users, so that nobody can take another's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_COLUMNS = ("id", "owner", "label", "fingerprint", "line", "created_at")


def upgrade() -> None:
    """By a new table: SQLite cannot drop a constraint."""
    before = sa.table("ssh_keys", *map(sa.column, _COLUMNS))
    rows = op.get_bind().execute(sa.select(before)).all()
    op.drop_table("ssh_keys")
    made = op.create_table(
        "ssh_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("line", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.UniqueConstraint("owner", "fingerprint", name="ssh_keys_owner_fingerprint"),
    )
    op.create_index("ssh_keys_owner", "ssh_keys", ["owner"])
    if rows:
        op.bulk_insert(made, [dict(zip(_COLUMNS, row, strict=True)) for row in rows])
