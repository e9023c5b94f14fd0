"""Linux calls missing from Python's standard library."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import errno
import fcntl
import os
import socket
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_UNBINDABLE = 1 << 17
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

IN_MODIFY = 0x2
IN_IGNORED = 0x8000
IN_ONESHOT = 0x80000000

_SIGCHLD = 17
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECURE_NO_ROOT = 0b1111  # NOROOT and NO_SETUID_FIXUP, each locked
_CAP_VERSION_3 = 0x20080522
_MOUNT_SETATTR = 442
_AT_RECURSIVE = 0x8000
_AT_EMPTY_PATH = 0x1000
_AT_FDCWD = -100
_OPENAT2 = 437
_NAME_ONLY = os.O_PATH | os.O_CLOEXEC
_RESOLVE_NO_SYMLINKS = 0x06  # including magic links in /proc

_NUMBERS = {  # machine -> (clone, pivot_root, keyctl, seccomp)
    "x86_64": (56, 155, 250, 317),
    "aarch64": (220, 41, 219, 277),
    "riscv64": (220, 41, 219, 277),
    "ppc64le": (120, 203, 271, 358),
}
_SET_FLAGS, _UP = 0x8914, 1  # of a network interface
_SECCOMP_FILTER, _SPECULATION_AS_BEFORE = 1, 4
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_JOIN_SESSION_KEYRING = 1
_PR_CAPBSET_DROP = 24
_MOST_CAPABILITIES = 64

# PyDLL, not CDLL: the GIL stays held during clone(), so that the child owns it too.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
# Looked up once, here: after a fork the lookup would copy pages in every keeper.
_mount = _libc.mount
_umount2 = _libc.umount2
_unshare = _libc.unshare
_prctl5 = _libc.prctl
_capset = _libc.capset
_capget = _libc.capget
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
    """fork() into new namespaces. Only for single-threaded processes."""
    args = [ctypes.c_long(n) for n in (_number(0), flags | _SIGCHLD, 0, 0, 0, 0)]
    return _check(_syscall(*args), "clone")


def unshare(flags: int) -> None:
    _check(_unshare(flags), "unshare")


def leave_network() -> None:
    """This process and those it starts see a network with nothing but a loopback of their own."""
    unshare(CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


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
    """An O_PATH descriptor for exactly this path. Fails with ELOOP if any part is a link."""
    how = (ctypes.c_uint64 * 3)(_NAME_ONLY, 0, _RESOLVE_NO_SYMLINKS)
    result = _syscall(
        ctypes.c_long(_OPENAT2),
        ctypes.c_long(_AT_FDCWD),
        os.fsencode(path),
        ctypes.byref(how),
        ctypes.c_long(ctypes.sizeof(how)),
    )
    # ENOSYS: Linux before 5.6; EPERM: a seccomp filter that does not know it.
    if result < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
        return open_step_by_step(path)
    return _check(result, path)


def open_step_by_step(path: str) -> int:
    """open_without_links for older kernels, one path component at a time."""
    here = os.open("/" if path.startswith("/") else ".", _NAME_ONLY)
    for name in [part for part in path.split("/") if part]:
        try:
            there = name_in(here, name)
        finally:
            os.close(here)
        here = there
        if stat.S_ISLNK(os.fstat(here).st_mode):
            os.close(here)
            raise OSError(errno.ELOOP, f"{path}: {os.strerror(errno.ELOOP)}")
    return here


def name_in(folder: int, name: str) -> int:
    """An O_PATH descriptor for a name in a folder; links are not followed."""
    return os.open(name, _NAME_ONLY | os.O_NOFOLLOW, dir_fd=folder)


def by_number(fd: int) -> str:
    """A path for calls that take no descriptors. Only while the machine's /proc is mounted."""
    return f"/proc/self/fd/{fd}"


def restrict(
    mounted: int,
    read_only: bool,
    devices: bool = False,
    recursive: bool = True,
    numbers: int | None = None,
) -> None:
    """Makes the mount at a descriptor nosuid, and nodev unless it is for devices.

    `numbers`: the machine's /proc/self/fd, if another root hides it.
    """
    flags = MS_NOSUID | (MS_RDONLY if read_only else 0) | (0 if devices else MS_NODEV)
    attr = _MountAttr(flags, 0, 0, 0)  # these flags have the same values in both calls
    result = _syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_long(mounted),
        b"",
        ctypes.c_long(_AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)),
        ctypes.byref(attr),
        ctypes.c_long(ctypes.sizeof(attr)),
    )
    if result >= 0:
        return
    if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM):
        _check(result, "mount_setattr")
    # Linux before 5.12. Flags that a user namespace cannot clear must be repeated.
    flags |= os.fstatvfs(mounted).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if numbers is None:
        mount("", by_number(mounted), "", MS_REMOUNT | MS_BIND | flags)
        return
    os.fchdir(numbers)
    mount("", str(mounted), "", MS_REMOUNT | MS_BIND | flags)
    os.chdir("/")


