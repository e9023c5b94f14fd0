"""The few Linux calls that Python does not offer."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_UNBINDABLE = 1 << 17
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

IN_MODIFY = 0x2
IN_DELETE_SELF = 0x400
IN_IGNORED = 0x8000
IN_ONESHOT = 0x80000000

_SIGCHLD = 17
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECURE_NO_ROOT = 0b1111  # NOROOT and NO_SETUID_FIXUP, each locked
_CAP_VERSION_3 = 0x20080522
_MOUNT_SETATTR = 442
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_MOUNT_ATTR_RDONLY = 1
_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 0x06  # nor those of /proc

_NUMBERS = {  # machine -> (clone, pivot_root)
    "x86_64": (56, 155),
    "aarch64": (220, 41),
    "riscv64": (220, 41),
    "ppc64le": (120, 203),
}

# PyDLL, not CDLL: the interpreter's lock stays held over clone(), so that the child owns it too.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
# Looked up here, once: after a fork the look-up would copy pages in every keeper.
_mount = _libc.mount
_umount2 = _libc.umount2
_unshare = _libc.unshare
_prctl5 = _libc.prctl
_capset = _libc.capset
_ZERO = ctypes.c_ulong(0)
_MACHINE = os.uname().machine


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)


def _number(which: int) -> int:
    if _MACHINE not in _NUMBERS:
        raise OSError(38, f"namespaces are not supported on {_MACHINE}")
    return _NUMBERS[_MACHINE][which]


def clone(flags: int) -> int:
    """fork() into new namespaces. Only for a process with one thread."""
    args = [ctypes.c_long(n) for n in (_number(0), flags | _SIGCHLD, 0, 0, 0, 0)]
    return _check(_syscall(*args), "clone")


def unshare(flags: int) -> None:
    _check(_unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    result = _mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check(result, f"mount {source or kind} at {target}")


def detach(target: str) -> None:
    _check(_umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    number = ctypes.c_long(_number(1))
    _check(_syscall(number, os.fsencode(new), os.fsencode(old)), "pivot_root")


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def open_without_links(path: str) -> int:
    """The file or folder at exactly this path, only to name it. ELOOP where a part is a link."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)
    result = _syscall(
        ctypes.c_long(_OPENAT2),
        ctypes.c_long(_AT_FDCWD),
        os.fsencode(path),
        ctypes.byref(how),
        ctypes.c_long(ctypes.sizeof(how)),
    )
    if result < 0 and ctypes.get_errno() == 38:  # Linux before 5.6
        return os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    return _check(result, path)


def make_read_only(target: str, recursive: bool = True) -> None:
    attr = _MountAttr(_MOUNT_ATTR_RDONLY, 0, 0, 0)
    result = _syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_long(_AT_FDCWD),
        os.fsencode(target),
        ctypes.c_long(_AT_RECURSIVE if recursive else 0),
        ctypes.byref(attr),
        ctypes.c_long(ctypes.sizeof(attr)),
    )
    if result >= 0:
        return
    if ctypes.get_errno() != 38:
        _check(result, f"read-only {target}")
    # Linux before 5.12. The flags a user namespace may not take away have to be repeated.
    held = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | held)


def _prctl(option: int, value: int, what: str) -> None:
    _check(_prctl5(option, ctypes.c_ulong(value), _ZERO, _ZERO, _ZERO), what)


def set_name(name: bytes) -> None:
    """What ps shows. At most 15 bytes."""
    _check(_prctl5(_PR_SET_NAME, name, _ZERO, _ZERO, _ZERO), "prctl name")


def hide_memory() -> None:
    """No process of the same user may look into this one."""
    _prctl(_PR_SET_DUMPABLE, 0, "prctl dumpable")


def adopt_orphans() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "prctl child subreaper")


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "prctl no_new_privs")


def root_means_nothing() -> None:
    """From now on being uid 0 gives no capability, not even after exec."""
    _prctl(_PR_SET_SECUREBITS, _SECURE_NO_ROOT, "prctl securebits")


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_capset(header, nothing), "capset")


def effective_capabilities() -> int:
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"CapEff:"):
                return int(line.split()[1], 16)
    return 0


def inotify_init() -> int:
    return _check(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")


def inotify_add(fd: int, path: str, mask: int) -> int:
    result = _libc.inotify_add_watch(fd, os.fsencode(path), ctypes.c_uint32(mask))
    return _check(result, f"inotify {path}")


def inotify_remove(fd: int, watch: int) -> None:
    _libc.inotify_rm_watch(fd, watch)  # it may have gone by itself


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def read(path: str, most: int = 4096) -> bytes:
    """The start of a file, without the layers of open(): they cost a keeper dozens of pages."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, most)
    finally:
        os.close(fd)


def start_time(pid: int | str) -> int:
    """When a process started, in ticks since boot; 0 when there is none (or only its shell)."""
    try:
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


def set_handler(number: int, handler: Any) -> None:
    """signal.signal() without its enums: they cost a keeper dozens of pages. 1: ignore."""
    _signal.signal(number, handler)
