"""Small images for the platform's registry, pushed as the spec says."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import urllib.request
from typing import Any
from urllib.parse import urlencode

from danlu.registry.client import Client
from tests.support.registry import layer
from tests.support.server import PATIENCE, DanluServer

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
ALL = "pull,push,delete"


def token_for(url: str, name: str, password: str, *scopes: str) -> str:
    """Raises HTTPError."""
    query = urlencode({"service": "danlu-registry", "scope": list(scopes)}, doseq=True)
    request = urllib.request.Request(f"{url}/token?{query}")
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    request.add_header("Authorization", f"Basic {pair}")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return str(json.loads(answer.read())["token"])


def pusher(
    server: DanluServer, name: str, password: str, *repositories: str, actions: str = ALL
) -> Client:
    url = f"http://{server.images}"
    scopes = [f"repository:{each}:{actions}" for each in repositories]
    return Client(url, token_for(url, name, password, *scopes))


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def part(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest_of(content), "size": len(content)}


def manifest(config: bytes, *layers: bytes, **more: Any) -> bytes:
    values = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": part(CONFIG, config),
        "layers": [part(LAYER, each) for each in layers],
        **more,
    }
    return json.dumps(values).encode()


def config_of(*layers: bytes) -> bytes:
    return json.dumps(
        {
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine],
            "os": "linux",
            "config": {"Env": ["FROM_IMAGE=yes"]},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(each) for each in layers]},
        }
    ).encode()


def push_small(client: Client, repository: str, tag: str = "1", text: str = "") -> str:
    """An image of one small file; returns its digest."""
    content = layer(hello=text or os.urandom(8).hex())
    config = config_of(content)
    for each in (content, config):
        client.put_blob(repository, each)
    return client.put_manifest(repository, tag, manifest(config, content), MANIFEST)
