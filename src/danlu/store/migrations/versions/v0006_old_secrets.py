"""Replaced and deleted values of secrets, which stay masked in logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "old_secrets",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("retired_at", sa.Double, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
