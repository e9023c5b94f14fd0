"""The registry with a certificate of one's own, as the guide says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from danlu.registry.client import Client, Refused
from tests.support.certificates import Certificate, make_certificate
from tests.support.parts import need
from tests.support.server import PATIENCE, DanluServer, free_port

CONFIG = """
[uids]
range = "2100000000-2100099999"

[registry]
port = {port}
free = "1M"
tls_cert = "{cert}"
tls_key = "{key}"
"""


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
def server(tmp_path: Path, certificate: Certificate) -> Iterator[DanluServer]:
    certificate.key.chmod(0o600)  # root's, as usual; the registry is not root
    words = CONFIG.format(port=free_port(), cert=certificate.cert, key=certificate.key)
    server = DanluServer(tmp_path / "data", words)
    server.start()
    yield server
    server.cleanup()


def test_clients_that_know_the_certificate_push_and_pull(
    server: DanluServer, certificate: Certificate, tmp_path: Path
) -> None:
    url = f"https://{server.images}"
    answer = httpx.get(f"{url}/v2/", verify=certificate.client, trust_env=False)
    assert answer.headers["www-authenticate"].startswith(f'Bearer realm="{url}/token"')
    answer = httpx.get(
        f"{url}/token",
        params={"scope": "repository:ready/x:pull,push"},
        auth=("admin", server.token),
        verify=certificate.client,
        trust_env=False,
        timeout=PATIENCE,
    )
    with Client(url, answer.json()["token"], certificate.client) as client:
        digest = client.put_blob("ready/x", b"over TLS" * 100_000)
        assert b"".join(client.read_blob("ready/x", digest)) == b"over TLS" * 100_000
    with Client(url, answer.json()["token"]) as stranger, pytest.raises(Refused):
        stranger.has_blob("ready/x", digest)
    skopeo = need("skopeo")
    folder = tmp_path / "certs"
    folder.mkdir()
    (folder / "ca.crt").write_bytes(certificate.cert.read_bytes())
    image = f"docker://{server.images}/ready/x"
    command = [skopeo, "list-tags", "--creds", f"admin:{server.token}"]
    known = [*command, "--cert-dir", str(folder), image]
    done = subprocess.run(known, check=False, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    unknown = subprocess.run([*command, image], check=False, capture_output=True, timeout=PATIENCE)
    assert unknown.returncode != 0
