"""A task's own /dev: the standard nodes and those of its devices."""

from __future__ import annotations

import os
import stat

from danlu.engines.local.keeper import linux

_EVERYBODYS = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)
_TERMINALS = "newinstance,ptmxmode=0666,mode=0600"


def make() -> int:
    """Creates `dev` in the current folder; returns a descriptor of its pts folder."""
    os.mkdir("dev")
    linux.mount("dev", "dev", "tmpfs", linux.MS_NOSUID | linux.MS_NOEXEC, "mode=755,size=64k")
    for name in _EVERYBODYS:
        add(f"/dev/{name}")
    for name, led in _LINKS:
        os.symlink(led, f"dev/{name}")
    os.mkdir("dev/shm")
    os.mkdir("dev/pts")
    flags = linux.MS_NOSUID | linux.MS_NOEXEC
    linux.mount("devpts", "dev/pts", "devpts", flags, _TERMINALS)
    return os.open("dev/pts", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def add(path: str) -> None:
    """Adds one of the machine's nodes to `dev` in the current folder, if it exists."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return
    copy = "." + path
    if path.count("/") > 2:
        os.makedirs(os.path.dirname(copy), exist_ok=True)
    if stat.S_ISDIR(kind):
        os.makedirs(copy, exist_ok=True)
    else:
        os.close(os.open(copy, os.O_CREAT | os.O_CLOEXEC))
    linux.mount(path, copy, "", linux.MS_BIND | linux.MS_REC)


def close() -> None:
    """Makes it read-only, even for tasks of root."""
    dev = os.open("dev", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    linux.restrict(dev, read_only=True, devices=True, recursive=False)
    os.close(dev)
