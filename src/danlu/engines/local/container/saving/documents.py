"""The documents of an image: its configuration and manifest, written by ourselves.

Docker's and Podman's own commit would keep the holder as entrypoint, our labels and variables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
_OCI = "application/vnd.oci.image.manifest.v1+json"
_LAYERS = {
    DOCKER: "application/vnd.docker.image.rootfs.diff.tar.gzip",
    _OCI: "application/vnd.oci.image.layer.v1.tar+gzip",
}
_CONFIGS = {
    DOCKER: "application/vnd.docker.container.image.v1+json",
    _OCI: "application/vnd.oci.image.config.v1+json",
}
_RUNTIMES_OWN = frozenset(
    {
        *("Hostname", "Domainname", "AttachStdin", "AttachStdout", "AttachStderr", "Tty"),
        *("OpenStdin", "StdinOnce", "Image", "MacAddress", "NetworkDisabled"),
    }
)


def chain_of(diff_ids: Sequence[str]) -> str:
    """A key for these layers in this order."""
    return hashlib.sha256(",".join(diff_ids).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Base:
    """An image in the registry that begins with the layers of a container."""

    media_type: str
    layers: list[Json]  # descriptors
    config: Json  # its whole configuration, for these layers only

    @property
    def diff_ids(self) -> list[str]:
        return list(self.config["rootfs"]["diff_ids"])


def read_base(manifest: bytes, media_type: str, config: bytes, diff_ids: list[str]) -> Base | None:
    """None: it is another image, or none we can build on."""
    try:
        document, found = json.loads(manifest), json.loads(config)
        layers, theirs = list(document["layers"]), list(found["rootfs"]["diff_ids"])
    except (ValueError, LookupError, TypeError):
        return None
    media_type = str(document.get("mediaType") or media_type)
    if media_type not in _LAYERS or theirs[: len(diff_ids)] != diff_ids:
        return None
    if len(theirs) != len(layers):
        return None
    count = len(diff_ids)
    found["rootfs"] = {"type": "layers", "diff_ids": diff_ids}
    if "history" in found:
        found["history"] = _history(found["history"], count)
    return Base(media_type, layers[:count], found)


def _history(entries: list[Json], layers: int) -> list[Json]:
    """As far as these layers go."""
    kept: list[Json] = []
    for entry in entries:
        if not entry.get("empty_layer"):
            if layers == 0:
                break
            layers -= 1
        kept.append(entry)
    return kept


def plain_config(inspected: Mapping[str, Any]) -> Json:
    """The `config` of an image as its runtime tells it, without what is no part of an image."""
    found = dict(inspected.get("Config") or {})
    return {
        key: value for key, value in found.items() if key not in _RUNTIMES_OWN and value is not None
    }


@dataclass(frozen=True, slots=True)
class Documents:
    config: bytes
    manifest: bytes
    media_type: str


def with_layer(
    base: Base, config: Json, diff_id: str, digest: str, size: int, author: str
) -> Documents:
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    whole = {**base.config, "config": config, "created": at}
    whole.pop("container", None)
    whole.pop("container_config", None)
    whole["rootfs"] = {"type": "layers", "diff_ids": [*base.diff_ids, diff_id]}
    if "history" in whole:
        made = {"created": at, "created_by": "danlu save", "author": author}
        whole["history"] = [*whole["history"], made]
    layer = {"mediaType": _LAYERS[base.media_type], "digest": digest, "size": size}
    return _documents(whole, [*base.layers, layer], base.media_type)


def with_config(base: Base, config: Json) -> Documents:
    """The same layers under another configuration."""
    whole = {**base.config, "config": config}
    whole.pop("container", None)
    whole.pop("container_config", None)
    return _documents(whole, base.layers, base.media_type)


def _documents(whole: Json, layers: list[Json], media_type: str) -> Documents:
    body = json.dumps(whole, separators=(",", ":")).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": {
            "mediaType": _CONFIGS[media_type],
            "digest": f"sha256:{hashlib.sha256(body).hexdigest()}",
            "size": len(body),
        },
        "layers": layers,
    }
    return Documents(body, json.dumps(manifest, separators=(",", ":")).encode(), media_type)
