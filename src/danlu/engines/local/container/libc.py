"""Which C library an image has."""

from __future__ import annotations

import os

_ENOUGH = 28  # VS Code's server needs glibc 2.28
_BESIDE = f"{os.uname().machine}-linux-gnu"
_FOLDERS = (f"lib/{_BESIDE}", "lib64", "lib", f"usr/lib/{_BESIDE}", "usr/lib64", "usr/lib")


def libc_is_old(root: str = "") -> bool:
    """Too old for VS Code's server. Until 2.33, libc.so.6 was a link to libc-2.27.so and the like;
    only that name is read.
    """
    for folder in _FOLDERS:
        try:
            name = os.path.basename(os.readlink(f"{root}/{folder}/libc.so.6"))
        except FileNotFoundError:
            continue
        except OSError:  # newer ones are no link
            return False
        minor = name.removeprefix("libc-2.").removesuffix(".so")
        return name == f"libc-2.{minor}.so" and minor.isdecimal() and int(minor) < _ENOUGH
    return False