def _prctl(option: int, value: int, what: str) -> None:
    _check(_prctl5(option, ctypes.c_ulong(value), _ZERO, _ZERO, _ZERO), what)


def set_name(name: bytes) -> None:
    """Sets the name shown by ps, at most 15 bytes."""
    _check(_prctl5(_PR_SET_NAME, name, _ZERO, _ZERO, _ZERO), "prctl name")


def hide_memory() -> None:
    """Keeps other processes of the same user from inspecting this one."""
    _prctl(_PR_SET_DUMPABLE, 0, "prctl dumpable")


def adopt_orphans() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "prctl child subreaper")


def end_with_parent(number: int) -> None:
    """Sends this signal to us when our parent dies."""
    _prctl(_PR_SET_PDEATHSIG, number, "prctl pdeathsig")


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "prctl no_new_privs")


def root_means_nothing() -> None:
    """uid 0 no longer has capabilities, not even after exec."""
    _prctl(_PR_SET_SECUREBITS, _SECURE_NO_ROOT, "prctl securebits")


def forget_keys() -> None:
    """A new session keyring, without the keys of the process that started us."""
    if _MACHINE not in _NUMBERS:
        return
    args = [ctypes.c_long(n) for n in (_number(2), _JOIN_SESSION_KEYRING, 0, 0, 0, 0)]
    if _syscall(*args) >= 0:
        return
    number = ctypes.get_errno()
    # No keyring support, or a seccomp filter that applies to tasks as well. Without root the
    # number of keyrings is limited, and all tasks belong to the same user.
    if number in (errno.ENOSYS, errno.EPERM) or (number == errno.EDQUOT and os.geteuid() != 0):
        return
    raise OSError(number, f"new session keyring: {os.strerror(number)}")


class _Filter(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def call(number: int, *arguments: int) -> int:
    """A system call by its number."""
    result = _syscall(ctypes.c_long(number), *(ctypes.c_long(each) for each in arguments))
    return _check(result, f"system call {number}")


def filter_calls(instructions: bytes, count: int) -> None:
    """Installs a seccomp filter for this process and its children."""
    room = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Filter(count, ctypes.addressof(room))
    if _MACHINE in _NUMBERS:
        # Otherwise older kernels enable costly speculation mitigations for the whole task.
        args = [ctypes.c_long(n) for n in (_number(3), _SECCOMP_FILTER, _SPECULATION_AS_BEFORE)]
        if _syscall(*args, ctypes.byref(program)) >= 0:
            return
    arguments = (ctypes.c_ulong(_MODE_FILTER), ctypes.byref(program), _ZERO, _ZERO)
    _check(_prctl5(_PR_SET_SECCOMP, *arguments), "seccomp")


def bound_capabilities() -> None:
    """Programs started from now on can gain no capabilities. Needs CAP_SETPCAP."""
    for number in range(_MOST_CAPABILITIES):
        if _prctl5(_PR_CAPBSET_DROP, ctypes.c_ulong(number), _ZERO, _ZERO, _ZERO) < 0:
            if ctypes.get_errno() == errno.EINVAL:
                return  # past the last
            _check(-1, "prctl capability bounding set")


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_capset(header, nothing), "capset")


class Powerless:
    """Drops this process's effective capabilities while entered."""

    def __enter__(self) -> None:
        self._header = (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0)
        self._held = (ctypes.c_uint32 * 6)()
        _check(_capget(self._header, self._held), "capget")
        unused = (ctypes.c_uint32 * 6)(*self._held)
        unused[0] = unused[3] = 0  # the effective ones, in two halves
        _check(_capset(self._header, unused), "capset")

    def __exit__(self, *_: object) -> None:
        _check(_capset(self._header, self._held), "capset")


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
    _libc.inotify_rm_watch(fd, watch)  # may already be gone


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def read(path: str, most: int = 4096, dir_fd: int | None = None) -> bytes:
    """The start of a file, without open(), whose layers cost a keeper dozens of pages."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return os.read(fd, most)
    finally:
        os.close(fd)


def start_time(pid: int | str) -> int:
    """When a process started, in ticks since boot; 0 if it does not exist or is a zombie."""
    try:
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


def set_handler(number: int, handler: Any) -> None:
    """signal.signal() without enums, which cost a keeper dozens of pages. 1: ignore."""
    _signal.signal(number, handler)
