"""A certificate for this machine's own names, made by openssl."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.parts import need


@dataclass(frozen=True)
class Certificate:
    cert: Path
    key: Path

    @property
    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context

    @property
    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.cert))


def make_certificate(folder: Path) -> Certificate:
    need("openssl")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    others = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"
    names = ["-subj", "/CN=localhost", "-addext", others]
    files = ["-keyout", made.key, "-out", made.cert]
    subprocess.run([*words, *names, *files], check=True, capture_output=True)
    return made
