"""Run by Alembic, inside the transaction that `danlu.store.migrate` has opened."""

from __future__ import annotations

from alembic import context

from danlu.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
