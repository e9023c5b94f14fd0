"""Persistence. `Store` opens the database; queries are grouped in one module per noun."""

from danlu.store.errors import (
    Deposed,
    StoreAway,
    StoreConflict,
    StoreError,
    StoreFull,
    StoreInDoubt,
    StoreNewer,
    StoreReadOnly,
)
from danlu.store.health import Health
from danlu.store.store import Store
from danlu.store.tx import Tx

__all__ = [
    "Deposed",
    "Health",
    "Store",
    "StoreAway",
    "StoreConflict",
    "StoreError",
    "StoreFull",
    "StoreInDoubt",
    "StoreNewer",
    "StoreReadOnly",
    "Tx",
]
