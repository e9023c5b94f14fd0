"""Finds out what this machine allows, by trying it."""

from __future__ import annotations

import os
from collections.abc import Callable

from danlu.engines.local.keeper import linux, sandbox, seccomp
from danlu.engines.local.keeper.points import Kept

_SYS_ADMIN = 1 << 21
BOX = linux.CLONE_NEWPID | linux.CLONE_NEWNS


def find_namespaces(stage: str) -> tuple[str, str]:
    """How tasks get namespaces ('direct', 'user' or ''), and why not."""
    if linux.effective_capabilities() & _SYS_ADMIN:
        why = _attempt(lambda: _box(stage))
        if not why:
            return "direct", ""
    else:
        why = ""
    after = _attempt(lambda: _in_user_namespace(stage))
    return ("user", "") if not after else ("", why or after)


def enter_user_namespace() -> None:
    """Maps the same uid and gid into a user namespace, with all capabilities in it."""
    uid, gid = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def why_no_identities(uid: int) -> str:
    """Why tasks cannot run as another user; empty if they can."""
    if os.geteuid() != 0:
        return "the server is not root"

    def switch() -> None:
        os.setgroups([uid])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return _attempt(switch)


def why_no_filter() -> str:
    """Why the system call filter cannot be used; empty if it can."""

    def refused() -> None:
        linux.no_new_privileges()
        seccomp.install(seccomp.compile_for(os.uname().machine))
        try:
            linux.unshare(linux.CLONE_NEWUSER)
        except PermissionError:
            return
        raise OSError(1, "the filter has no effect")

    if not seccomp.compile_for(os.uname().machine):
        return f"no filter for {os.uname().machine}"
    return _attempt(refused)


def _in_user_namespace(stage: str) -> None:
    enter_user_namespace()
    _box(stage)


def _box(stage: str) -> None:
    reader, writer = os.pipe()
    pid = linux.clone(BOX)
    if pid == 0:
        try:
            task = {"mounts": [], "devices": [], "shm": 1 << 20}
            sandbox.enter(stage, sandbox.begin(stage, []), task, [stage], Kept([], []))
            if os.getpid() != 1:
                raise OSError(1, "the new pid namespace has no effect")
        except BaseException as error:
            os.write(writer, str(error).encode()[:1000])
        os._exit(0)
    os.close(writer)
    why = os.read(reader, 1000)
    os.close(reader)
    os.waitpid(pid, 0)
    if why:
        raise OSError(1, why.decode(errors="replace"))


def _attempt(what: Callable[[], None]) -> str:
    """Why it fails, empty if it works. Tried in a child, as namespaces cannot be left."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            what()
        except BaseException as error:
            text = error.strerror if isinstance(error, OSError) else None
            os.write(writer, (text or str(error) or type(error).__name__).encode()[:1000])
        os._exit(0)
    os.close(writer)
    why = os.read(reader, 1000).decode(errors="replace")
    os.close(reader)
    os.waitpid(pid, 0)
    return why
