"""A real image registry of our own, with images put straight into its storage."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.parts import need
from tests.support.server import free_port

USER, PASSWORD = "lab", "s3cret"
# bcrypt, with as few rounds as there may be.
_HTPASSWD = f"{USER}:$2b$04$6xH6xOg31Xr.r2.szkSRoOgKY0QFbaEM5./IH/iBzG5q8sX5xaeoe\n"


_LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass
class Added:
    """Digests of an image and its layers."""

    manifest: str
    layers: list[str]


class Registry:
    """start, stop; `host` is what images are named after."""

    def __init__(self, password: bool = False) -> None:
        self._program = need("docker-registry")
        self.host = f"127.0.0.1:{free_port()}"
        self._folder = Path(tempfile.mkdtemp(prefix="danlu-registry-"))
        self._process: subprocess.Popen[bytes] | None = None
        config = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(self._folder / "data")}},
            "http": {"addr": self.host},
        }
        if password:
            (self._folder / "htpasswd").write_text(_HTPASSWD)
            entry = {"realm": "lab", "path": str(self._folder / "htpasswd")}
            config["auth"] = {"htpasswd": entry}
        (self._folder / "config.yml").write_text(json.dumps(config))

    def start(self) -> Registry:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "serve", str(self._folder / "config.yml")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 180
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://{self.host}/v2/", timeout=5).close()
            except urllib.error.HTTPError:
                pass  # it wants a password
            except OSError:
                time.sleep(0.02)
                continue
            return self
        raise TimeoutError(f"the registry did not start: {self.log()[-2000:]}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def slow(self) -> Iterator[Callable[[], None]]:
        """It stands still, but for a moment each time it is called: what asks here sees it all."""
        assert self._process is not None
        process = self._process

        def a_moment() -> None:
            process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)

        process.send_signal(signal.SIGSTOP)
        try:
            yield a_moment
        finally:
            process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / "log").read_text(errors="replace")
        return ""

    def fetched(self, digest: str) -> int:
        """How often a blob was asked for."""
        return self.log().count(f'"GET /v2/{self._name}/blobs/{digest} ')

    def add(self, name: str, layers: list[Path | bytes], tag: str = "1") -> Added:
        """An image of these layers (tar files)."""
        self._name = name
        found = [self._blob(layer) for layer in layers]
        config = json.dumps(
            {
                "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine],
                "os": "linux",
                "config": {"Env": ["FROM_IMAGE=yes"]},
                "rootfs": {"type": "layers", "diff_ids": [digest for digest, _ in found]},
            }
        ).encode()
        digest, size = self._blob(config)
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": _part("application/vnd.oci.image.config.v1+json", digest, size),
                "layers": [
                    _part("application/vnd.oci.image.layer.v1.tar", *each) for each in found
                ],
            }
        ).encode()
        revision, _ = self._blob(manifest)
        place = self._root / "repositories" / name
        for each, _ in [*found, (digest, size)]:
            _link(place / "_layers", each)
        _link(place / "_manifests/revisions", revision)
        _link(place / "_manifests/tags" / tag / "index", revision)
        current = place / "_manifests/tags" / tag / "current"
        current.mkdir(parents=True, exist_ok=True)
        (current / "link").write_text(revision)
        return Added(revision, [each for each, _ in found])

    @property
    def _root(self) -> Path:
        return self._folder / "data/docker/registry/v2"

    def _blob(self, data: Path | bytes) -> tuple[str, int]:
        """A file is moved there: it may be large."""
        if isinstance(data, bytes):
            name = hashlib.sha256(data).hexdigest()
        else:
            with data.open("rb") as file:
                name = hashlib.file_digest(file, "sha256").hexdigest()
        place = self._root / "blobs/sha256" / name[:2] / name
        place.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            (place / "data").write_bytes(data)
        else:
            shutil.move(data, place / "data")
        return f"sha256:{name}", (place / "data").stat().st_size


def _part(kind: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": kind, "digest": digest, "size": size}


def _link(place: Path, digest: str) -> None:
    folder = place / digest.replace(":", "/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link").write_text(digest)


def layer(**files: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def large_layer(path: Path, name: str, size: int) -> Path:
    """One file of zeros that takes no room on the disk until somebody fetches it."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    with path.open("wb") as file:
        file.write(entry.tobuf())
        file.truncate(512 + -(-size // 512) * 512 + 1024)
    return path
