"""The certificate of the doors: the admin's, or one made at the first start."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from danlu.gateway.web.settings import WebSettings

FILE = "web.pem"  # certificate and key
_LASTS = datetime.timedelta(days=825)  # as long as browsers accept
_RENEWED = datetime.timedelta(days=60)  # before it ends


class Certificates:
    def __init__(self, folder: Path, settings: WebSettings) -> None:
        self._settings = settings
        self._own = folder / FILE
        self._cert = Path(settings.cert) if settings.cert else self._own
        self._key = settings.key or None
        self._context: ssl.SSLContext | None = None
        self._until = _now()
        self._made = 0  # when the file was written that the context was made from

    def context(self) -> ssl.SSLContext:
        """A certificate that the admin has renewed counts at once. Raises OSError."""
        if not self._settings.cert and not self._is_good():
            self._make()
        written = self._cert.stat().st_mtime_ns
        if self._context is None or written != self._made:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._cert, self._key)
            context.set_alpn_protocols(["http/1.1"])
            self._context, self._made = context, written
        return self._context

    def _is_good(self) -> bool:
        if self._context is not None and self._until > _now():
            return True
        try:
            cert = x509.load_pem_x509_certificate(self._own.read_bytes())
        except (OSError, ValueError):
            return False
        self._until = cert.not_valid_after_utc - _RENEWED
        return self._until > _now() and set(_names(cert)) >= set(_needed(self._settings))

    def _make(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Danlu")])
        now = _now()
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + _LASTS)
            .add_extension(
                x509.SubjectAlternativeName([_name(each) for each in _wanted(self._settings)]),
                critical=False,
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        )
        cert = builder.sign(key, hashes.SHA256())
        pem = cert.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        draft = self._own.with_suffix(f".{os.getpid()}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            file.write(pem)
            os.fsync(fd)
        draft.rename(self._own)
        self._until = cert.not_valid_after_utc - _RENEWED


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _needed(settings: WebSettings) -> set[str]:
    """The names under which browsers come here."""
    names = {"localhost", "127.0.0.1", "::1", *settings.names} - {"0.0.0.0", ""}  # noqa: S104
    return names | ({f"*.{settings.domain}"} if settings.domain else set())


def _wanted(settings: WebSettings) -> list[str]:
    """And the addresses of the machine, which may change: that alone makes no new certificate."""
    wanted = _needed(settings)
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
        wanted |= {str(each[4][0]).partition("%")[0] for each in found}
    return sorted(wanted)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names(cert: x509.Certificate) -> list[str]:
    try:
        found = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in found]
