"""Environments: what people keep and start again under a name of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "environments",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("shared", sa.Text, nullable=False),
        sa.Column("job_id", sa.Text),
        sa.Column("saved_image", sa.Text),
        sa.UniqueConstraint("owner", "name", name="environments_name"),
    )
    op.create_index("environments_job", "environments", ["job_id"])
