"""What this machine allows, found by doing it once."""

from __future__ import annotations

import os
from collections.abc import Callable

from danlu.engines.local.keeper import linux, sandbox

_SYS_ADMIN = 1 << 21
BOX = linux.CLONE_NEWPID | linux.CLONE_NEWNS


def find_namespaces(stage: str) -> tuple[str, str]:
    """How tasks get namespaces ('direct', 'user' or ''), and if not, why."""
    if linux.effective_capabilities() & _SYS_ADMIN:
        why = _attempt(lambda: _box(stage))
        if not why:
            return "direct", ""
    else:
        why = ""
    after = _attempt(lambda: _in_user_namespace(stage))
    return ("user", "") if not after else ("", why or after)


def enter_user_namespace() -> None:
    """Become one's own master: the same uid and gid, with every capability over what is made."""
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
    """Why tasks cannot run as another user; empty: they can."""
    if os.geteuid() != 0:
        return "the server is not root"

    def switch() -> None:
        os.setgroups([uid])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return _attempt(switch)


def _in_user_namespace(stage: str) -> None:
    enter_user_namespace()
    _box(stage)


def _box(stage: str) -> None:
    reader, writer = os.pipe()
    pid = linux.clone(BOX)
    if pid == 0:
        try:
            sandbox.begin(stage)
            sandbox.enter(stage, [], [stage], 1 << 20)
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
    """Why it does not work, tried in a child: namespaces cannot be left again."""
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
