"""The catalogue of images, checks of them, and containers saved as images."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "images",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("ready", sa.Boolean, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("proposal", sa.Text, nullable=False),
        sa.Column("proposal_note", sa.Text, nullable=False),
        sa.Column("inside", sa.Text, nullable=False),
        sa.UniqueConstraint("owner", "name", name="images_name"),
    )
    op.create_table(
        "image_checks",
        sa.Column("image", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("check", sa.Text, primary_key=True),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("detail_en", sa.Text, nullable=False),
        sa.Column("detail_zh", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
    )
    op.create_table(
        "image_saves",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("attempt_id", sa.Text, nullable=False),
        sa.Column("task", sa.Integer, nullable=False),
        sa.Column("environment", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("image", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("stop", sa.Boolean, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("done", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("error_en", sa.Text, nullable=False),
        sa.Column("error_zh", sa.Text, nullable=False),
    )
    op.create_index("image_saves_owner", "image_saves", ["owner", "created_at"])
    op.create_table(
        "image_chains",
        sa.Column("chain", sa.Text, primary_key=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "image_layers",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("packages", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
