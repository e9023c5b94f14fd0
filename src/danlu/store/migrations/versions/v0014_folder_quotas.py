"""How much people and groups may keep in their folders."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "folder_quotas",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("at", sa.Double, nullable=False),
    )
