"""Files in one's own folder, those of one's groups and other volumes: `client.files`.

`async_files` is generated from this file by `scripts/docs`.
"""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps, loads
from danlu.sdk.wire import segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.calls import Calls


class Files:
    """Paths are those a task sees (`/userhome/x`, `/gdata/x`); others begin at `/userhome`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def roots(self) -> list[model.FileRoot]:
        """The volumes you may open, with size and free space."""
        answer: list[model.FileRoot] = self._do("GET", "/roots")["roots"]
        return answer

    def list_folder(
        self,
        path: str = "/userhome",
        *,
        offset: int = 0,
        limit: int = 200,
        sort: str = "name",
        hidden: bool = True,
        whole: bool = True,
    ) -> model.FileList:
        """One page of a folder. `sort`: name, size, modified or kind; with `-` in reverse.

        Without `whole`, the first page of a very large folder comes before all names are read.
        """
        query = {
            "path": path_of(path),
            "offset": offset,
            "limit": limit,
            "sort": sort,
            "hidden": hidden,
            "whole": whole,
        }
        answer: model.FileList = self._do("GET", target("/list", query))
        return answer

    def stat(self, path: str) -> model.FileEntry:
        """A link is not followed."""
        answer: model.FileEntry = self._do("GET", target("/stat", {"path": path_of(path)}))
        return answer

    def preview(self, path: str, *, offset: int = 0, tail: int = 0) -> model.FilePreview:
        """Up to 256 KiB of a text, from `offset` or the last `tail` bytes; or what kind it is."""
        query = {"path": path_of(path), "offset": offset, "tail": tail}
        answer: model.FilePreview = self._do("GET", target("/preview", query))
        return answer

    def search(
        self, path: str, text: str, *, kind: str | None = None, limit: int = 1000
    ) -> list[model.FileEntry]:
        """Names below a folder that contain a text in any case, or match a pattern with `*`."""
        query = {"path": path_of(path), "q": text, "kind": kind, "limit": limit}
        body = self._calls._ask("GET", target(f"{BASE}/files/search", query), timeout=120.0)
        lines = [loads(line) for line in body.splitlines() if line]
        return [line["entry"] for line in lines if "entry" in line]

    def usage(self, path: str = "/userhome", *, fresh: bool = False) -> model.FileUsage:
        """What a folder takes on the disk; while `operation` is set it is still being measured."""
        query = {"path": path_of(path), "fresh": fresh}
        answer: model.FileUsage = self._do("GET", target("/usage", query))
        return answer

    def make_folder(self, path: str, *, parents: bool = False) -> model.FileEntry:
        order = {"path": path_of(path), "parents": parents}
        answer: model.FileEntry = self._do("POST", "/folders", order, False)
        return answer

    def move(
        self,
        paths: Sequence[str],
        *,
        into: str | None = None,
        to: str | None = None,
        conflict: str = "refuse",
    ) -> model.FileOperation:
        """Into a folder, or to a new path. `conflict`: refuse, overwrite or rename."""
        order = moving(paths, into, to, conflict)
        answer: model.FileOperation = self._do("POST", "/move", order, False)
        return answer

    def copy(
        self,
        paths: Sequence[str],
        *,
        into: str | None = None,
        to: str | None = None,
        conflict: str = "refuse",
    ) -> model.FileOperation:
        """As `move`, but the files stay."""
        order = moving(paths, into, to, conflict)
        answer: model.FileOperation = self._do("POST", "/copy", order, False)
        return answer

    def delete(self, paths: Sequence[str], *, forever: bool = False) -> model.FileOperation:
        """To the bin, or for good."""
        order = {"paths": [path_of(path) for path in paths], "forever": forever}
        answer: model.FileOperation = self._do("POST", "/delete", order, False)
        return answer

    def bin(self) -> model.BinList:
        """What you have deleted, the latest first."""
        answer: model.BinList = self._do("GET", "/bin")
        return answer

    def restore(self, ids: Sequence[str], *, conflict: str = "refuse") -> model.FileOperation:
        """Puts things of the bin back where they were."""
        order = {"ids": [*ids], "conflict": conflict}
        answer: model.FileOperation = self._do("POST", "/bin/restore", order, False)
        return answer

    def empty_bin(self, ids: Sequence[str] | None = None) -> model.FileOperation:
        """Deletes these things of the bin for good; None: all."""
        order = {"ids": None if ids is None else [*ids]}
        answer: model.FileOperation = self._do("POST", "/bin/empty", order, False)
        return answer

    def operations(self) -> list[model.FileOperation]:
        """The latest first; those since the server started."""
        answer: list[model.FileOperation] = self._do("GET", "/operations")["operations"]
        return answer

    def operation(self, id: str, *, wait: float = 0) -> model.FileOperation:
        """`wait`: seconds to wait for its end, at most 30."""
        path = target(f"/operations/{segment(id)}", {"wait": wait or None})
        answer: model.FileOperation = self._do("GET", path)
        return answer

    def finish(self, operation: model.FileOperation) -> model.FileOperation:
        """Waits until an operation has ended."""
        while operation["state"] == "running":
            operation = self.operation(operation["id"], wait=20)
        return operation

    def cancel(self, id: str) -> model.FileOperation:
        answer: model.FileOperation = self._do("DELETE", f"/operations/{segment(id)}", None, False)
        return answer

    # Internals

    def _do(
        self, method: str, path: str, values: dict[str, Any] | None = None, again: bool = True
    ) -> Any:
        """`again`: whether the request may be repeated after a lost answer."""
        body = None if values is None else dumps(values).encode()
        path = f"{BASE}/files{path}"
        return as_json(self._calls._ask(method, path, body, timeout=120.0, repeatable=again))


def path_of(path: str) -> str:
    """`:x` and `x` are in `/userhome`; `/x` is what it is."""
    path = path.removeprefix(":")
    return path if path.startswith("/") else f"/userhome/{path}".rstrip("/")


def moving(paths: Sequence[str], into: str | None, to: str | None, conflict: str) -> dict[str, Any]:
    return {
        "paths": [path_of(path) for path in paths],
        "into": None if into is None else path_of(into),
        "to": None if to is None else path_of(to),
        "conflict": conflict,
    }
