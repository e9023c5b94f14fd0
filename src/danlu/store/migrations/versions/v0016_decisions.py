"""Who decided about proposals of images and datasets, and when: their proposers are told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("images", sa.Column("decided_by", sa.Text, nullable=False, server_default=""))
    op.add_column("images", sa.Column("decided_at", sa.Double))
    op.add_column("datasets", sa.Column("decided_at", sa.Double))
