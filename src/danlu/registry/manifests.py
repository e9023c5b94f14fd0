"""What the registry has to know of a manifest. Its bytes are kept as they came."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from danlu.registry.errors import Refusal
from danlu.registry.names import is_digest

LARGEST = 4 << 20
MOST_PARTS = 10_000
_ELSEWHERE = (".nondistributable.", ".foreign.")


@dataclass(frozen=True, slots=True)
class Document:
    type: str
    parts: tuple[str, ...] = ()  # blobs it names
    children: tuple[str, ...] = ()  # manifests it names
    subject: str | None = None  # of what it is a referrer
    artifact: str = ""
    annotations: dict[str, str] = field(default_factory=dict)


def read(body: bytes, media_type: str) -> Document:
    """`media_type`: as the request names it; may be empty. Raises Refusal."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise _invalid("it is not JSON") from None
    if not isinstance(values, dict) or values.get("schemaVersion") != 2:
        raise _invalid("schemaVersion must be 2")
    inside = values.get("mediaType")
    if inside is not None and media_type and inside != media_type:
        raise _invalid("its mediaType is not the Content-Type of the request")
    kind = media_type or inside
    if not isinstance(kind, str) or not kind.isascii() or len(kind) > 255:
        raise _invalid("its media type is missing")
    config = values.get("config")
    layers = _descriptors(values, "layers")
    named = [*([] if config is None else [_descriptor(config)]), *layers]
    parts = [each["digest"] for each in named if not _is_elsewhere(each)]
    children = [each["digest"] for each in _descriptors(values, "manifests")]
    if len(parts) + len(children) > MOST_PARTS:
        raise _invalid(f"it names more than {MOST_PARTS} blobs")
    subject = values.get("subject")
    return Document(
        kind,
        tuple(dict.fromkeys(parts)),
        tuple(dict.fromkeys(children)),
        None if subject is None else _descriptor(subject)["digest"],
        _artifact(values, config),
        _annotations(values.get("annotations")),
    )


def _descriptors(values: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = values.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise _invalid(f"{key} is not a list")
    return [_descriptor(each) for each in found]


def _descriptor(value: object) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("digest"), str):
        raise _invalid("a descriptor has no digest")
    if not is_digest(value["digest"]):
        raise _invalid("the digest of a descriptor is not sha256 or sha512")
    return value


def _is_elsewhere(descriptor: dict[str, Any]) -> bool:
    """Layers that may not be distributed need not be here."""
    return any(mark in str(descriptor.get("mediaType", "")) for mark in _ELSEWHERE)


def _artifact(values: dict[str, Any], config: object) -> str:
    kind = values.get("artifactType")
    if not isinstance(kind, str) or not kind:
        kind = config.get("mediaType") if isinstance(config, dict) else None
    if not isinstance(kind, str):
        return ""
    if not kind.isascii():
        raise _invalid("its artifactType is not a media type")
    return kind[:255]


def _annotations(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): text for key, text in value.items() if isinstance(text, str)}


def _invalid(why: str) -> Refusal:
    return Refusal(400, "MANIFEST_INVALID", f"not a valid manifest: {why}")
