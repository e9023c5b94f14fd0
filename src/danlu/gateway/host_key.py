"""The SSH door's host key: made once, so that clients see the same host after a restart."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import subprocess
import sys
from pathlib import Path

NAME = "host_ed25519"
_MAGIC = b"openssh-key-v1\0"


def made(folder: Path) -> Path:
    path = folder / NAME
    if not path.exists():
        # In another process: the server would keep cryptography in memory, 10 MB, from then on.
        words = [sys.executable, "-I", "-m", __spec__.name, str(folder)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


def fingerprint(folder: Path) -> str:
    """As clients show it. Raises ValueError: the file holds something else."""
    lines = made(folder).read_text(encoding="ascii").split("\n")
    blob = base64.b64decode("".join(line for line in lines if not line.startswith("-----")))
    if not blob.startswith(_MAGIC):
        raise ValueError("not a private key as ssh-keygen writes it")
    rest = blob[len(_MAGIC) :]
    for _ in range(3):  # cipher, how its key is derived, and with what
        _, rest = _field(rest)
    public, _ = _field(rest[4:])  # after the number of keys
    digest = base64.b64encode(hashlib.sha256(public).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


def _field(data: bytes) -> tuple[bytes, bytes]:
    end = 4 + int.from_bytes(data[:4], "big")
    if not 4 < end <= len(data) and data[:4] != bytes(4):
        raise ValueError("a private key that is cut off")
    return data[4:end], data[end:]


def _make(folder: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    draft = folder / f"{NAME}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(fd)
    # Server and gateway may both come here: the first one's key stays.
    with contextlib.suppress(FileExistsError):
        os.link(draft, folder / NAME)
    draft.unlink()


if __name__ == "__main__":
    _make(Path(sys.argv[1]))
