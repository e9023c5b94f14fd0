"""What can go wrong with a file, as codes the server has words for."""

from __future__ import annotations

import errno
import os

from danlu.files.helper.names import to_text

_CODES = {
    errno.ENOENT: "not_found",
    errno.EACCES: "no_permission",
    errno.EPERM: "no_permission",
    errno.ENOTDIR: "not_a_folder",
    errno.EISDIR: "is_a_folder",
    errno.EEXIST: "exists",
    errno.ENOTEMPTY: "exists",
    errno.EXDEV: "leads_out",
    errno.ELOOP: "leads_out",
    errno.ENOSPC: "no_room",
    errno.EDQUOT: "no_room",
    errno.EFBIG: "no_room",
    errno.EROFS: "read_only_volume",
    errno.ENAMETOOLONG: "name_too_long",
    errno.EINVAL: "bad_name",
    errno.EILSEQ: "bad_name",
    errno.ESTALE: "volume_away",
    errno.EIO: "volume_away",
    errno.ETIMEDOUT: "volume_away",
    errno.EHOSTDOWN: "volume_away",
    errno.ENOTCONN: "volume_away",
    errno.EMFILE: "too_busy",
    errno.ENFILE: "too_busy",
    errno.ENOMEM: "too_busy",
}


class Fault(Exception):
    def __init__(self, code: str, path: str = "", detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.path = path
        self.detail = detail

    def values(self) -> dict[str, str]:
        return {"error": self.code, "path": self.path, "detail": self.detail}


class Cancelled(Exception):
    """Nobody wants the result any more."""


def fault_of(error: BaseException, path: str = "") -> Fault:
    if isinstance(error, Fault):
        return error
    if isinstance(error, OSError):
        code = _CODES.get(error.errno or 0, "failed")
        return Fault(code, path or _name(error), os.strerror(error.errno or 0))
    if isinstance(error, MemoryError):
        return Fault("too_busy", path)
    if isinstance(error, ValueError):
        return Fault("bad_name", path)
    return Fault("failed", path, type(error).__name__)


def _name(error: OSError) -> str:
    """Only a name that is shown to its own user anyway, never a path of the server."""
    name = error.filename
    if isinstance(name, str):
        name = os.fsencode(name)
    return to_text(name) if isinstance(name, bytes) and b"/" not in name else ""
