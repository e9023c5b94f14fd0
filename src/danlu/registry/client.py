"""A small client of the registry, for what the server itself puts there or reads. Blocking."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

_PATIENCE = 300.0
MANIFESTS = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1",
        "oci.image.manifest.v1",
        "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2",
    )
)


class Refused(Exception):
    """`code`: as the registry says: DENIED, MANIFEST_UNKNOWN, ... `status`: 0: no answer."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Client:
    """One connection, for one thread. Close it, or use it with `with`."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        self._http: http.client.HTTPConnection
        if parts.scheme == "https":
            self._http = http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=tls)
        else:
            self._http = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
        self._token = token

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # -- blobs -------------------------------------------------------------------------------

    def has_blob(self, repository: str, digest: str) -> int | None:
        """Its size. It stays for the registry's grace, an hour, also if nothing names it."""
        answer = self._ask("HEAD", f"/v2/{repository}/blobs/{digest}", also=(404,))
        return None if answer.status == 404 else int(answer.headers["content-length"])

    def mount(self, repository: str, digest: str, source: str) -> bool:
        """Takes a blob over from a repository that the token may pull. False: upload it."""
        query = urlencode({"mount": digest, "from": source})
        answer = self._ask("POST", f"/v2/{repository}/blobs/uploads/?{query}")
        if answer.status == 201:
            return True
        self._ask("DELETE", str(answer.headers["location"]), also=(404,))
        return False

    def upload(self, repository: str) -> BlobUpload:
        """Of any length, a piece at a time:

        with client.upload("alice/x") as upload:
            for piece in pieces:
                upload.append(piece)
            digest = upload.commit()
        """
        return BlobUpload(self, repository)

    def put_blob(self, repository: str, content: bytes) -> str:
        with self.upload(repository) as upload:
            upload.append(content)
            return upload.commit()

    def read_blob(self, repository: str, digest: str, piece: int = 1 << 20) -> Iterator[bytes]:
        answer = self._send("GET", f"/v2/{repository}/blobs/{digest}")
        if answer.status != 200:
            raise _refused(answer)
        while found := answer.read(piece):
            yield found

    # -- manifests ---------------------------------------------------------------------------

    def put_manifest(self, repository: str, reference: str, body: bytes, media_type: str) -> str:
        """Returns the digest."""
        path = f"/v2/{repository}/manifests/{quote(reference, safe=':')}"
        answer = self._ask("PUT", path, body, {"content-type": media_type})
        return str(answer.headers["docker-content-digest"])

    def manifest(self, repository: str, reference: str) -> tuple[bytes, str, str]:
        """The bytes, their media type and digest."""
        path = f"/v2/{repository}/manifests/{quote(reference, safe=':')}"
        answer = self._send("GET", path, headers={"accept": MANIFESTS})
        if answer.status != 200:
            raise _refused(answer)
        headers = answer.headers
        body = answer.read()
        return body, str(headers["content-type"]), str(headers["docker-content-digest"])

    def delete_manifest(self, repository: str, reference: str) -> None:
        """By tag: only the tag."""
        self._ask("DELETE", f"/v2/{repository}/manifests/{quote(reference, safe=':')}")

    # -- requests ----------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        also: tuple[int, ...] = (),
    ) -> http.client.HTTPResponse:
        answer = self._send(method, path, body, headers)
        if answer.status >= 300 and answer.status not in also:
            raise _refused(answer)
        answer.read()
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        try:
            own = {"authorization": f"Bearer {self._token}"}
            self._http.request(method, path, body, own | (headers or {}))
            return self._http.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Refused(0, "UNAVAILABLE", f"the registry does not answer: {error}") from None


class BlobUpload:
    def __init__(self, client: Client, repository: str) -> None:
        self._client = client
        self._hash = hashlib.sha256()
        self.size = 0
        answer = client._ask("POST", f"/v2/{repository}/blobs/uploads/")
        self._at: str | None = str(answer.headers["location"])

    def __enter__(self) -> BlobUpload:
        return self

    def __exit__(self, *_: object) -> None:
        if self._at is not None:  # not committed
            with contextlib.suppress(Refused):
                self._client._ask("DELETE", self._at, also=(404,))

    def append(self, piece: bytes) -> None:
        """A request each: pieces of about a megabyte or more. Raises Refused."""
        if self._at is None:
            raise ValueError("this upload is over")
        self._hash.update(piece)
        where = f"{self.size}-{self.size + len(piece) - 1}"
        headers = {"content-type": "application/octet-stream", "content-range": where}
        answer = self._client._ask("PATCH", self._at, piece, headers)
        self.size += len(piece)
        self._at = str(answer.headers["location"])

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def commit(self) -> str:
        """On disk, and in the repository, when this returns. Returns the digest."""
        if self._at is None:
            raise ValueError("this upload is over")
        joint = "&" if "?" in self._at else "?"
        self._client._ask("PUT", f"{self._at}{joint}{urlencode({'digest': self.digest})}", b"")
        self._at = None
        return self.digest


def _refused(answer: http.client.HTTPResponse) -> Refused:
    body = answer.read()
    code, message = "", f"the registry answers {answer.status}"
    with contextlib.suppress(ValueError, LookupError, TypeError):
        first: dict[str, Any] = json.loads(body)["errors"][0]
        code, message = str(first["code"]), str(first["message"])
    return Refused(answer.status, code, message)
