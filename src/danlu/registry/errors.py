"""What the registry refuses, as the distribution spec has it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from danlu.spec.text import Text

Headers = Sequence[tuple[str, str]]


class Refusal(Exception):
    """`code`: one of the spec's. Docker shows the message of 403 DENIED and of 404, and retries
    what is 5xx: a full quota and a full disk are 403, never 507."""

    def __init__(self, status: int, code: str, message: str, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = list(headers)

    @property
    def body(self) -> bytes:
        return json.dumps({"errors": [{"code": self.code, "message": self.message}]}).encode()


def denied(text: Text) -> Refusal:
    """In both languages: clients of the registry say nothing about theirs."""
    return Refusal(403, "DENIED", f"{text.en} / {text.zh}")


def unknown_blob(digest: str) -> Refusal:
    return Refusal(404, "BLOB_UNKNOWN", f"there is no blob {digest} in this repository")


def unknown_manifest(repository: str, reference: str) -> Refusal:
    joint = "@" if ":" in reference else ":"
    return Refusal(404, "MANIFEST_UNKNOWN", f"there is no {repository}{joint}{reference} here")


def unknown_upload() -> Refusal:
    return Refusal(404, "BLOB_UPLOAD_UNKNOWN", "no such upload; begin it again")


def bad_digest(text: str) -> Refusal:
    return Refusal(400, "DIGEST_INVALID", f"{text[:100]!r} is not a sha256 or sha512 digest")
