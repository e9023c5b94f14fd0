"""Images of any size as a folder (OCI layout), of random files whose hashes are known."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support.images import CONFIG, LAYER, MANIFEST, digest_of, part

_PIECE = 1 << 20


@dataclass(frozen=True)
class Layout:
    folder: Path
    files: dict[str, str]  # name -> sha256 of what the image has there
    size: int

    def found_in(self, tar: IO[bytes]) -> dict[str, str]:
        """The same of a whole file system, as a runtime exports it."""
        found = {}
        with tarfile.open(fileobj=tar, mode="r|") as entries:
            for entry in entries:
                if entry.name.strip("./") in self.files and (content := entries.extractfile(entry)):
                    digest = hashlib.file_digest(content, "sha256")  # type: ignore[arg-type]
                    found[entry.name.strip("./")] = digest.hexdigest()
        return found


def random_image(folder: Path, *sizes: int, tag: str = "1") -> Layout:
    """One layer of each size."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    files, layers = {}, []
    for number, size in enumerate(sizes):
        name = f"noise{number}"
        files[name], layer = _layer(blobs, name, size)
        layers.append(layer)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    diffs = {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]}
    config = {"architecture": machine, "os": "linux", "config": {"Cmd": ["/none"]}, "rootfs": diffs}
    parts = {"config": _keep(blobs, CONFIG, config), "layers": layers}
    manifest = _keep(blobs, MANIFEST, {"schemaVersion": 2, "mediaType": MANIFEST, **parts})
    manifest["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return Layout(folder, files, sum(layer["size"] for layer in layers))


def _layer(blobs: Path, name: str, size: int) -> tuple[str, dict[str, object]]:
    """A tar of one file, written once and never held in memory."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    content, whole, written = hashlib.sha256(), hashlib.sha256(), 0
    draft = blobs / "draft"
    with draft.open("wb") as file:

        def write(piece: bytes) -> None:
            nonlocal written
            whole.update(piece)
            written += file.write(piece)

        write(entry.tobuf())
        for at in range(0, size, _PIECE):
            piece = os.urandom(min(_PIECE, size - at))
            content.update(piece)
            write(piece)
        write(bytes(-written % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE))
    digest = whole.hexdigest()
    draft.rename(blobs / digest)
    layer = {"mediaType": LAYER, "digest": f"sha256:{digest}", "size": written}
    return content.hexdigest(), layer


def _keep(blobs: Path, kind: str, value: object) -> dict[str, object]:
    text = json.dumps(value).encode()
    (blobs / digest_of(text).partition(":")[2]).write_bytes(text)
    return part(kind, text)
