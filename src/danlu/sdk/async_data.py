"""The requests of `data`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.data import bundle_path, dataset_path, disk_quota_path
from danlu.sdk.fastjson import dumps
from danlu.sdk.wire import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncData:
    """What jobs read and bring along, and where it is kept."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def bundles(self) -> model.BundleList:
        """Yours, and what else may be brought along."""
        answer: model.BundleList = await self._do("GET", "/bundles")
        return answer

    async def offer_bundle(self, packed: bytes) -> model.Offered:
        """`packed`: the zlib-compressed list of a folder's files (docs/reference/api.md).
        `Client.carry` does all of it.
        """
        path, kind = (f"{BASE}/bundles", "application/octet-stream")
        answer: model.Offered = as_json(
            await self._calls._ask("POST", path, packed, kind, timeout=300)
        )
        return answer

    async def forget_bundle(self, id: str) -> model.BundleView:
        """Jobs that ended cannot be run again with it."""
        answer: model.BundleView = await self._do("DELETE", bundle_path(id))
        return answer

    async def datasets(self) -> list[model.Dataset]:
        """Those you may read, and your proposals; admins see all."""
        answer: list[model.Dataset] = (await self._do("GET", "/datasets"))["datasets"]
        return answer

    async def dataset(self, name: str) -> model.Dataset:
        answer: model.Dataset = await self._do("GET", dataset_path(name))
        return answer

    async def add_dataset(self, name: str, **values: Any) -> model.Dataset:
        """`values`: volume, folder, title, licence, how, ... as in the API. A proposal, unless by
        an admin.
        """
        answer: model.Dataset = await self._do("POST", "/datasets", {"name": name, **values}, False)
        return answer

    async def change_dataset(self, name: str, **changes: Any) -> model.Dataset:
        answer: model.Dataset = await self._do("PATCH", dataset_path(name), changes)
        return answer

    async def remove_dataset(self, name: str) -> model.Dataset:
        """Its files are kept."""
        answer: model.Dataset = await self._do("DELETE", dataset_path(name), None, False)
        return answer

    async def accept_dataset(self, name: str) -> model.Dataset:
        answer: model.Dataset = await self._do("POST", f"{dataset_path(name)}/accept", {})
        return answer

    async def reject_dataset(self, name: str, reason: str = "") -> model.Dataset:
        path = f"{dataset_path(name)}/reject"
        answer: model.Dataset = await self._do("POST", path, {"reason": reason})
        return answer

    async def measure_dataset(self, name: str) -> model.Dataset:
        """Counts in the background: `measuring` says whether it still does."""
        answer: model.Dataset = await self._do("POST", f"{dataset_path(name)}/measure", {})
        return answer

    async def stage_dataset(self, name: str, nodes: list[str] | None = None) -> model.Dataset:
        """Copies it to the fast volumes of these nodes, or of all, in the background."""
        path = f"{dataset_path(name)}/stage"
        answer: model.Dataset = await self._do("POST", path, {"nodes": nodes or []})
        return answer

    async def unstage_dataset(self, name: str) -> model.Dataset:
        """Removes the copies on fast volumes."""
        answer: model.Dataset = await self._do("DELETE", f"{dataset_path(name)}/stage", None, False)
        return answer

    async def measure_volume(self, name: str) -> model.Volume:
        """How fast it is; takes some seconds."""
        path = f"{BASE}/volumes/{segment(name)}/measure"
        answer: model.Volume = as_json(await self._calls._ask("POST", path, b"{}", timeout=120))
        return answer

    async def storage_requests(self) -> list[model.StorageRequest]:
        """Yours; admins see all."""
        answer: list[model.StorageRequest] = (await self._do("GET", "/volume-requests"))["requests"]
        return answer

    async def request_storage(
        self, name: str, address: str, kind: str = "nfs", note: str = ""
    ) -> model.StorageRequest:
        """Asks an admin for storage of your own (nfs, s3, webdav, other) as a volume."""
        order = {"name": name, "address": address, "kind": kind, "note": note}
        answer: model.StorageRequest = await self._do("POST", "/volume-requests", order, False)
        return answer

    async def approve_storage(
        self, id: str, source: str, path: str | None = None, read_only: bool = False
    ) -> model.StorageRequest:
        """`source`: where an admin mounted it; it becomes a volume of whoever asked."""
        where = f"/volume-requests/{segment(id)}/approve"
        order = {"source": source, "path": path, "read_only": read_only}
        answer: model.StorageRequest = await self._do("POST", where, order, False)
        return answer

    async def reject_storage(self, id: str, reason: str = "") -> model.StorageRequest:
        where = f"/volume-requests/{segment(id)}/reject"
        answer: model.StorageRequest = await self._do("POST", where, {"reason": reason}, False)
        return answer

    async def withdraw_storage(self, id: str) -> model.StorageRequest:
        """A volume that it became stays."""
        path = f"/volume-requests/{segment(id)}"
        answer: model.StorageRequest = await self._do("DELETE", path, None, False)
        return answer

    async def disks(self) -> model.DiskReport:
        """What your folders take; for admins also how full every disk is, and what takes the
        room.
        """
        answer: model.DiskReport = await self._do("GET", "/disks")
        return answer

    async def clean_disks(
        self, *, dry_run: bool = True, rules: list[str] | None = None
    ) -> model.Cleaning:
        """Removes what can be had again: unused images, old logs. For admins."""
        order = {"dry_run": dry_run, "rules": rules or []}
        answer: model.Cleaning = await self._do("POST", "/disks/clean", order)
        return answer

    async def disk_quotas(self, everyone: bool = False) -> list[model.FolderQuotaView]:
        """How much you and your groups may keep in your folders; an admin sees all, with `everyone`
        also those without a quota of their own.
        """
        path = "/disks/quotas?everyone=true" if everyone else "/disks/quotas"
        answer: list[model.FolderQuotaView] = (await self._do("GET", path))["quotas"]
        return answer

    async def set_disk_quota(
        self, of: str, name: str, size: str | int | None
    ) -> list[model.FolderQuotaView]:
        """`of`: user or group; `name`: `*` is everyone else; `size`: such as 500G, None: no limit.
        For admins.
        """
        path = disk_quota_path(of, name)
        answer: list[model.FolderQuotaView] = (await self._do("PUT", path, {"size": size}))[
            "quotas"
        ]
        return answer

    async def remove_disk_quota(self, of: str, name: str) -> list[model.FolderQuotaView]:
        """What everyone else may keep applies again."""
        path = disk_quota_path(of, name)
        answer: list[model.FolderQuotaView] = (await self._do("DELETE", path))["quotas"]
        return answer

    async def _do(self, method: str, path: str, values: Any = None, repeatable: bool = True) -> Any:
        body = None if values is None else dumps(values).encode()
        return as_json(await self._calls._ask(method, f"{BASE}{path}", body, repeatable=repeatable))
