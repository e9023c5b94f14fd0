"""A look into a file: text, a log's end, a notebook as data. Nothing of it is ever run."""

from __future__ import annotations

import json
import mimetypes
import os
import re
import stat
from typing import Any

from danlu.files.helper.beneath import Place, located, open_file
from danlu.files.helper.request import Request

MOST_TEXT = 256 << 10
MOST_NOTEBOOK = 16 << 20
MOST_CELLS = 500
MOST_IMAGE = 1 << 20
MOST_IMAGES = 4 << 20  # of one notebook
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
mimetypes.init()


def preview(request: Request) -> None:
    where = request.place()
    with located(where) as (_, found):
        if stat.S_ISDIR(found.st_mode):
            request.answer(**_about(where, found, "folder", "inode/directory"))
            return
    fd = open_file(where)
    try:
        request.answer(**_looked_into(where, fd, request))
    finally:
        os.close(fd)


def _looked_into(where: Place, fd: int, request: Request) -> dict[str, Any]:
    found = os.fstat(fd)
    head = os.pread(fd, 4096, 0)
    image = image_type(head)
    if image:
        return _about(where, found, "image", image)
    if where.name.endswith(b".ipynb") and found.st_size <= MOST_NOTEBOOK:
        notebook = _notebook(fd)
        if notebook is not None:
            about = _about(where, found, "notebook", "application/x-ipynb+json")
            return about | {"encoding": "utf-8"} | notebook
    tail = request.number("tail")
    limit = min(request.number("limit", MOST_TEXT), MOST_TEXT)
    offset = request.number("offset")
    if tail:
        limit = min(tail, MOST_TEXT)
        offset = max(0, found.st_size - limit)
    data = os.pread(fd, limit, offset)
    media = mimetypes.guess_type(where.name.decode(errors="replace"))[0] or ""
    encoding = encoding_of(head, data)
    if encoding is None:
        return _about(where, found, "binary", media or "application/octet-stream")
    about = _about(where, found, "text", media if media.startswith("text/") else "text/plain")
    return about | {
        "encoding": encoding,
        "text": data.decode(encoding, "replace"),
        "offset": offset,
        "complete": offset == 0 and len(data) >= found.st_size,
    }


def _about(where: Place, found: os.stat_result, kind: str, media: str) -> dict[str, Any]:
    return {
        "path": where.shown,
        "kind": kind,
        "size": 0 if kind == "folder" else found.st_size,
        "modified_at": found.st_mtime,
        "media_type": media,
    }


def image_type(head: bytes) -> str | None:
    """By its first bytes, whatever its name says. SVG can run scripts, so it is text here."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    found = next((media for magic, media in _IMAGES if head.startswith(magic)), None)
    if found == "image/bmp" and len(head) > 10 and head[6:10] != b"\0\0\0\0":
        return None
    return found


def encoding_of(head: bytes, data: bytes) -> str | None:
    """None: not text."""
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = data[: 64 << 10]
    if b"\0" in sample or _strange(sample):
        return None
    for encoding in ("utf-8", "gb18030"):
        if _decodes(sample, encoding):
            return encoding
    return "latin-1"


def _strange(data: bytes) -> bool:
    """Many control characters are no text; logs have some."""
    odd = sum(data.count(bytes([code])) for code in (*range(1, 7), *range(14, 27), 28, 29, 30, 31))
    return odd > max(2, len(data) // 50)


def _decodes(data: bytes, encoding: str) -> bool:
    """A piece of a file may begin and end within a character."""
    for start in range(min(4, len(data)) or 1):
        for end in range(4):
            try:
                data[start : len(data) - end].decode(encoding)
            except UnicodeDecodeError:
                continue
            return True
    return False


# -- notebooks -----------------------------------------------------------------------------------


def _notebook(fd: int) -> dict[str, Any] | None:
    """None: not a notebook after all."""
    data = b"".join(iter(_reader(fd), b""))
    try:
        book = json.loads(data)
        cells = book["cells"] if "cells" in book else book["worksheets"][0]["cells"]
        told = _Cells()
        shown = [told.cell(cell) for cell in cells[:MOST_CELLS]]
        language = book.get("metadata", {}).get("kernelspec", {}).get("language")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    complete = len(cells) <= MOST_CELLS and not told.cut
    return {
        "cells": shown,
        "complete": complete,
        "language": language[:40] if isinstance(language, str) else None,
    }


def _reader(fd: int) -> Any:
    at = 0

    def read() -> bytes:
        nonlocal at
        data = os.pread(fd, 1 << 20, at) if at < MOST_NOTEBOOK else b""
        at += len(data)
        return data

    return read


class _Cells:
    def __init__(self) -> None:
        self.text_left = 4 * MOST_TEXT
        self.images_left = MOST_IMAGES
        self.cut = False

    def cell(self, cell: dict[str, Any]) -> dict[str, Any]:
        kind = cell.get("cell_type")
        number = cell.get("execution_count", cell.get("prompt_number"))
        told: dict[str, Any] = {
            "kind": kind if kind in ("markdown", "code") else "raw",
            "source": self._text(cell.get("source", cell.get("input", ""))),
            "number": number if isinstance(number, int) else None,
            "texts": [],
            "images": [],
        }
        for output in cell.get("outputs", [])[:100]:
            self._output(output, told)
        return told

    def _output(self, output: dict[str, Any], told: dict[str, Any]) -> None:
        data = output.get("data", output)
        for media in ("image/png", "image/jpeg"):
            image = data.get(media, data.get(media.rpartition("/")[2]))
            if isinstance(image, list):
                image = "".join(map(str, image))
            if isinstance(image, str) and self._image(image, media, told):
                return
        for key in ("text", "text/plain"):
            if key in data:
                told["texts"].append(self._text(data[key]))
                return
        if output.get("output_type") in ("error", "pyerr"):
            told["texts"].append(self._text([f"{line}\n" for line in output.get("traceback", [])]))

    def _image(self, image: str, media: str, told: dict[str, Any]) -> bool:
        image = "".join(image.split())
        if len(image) > MOST_IMAGE or len(image) > self.images_left:
            self.cut = True
            return False
        if not re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", image):
            return False
        self.images_left -= len(image)
        told["images"].append(f"data:{media};base64,{image}")
        return True

    def _text(self, value: Any) -> str:
        text = "".join(map(str, value)) if isinstance(value, list) else str(value)
        text = _ANSI.sub("", text.encode("utf-8", "replace").decode())
        if len(text) > self.text_left:
            self.cut = True
            text = text[: self.text_left]
        self.text_left -= len(text)
        return text
