"""Web pages: compressed size, the map of 1,600 GPUs in a browser, 200 open pages on one server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench import web_map, web_readers
from bench.measure import Options, note
from bench.table import Goal, Row
from danlu.api.pages import BUILT

SUMMARY = "web pages: JavaScript of each, the map of 1,600 GPUs, 200 open pages"
HOME = 250.0
ANY = 400.0
PAGES = {
    "submitting": ("src/submit/page.tsx",),
    "all jobs": ("src/jobs/page.tsx",),
    "a job, with charts and a terminal": (
        "src/job/page.tsx",
        "src/job/charts.tsx",
        "src/job/terminal.tsx",
    ),
    "all environments": ("src/environments/page.tsx",),
    "an environment, with a terminal": ("src/environments/one.tsx", "src/job/terminal.tsx"),
    "creating an environment": ("src/environments/new.tsx",),
    "files, with a preview": (
        "src/files/page.tsx",
        "src/files/preview.tsx",
        "src/uploads/tray.tsx",
    ),
    "datasets": ("src/datasets/page.tsx",),
    "all images": ("src/images/page.tsx",),
    "an image": ("src/images/one.tsx",),
    "building an image": ("src/images/new.tsx",),
    "disks": ("src/disks/page.tsx",),
    "a group": ("src/group/page.tsx",),
    "administration": ("src/admin/page.tsx",),
    "an account": ("src/account/page.tsx",),
}


def run(options: Options) -> Iterator[Row]:
    listed = BUILT / ".vite" / "manifest.json"
    if not listed.exists():
        note("the web pages are not built: make web")
        return
    manifest: dict[str, dict[str, Any]] = json.loads(listed.read_text())
    home = _needs(manifest, "index.html")
    yield Row("the map of GPUs, KB", _size(home), goal=Goal("at most", HOME, "KB"))
    for name, parts in PAGES.items():
        files = home.union(*(_needs(manifest, part) for part in parts))
        yield Row(f"{name}, KB", _size(files), goal=Goal("at most", ANY, "KB"))
    yield from web_map.rows(options)
    yield from web_readers.rows(options)


def _needs(manifest: dict[str, dict[str, Any]], part: str) -> set[str]:
    """A chunk's file and its static imports."""
    found: set[str] = set()
    todo = [part]
    while todo:
        entry = manifest[todo.pop()]
        if entry["file"] not in found:
            found.add(entry["file"])
            todo += entry.get("imports", [])
    return found


def _size(files: set[str]) -> float:
    return sum((BUILT / f"{file}.gz").stat().st_size for file in files) / 1000
