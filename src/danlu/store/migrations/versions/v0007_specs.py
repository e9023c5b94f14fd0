"""The elements of an array share one stored spec."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "specs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("spec", sa.Text, nullable=False),
    )
    op.execute(
        "INSERT INTO specs (id, spec) SELECT array_id, min(spec) FROM jobs "
        "WHERE array_id IS NOT NULL GROUP BY array_id"
    )
    op.execute(
        "UPDATE jobs SET spec = '' WHERE array_id IS NOT NULL AND spec = "
        "(SELECT specs.spec FROM specs WHERE specs.id = jobs.array_id)"
    )
