"""Value types of the service layer, for packages that must not import the store."""

from __future__ import annotations

from danlu.access.audit import words as audit_words
from danlu.control.log_search import Search
from danlu.control.rulebook import EVERYBODY, Kind
from danlu.control.totals import Count
from danlu.control.words import event_words
from danlu.files.shown import Shown
from danlu.store.errors import StoreError
from danlu.store.feed import Happening
from danlu.store.listing import SORTS
from danlu.store.rows import (
    AttemptRow,
    AuditRow,
    BundleRow,
    EnvironmentRow,
    EventRow,
    InviteRow,
    JobRow,
    RequestRow,
    SshKeyRow,
    StorageRequestRow,
    TokenRow,
    VolumeRow,
)

__all__ = [
    "EVERYBODY",
    "SORTS",
    "AttemptRow",
    "AuditRow",
    "BundleRow",
    "Count",
    "EnvironmentRow",
    "EventRow",
    "Happening",
    "InviteRow",
    "JobRow",
    "Kind",
    "RequestRow",
    "Search",
    "Shown",
    "SshKeyRow",
    "StorageRequestRow",
    "StoreError",
    "TokenRow",
    "VolumeRow",
    "audit_words",
    "event_words",
]
