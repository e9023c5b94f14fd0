"""Uploads by tus 1.0: creation, creation-with-upload, termination, checksum, expiration.

They are in the guide instead of the OpenAPI document: clients know the protocol.

The id of an upload says everything about it (target, size, what to do if the name is taken), and
the offset is the size of the file it is kept in: neither needs a table. An id is no right: whatever
it says is done as the caller, who could say it without one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi import Path as PathParameter
from starlette.responses import Response

from danlu.api.dependencies import Asks, Our
from danlu.api.file_models import LONGEST_PATH
from danlu.api.problems import BASE, ApiProblem
from danlu.api.upload_bodies import pass_on
from danlu.services.file_calls import Transfer
from danlu.services.file_words import FileFault
from danlu.services.files import Files
from danlu.spec.text import Text

router = APIRouter(prefix="/files/uploads", include_in_schema=False)
WHERE = f"{BASE}/files/uploads"
VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,termination,checksum,expiration"
CHECKSUMS = "sha256,sha1,md5"
LARGEST = 1 << 44
LARGEST_BUNDLE = 1 << 30
STREAM = "application/offset+octet-stream"
_NONCE = re.compile(r"[0-9a-f]{32}")
_TUS = {"Tus-Resumable": VERSION, "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Upload:
    path: str
    nonce: str
    size: int
    conflict: str
    kind: str
    modified: float | None

    @property
    def id(self) -> str:
        values = [self.path, self.nonce, self.size, self.conflict, self.kind, self.modified]
        packed = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def values(self) -> dict[str, Any]:
        return {
            "nonce": self.nonce,
            "size": self.size,
            "conflict": self.conflict,
            "kind": self.kind,
            "modified": self.modified,
        }


def read_id(id: Annotated[str, PathParameter(max_length=12_000)]) -> Upload:
    try:
        values = json.loads(base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)))
        path, nonce, size, conflict, kind, modified = values
        known = conflict in ("refuse", "overwrite", "rename") and kind in ("file", "bundle")
        kinds = (path, str), (nonce, str), (size, int), (modified, float | int | None)
        if not known or not all(isinstance(value, each) for value, each in kinds):
            raise ValueError
        if not _NONCE.fullmatch(nonce) or not 0 <= size <= LARGEST or len(path) > LONGEST_PATH:
            raise ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise _gone() from None
    return Upload(path, nonce, size, conflict, kind, modified)


async def same_version(request: Request) -> None:
    if request.headers.get("tus-resumable") != VERSION:
        raise ApiProblem(
            412,
            "tus_version",
            Text(
                f"Send Tus-Resumable: {VERSION} (the tus protocol for uploads)",
                f"请发送 Tus-Resumable: {VERSION}（上传使用 tus 协议）",
            ),
            headers={"Tus-Version": VERSION},
        )


Named = Annotated[Upload, Depends(read_id)]


@router.options("")
async def discover() -> Response:
    """Tells what this server can do of the tus protocol."""
    headers = {
        "Tus-Resumable": VERSION,
        "Tus-Version": VERSION,
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(LARGEST),
        "Tus-Checksum-Algorithm": CHECKSUMS,
    }
    return Response(status_code=204, headers=headers)


@router.post("")
async def create(request: Request, our: Our, asks: Asks) -> Response:
    """Begins an upload (tus 1.0): `Upload-Length`, `Upload-Metadata`; `Location` is its address.

    Metadata: `path` (or `folder`, `filename` and `relativePath`), `conflict` (refuse, overwrite,
    rename), `modified` (seconds since 1970), `kind` (`file`, or `bundle`: a tar that is unpacked
    into `path`).
    """
    await same_version(request)
    upload = _asked(request)
    await our.files.check_room(asks, upload.path, upload.size)
    transfer = await our.files.upload(asks, "create", upload.path, **upload.values())
    transfer.close()
    headers = {"Location": f"{WHERE}/{upload.id}"}
    if upload.size == 0 or request.headers.get("content-type") == STREAM:
        return await _append(request, our.files, asks, upload, 0, 201, headers)
    return Response(status_code=201, headers=_TUS | headers | {"Upload-Offset": "0"})


@router.head("/{id}")
async def look(request: Request, our: Our, asks: Asks, upload: Named) -> Response:
    """Tells how much of an upload has arrived: `Upload-Offset`."""
    await same_version(request)
    transfer = await _known(our.files, asks, "look", upload)
    transfer.close()
    offset, length = int(transfer.about["offset"]), {"Upload-Length": str(upload.size)}
    if offset == upload.size:
        # Killed between its last byte and its end: whoever asks takes it for complete, so be it.
        return await _append(request, our.files, asks, upload, offset, 200, length)
    return Response(status_code=200, headers=_TUS | length | {"Upload-Offset": str(offset)})


@router.patch("/{id}")
async def append(request: Request, our: Our, asks: Asks, upload: Named) -> Response:
    """Continues an upload at `Upload-Offset`. What arrives stays, even if the connection breaks.

    The answer that completes a file has `Danlu-Path`, percent-encoded; that of a bundle has
    `Danlu-Operation`, the id of the operation that unpacks it.
    """
    await same_version(request)
    if request.headers.get("content-type") != STREAM:
        raise ApiProblem(
            415,
            "content_type",
            Text(f"Send Content-Type: {STREAM}", f"请发送 Content-Type: {STREAM}"),
        )
    offset = _number(request, "upload-offset")
    return await _append(request, our.files, asks, upload, offset, 204, {})


@router.delete("/{id}")
async def forget(request: Request, our: Our, asks: Asks, upload: Named) -> Response:
    """Gives an upload up and removes what has arrived of it."""
    await same_version(request)
    transfer = await _known(our.files, asks, "forget", upload)
    transfer.close()
    return Response(status_code=204, headers=_TUS)


async def _known(files: Files, asks: Asks, op: str, upload: Upload) -> Transfer:
    try:
        return await files.upload(asks, op, upload.path, **upload.values())
    except FileFault as fault:
        if fault.code == "not_found":
            raise _gone() from None
        raise


async def _append(
    request: Request,
    files: Files,
    asks: Asks,
    upload: Upload,
    offset: int,
    status: int,
    headers: dict[str, str],
) -> Response:
    async with files.reserving(asks, upload.path, max(0, upload.size - offset)):
        result = await _take(request, files, asks, upload, offset)
    end = int(result["offset"])
    headers = _TUS | headers | {"Upload-Offset": str(end)}
    if end == upload.size and upload.kind == "bundle":
        operation = await files.unpack(asks, upload.path, **upload.values())
        headers["Danlu-Operation"] = operation.id
    elif end == upload.size:
        headers["Danlu-Path"] = quote(str(result.get("path", upload.path)))
    return Response(status_code=status, headers=headers)


async def _take(
    request: Request, files: Files, asks: Asks, upload: Upload, offset: int
) -> dict[str, Any]:
    """What the helper says at the end of it."""
    values = upload.values() | {"offset": offset, "checksum": _checksum(request)}
    try:
        transfer = await files.upload(asks, "append", upload.path, **values)
    except FileFault as fault:
        if fault.code == "offset":
            found = {"Upload-Offset": fault.detail} | _TUS
            raise ApiProblem(409, "offset", fault.message, headers=found) from None
        if fault.code == "not_found":
            raise _gone() from None
        raise
    try:
        most = upload.size - offset
        await pass_on(request, transfer, most, lambda: files.check_room(asks, upload.path, 0))
        result = await transfer.result()
    finally:
        transfer.close()
    await files.wrote(asks, upload.path, max(0, int(result["offset"]) - offset))
    return result


# -- what is asked -------------------------------------------------------------------------------


def _asked(request: Request) -> Upload:
    size = _number(request, "upload-length")
    values = _metadata(request.headers.get("upload-metadata", ""))
    kind, conflict = values.get("kind", "file"), values.get("conflict", "refuse")
    _one_of("kind", kind, ("file", "bundle"))
    _one_of("conflict", conflict, ("refuse", "overwrite", "rename"))
    if size > (LARGEST_BUNDLE if kind == "bundle" else LARGEST):
        raise ApiProblem(
            413, "too_large", Text("The upload is too large", "上传内容过大"), headers=dict(_TUS)
        )
    path = values.get("path", "")
    if not path:
        folder, name = values.get("folder", ""), values.get("filename", "")
        path = f"{folder.rstrip('/')}/{values.get('relativePath') or name}" if folder else ""
    if not path or len(path) > LONGEST_PATH:
        raise _bad("Upload-Metadata", Text("path is missing or too long", "缺少 path 或过长"))
    try:
        modified = float(values["modified"]) if values.get("modified") else None
    except ValueError:
        raise _bad(
            "modified", Text("must be seconds since 1970", "应为 1970 年以来的秒数")
        ) from None
    if modified is not None and not 0 <= modified < 2**40:
        modified = None
    return Upload(path, secrets.token_hex(16), size, conflict, kind, modified)


def _metadata(text: str) -> dict[str, str]:
    values = {}
    for pair in filter(None, (each.strip() for each in text.split(","))):
        key, _, value = pair.partition(" ")
        try:
            values[key] = base64.b64decode(value, validate=True).decode()
        except ValueError:
            shown = repr(key[:40])
            words = Text(f"{shown} is not base64 of text", f"{shown} 不是文本的 base64")
            raise _bad("Upload-Metadata", words) from None
    return values


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        listed = ", ".join(allowed)
        raise _bad(key, Text(f"must be one of: {listed}", f"只能是：{listed}"))


def _number(request: Request, header: str) -> int:
    value = request.headers.get(header, "")
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise _bad(header, Text("must be a number of bytes", "应为字节数"))
    return int(value)


def _checksum(request: Request) -> str:
    """`sha256 HEX`, from the header's base64."""
    name, _, value = request.headers.get("upload-checksum", "").partition(" ")
    if not name:
        return ""
    if name not in CHECKSUMS.split(","):
        raise _bad("Upload-Checksum", Text(f"use one of: {CHECKSUMS}", f"请使用：{CHECKSUMS}"))
    try:
        return f"{name} {base64.b64decode(value, validate=True).hex()}"
    except ValueError:
        raise _bad("Upload-Checksum", Text("is not base64", "不是 base64")) from None


def _bad(key: str, message: Text) -> ApiProblem:
    return ApiProblem(400, "bad_request", message.after(key), headers=dict(_TUS))


def _gone() -> ApiProblem:
    return ApiProblem(
        404,
        "not_found",
        Text(
            "There is no such upload: it is complete, was given up, or has expired",
            "没有这个上传：它已完成、已取消或已过期",
        ),
        headers=dict(_TUS),
    )
