"""Serves the web pages built from `web/`, at the same address as the API."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

import danlu

BUILT = Path(danlu.__file__).parent / "web"
_HASHED = "assets/"  # named by content hash
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_NOT_PAGES = ("danlu/", "api/", "light/", "assets/")
_API = ("/danlu/", "/api/", "/light/")
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        # The terminal adds a <style> of its own; no element has a style attribute.
        "style-src 'self' 'unsafe-inline'",
        "style-src-attr 'none'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_MANIFEST = ".vite/manifest.json"  # which files each page's module is made of
_ENTRY = "index.html"
_SMALL = 256 << 10  # bytes of a file that is kept in memory: nearly all, fonts aside
_KEPT = (".js", ".css", ".html", ".svg")
# The module of the page at an address, as in web/src/app.tsx; the map is part of the entry.
PAGES = {
    "account": "src/account/page.tsx",
    "datasets": "src/datasets/page.tsx",
    "datasets/*": "src/datasets/page.tsx",
    "disks": "src/disks/page.tsx",
    "environments": "src/environments/page.tsx",
    "files": "src/files/page.tsx",
    "files/*": "src/files/page.tsx",
    "images": "src/images/page.tsx",
    "jobs": "src/jobs/page.tsx",
    "jobs/*": "src/job/page.tsx",
    "submit": "src/submit/page.tsx",
}
_NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Danlu 丹炉</title>
<h1>Danlu is running; its web pages are not built</h1>
<p>The command line and the API work. To get the pages, run <code>make web</code> in Danlu's source
folder (it needs Node.js 20.19 or newer, or an internet connection to fetch one) and reload.</p>
<h1 lang="zh">丹炉已在运行，但网页还没有构建</h1>
<p lang="zh">命令行与 API 均可使用。要得到网页，请在丹炉源码目录执行 <code>make web</code>
（需要 Node.js 20.19 以上，或能联网自动获取），然后刷新。</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    packed: Path | None  # a compressed version
    kept: bytes | None  # what is sent to browsers, if that is small

    @classmethod
    def at(cls, path: Path) -> _File:
        gz = path.with_name(path.name + ".gz")
        packed = gz if gz.exists() else None
        best = packed or path
        small = path.suffix in _KEPT and best.stat().st_size <= _SMALL
        return cls(path, packed, best.read_bytes() if small else None)


class Pages:
    def __init__(self, folder: Path) -> None:
        # Listed once: no path is built from a request, so none can leave the folder.
        self._files = {
            str(path.relative_to(folder)): _File.at(path)
            for path in (folder.rglob("*") if folder.is_dir() else ())
            if path.is_file() and path.suffix != ".gz"
        }
        self._ahead = _Ahead(folder / _MANIFEST)

    async def __call__(self, request: Request, page: str = "") -> Response:
        file = self._files.get(page)
        if file is not None and page != _ENTRY:
            return _answer(request, page, file)
        if page.startswith(_NOT_PAGES) or not _wants_page(request, page):
            raise HTTPException(404)
        index = self._files.get(_ENTRY)
        if index is None:
            return HTMLResponse(_NOT_BUILT, headers={**HEADERS, "Cache-Control": _ASK_AGAIN})
        return _answer(request, _ENTRY, index, self._ahead.of(page))


class _Ahead:
    """What a page needs besides the entry, told with the first answer.

    Otherwise a browser learns of it only when the entry has been fetched and run.
    """

    def __init__(self, manifest: Path) -> None:
        try:
            self._parts = json.loads(manifest.read_bytes())
        except FileNotFoundError:  # no pages, or built by hand
            self._parts = {}
        self._links: dict[str, dict[str, str]] = {}
        for page, module in PAGES.items():
            if module in self._parts:
                self._links[page] = {"Link": ", ".join(self._links_of(module))}

    def of(self, page: str) -> dict[str, str]:
        first, _, more = page.partition("/")
        return self._links.get(f"{first}/*" if more else first, {})

    def _links_of(self, module: str) -> list[str]:
        known = set(self._closure(_ENTRY))
        found = [part for part in self._closure(module) if part not in known]
        styles = dict.fromkeys(css for part in found for css in self._parts[part].get("css", ()))
        links = [f"</{self._parts[part]['file']}>; rel=modulepreload" for part in found]
        return links + [f"</{css}>; rel=preload; as=style; crossorigin" for css in styles]

    def _closure(self, part: str) -> list[str]:
        """A module and all that it imports at once."""
        found: dict[str, None] = {}
        wanted = [part]
        while wanted:
            if (one := wanted.pop()) not in found:
                found[one] = None
                wanted += self._parts[one].get("imports", ())
        return list(found)


class _Last(APIRoute):
    """Matches any address, but only its own methods; others get 404 instead of 405."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and scope["method"] not in (self.methods or ()):
            return Match.NONE, {}
        # The API's own routes say 405.
        if scope.get("method") == "HEAD" and scope["path"].startswith(_API):
            return Match.NONE, {}
        return super().matches(scope)


def install(app: FastAPI, folder: Path = BUILT) -> None:
    """Must be the last route, since it matches every address."""
    app.router.add_api_route(
        "/{page:path}",
        Pages(folder).__call__,
        methods=["GET", "HEAD"],
        include_in_schema=False,
        route_class_override=_Last,
    )


def _wants_page(request: Request, page: str) -> bool:
    """Whether a browser asks for a page; other clients get a JSON error."""
    return page == "" or "text/html" in request.headers.get("accept", "")


def _answer(
    request: Request, name: str, file: _File, more: Mapping[str, str] | None = None
) -> Response:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {
        **HEADERS,
        **(more or {}),
        "Cache-Control": _FOREVER if name.startswith(_HASHED) else _ASK_AGAIN,
        "Vary": "Accept-Encoding",
    }
    packed = file.packed
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        packed = None
    if file.kept is not None and packed == file.packed:
        return Response(file.kept, media_type=kind, headers=headers)
    return FileResponse(packed or file.path, media_type=kind, headers=headers)
