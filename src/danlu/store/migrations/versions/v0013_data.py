"""Bundles, datasets and their copies, speeds of volumes, uses of images, sizes of folders."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "bundles",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double, nullable=False),
    )
    op.create_table(
        "bundle_stores",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("counted_at", sa.Double, nullable=False),
    )
    op.create_table(
        "bundle_folders",
        sa.Column("job_id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("bundle", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("made_at", sa.Double, nullable=False),
    )
    op.create_table(
        "datasets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("volume", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("everywhere", sa.Boolean, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("licence", sa.Text, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("keeper", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("files", sa.BigInteger),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("measured_at", sa.Double),
        sa.Column("proposed_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "dataset_copies",
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("node", sa.Text, primary_key=True),
        sa.Column("volume", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.Column("detail_en", sa.Text, nullable=False),
        sa.Column("detail_zh", sa.Text, nullable=False),
    )
    op.create_table(
        "volume_speeds",
        sa.Column("volume", sa.Text, primary_key=True),
        sa.Column("read", sa.Double),
        sa.Column("write", sa.Double),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("measured_at", sa.Double, nullable=False),
    )
    op.create_table(
        "image_uses",
        sa.Column("runtime", sa.Text, primary_key=True),
        sa.Column("image", sa.Text, primary_key=True),
        sa.Column("used_at", sa.Double, nullable=False),
    )
    op.create_table(
        "folder_sizes",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("counted_at", sa.Double, nullable=False),
    )
    op.create_table(
        "storage_requests",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
