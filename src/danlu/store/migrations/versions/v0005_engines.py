"""Attempts record their engine and installation; GPUs are called GPUs.

Earlier versions stored the GPUs of a placement as `cards`.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

# Only a key of a JSON object can look like this: inside a string the quotes would be escaped.
OLD, NEW = '"cards":', '"gpus":'

# Events are append-only. This changes how they are written, not what they say.
UNLOCK = {
    "sqlite": "DROP TRIGGER events_no_update",
    "postgresql": "ALTER TABLE events DISABLE TRIGGER events_no_change",
}
LOCK = {
    "sqlite": "CREATE TRIGGER events_no_update BEFORE UPDATE ON events "
    "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
    "postgresql": "ALTER TABLE events ENABLE TRIGGER events_no_change",
}


def upgrade() -> None:
    for name in ("handle", "installation", "engine"):
        column = sa.Column(name, sa.Text, nullable=False, server_default=sa.text("''"))
        op.add_column("attempts", column)
    installation = _installation()
    op.execute(
        sa.text("UPDATE attempts SET engine = 'local', installation = :id").bindparams(
            id=installation
        )
    )
    _rename("attempts", "places")
    _rename("attempts", "stop")
    dialect = op.get_bind().dialect.name
    op.execute(UNLOCK[dialect])
    _rename("events", "data", "kind IN ('placed', 'stop_requested')")
    op.execute(LOCK[dialect])


def _installation() -> str:
    made = str(uuid.uuid4())
    op.execute(
        sa.text("INSERT INTO meta (key, value) VALUES ('installation', :id)").bindparams(id=made)
    )
    return made


def _rename(table: str, column: str, where: str = "1 = 1") -> None:
    change = sa.text(
        f"UPDATE {table} SET {column} = replace({column}, :old, :new) "  # noqa: S608
        f"WHERE {where} AND {column} LIKE :pattern"
    )
    op.execute(change.bindparams(old=OLD, new=NEW, pattern=f"%{OLD}%"))
