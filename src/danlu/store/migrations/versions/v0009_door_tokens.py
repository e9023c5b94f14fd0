"""Tokens that browsers show at the doors of jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "door_tokens",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column(
            "token_id",
            sa.Text,
            sa.ForeignKey("tokens.id", name="door_tokens_token", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("task", sa.BigInteger, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_index("door_tokens_token_id", "door_tokens", ["token_id"])
    op.create_index("door_tokens_user_id", "door_tokens", ["user_id"])
