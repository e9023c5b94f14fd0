"""SFTP inside a task, served by a child of its keeper: the image needs no sftp-server.

Version 3 of the protocol, as OpenSSH speaks it, with its extensions for renaming, links and disk
space. Everything happens as the task's user in the task's view, so there is nothing to check here.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 3
_INIT = 1
_OPEN, _CLOSE, _READ, _WRITE, _LSTAT, _FSTAT, _SETSTAT, _FSETSTAT = range(3, 11)
_OPENDIR, _READDIR, _REMOVE, _MKDIR, _RMDIR, _REALPATH, _STAT, _RENAME, _READLINK = range(11, 20)
_SYMLINK, _EXTENDED = 20, 200
_STATUS, _HANDLE, _DATA, _NAME, _ATTRS = range(101, 106)
_IS_VERSION, _EXTENDED_REPLY = 2, 201
_OK, _EOF, _NO_SUCH_FILE, _DENIED, _FAILURE, _BAD_MESSAGE, _UNSUPPORTED = 0, 1, 2, 3, 4, 5, 8
_SIZE, _OWNER, _MODE, _TIMES, _MORE = 1, 2, 4, 8, 1 << 31
_READS, _WRITES, _APPENDS, _CREATES, _TRUNCATES, _EXCLUSIVE = 1, 2, 4, 8, 16, 32
_LONGEST = 1 << 18
_MOST_READ = 1 << 18
_MOST_HANDLES = 1024
_NAMES_AT_ONCE = 100
_EXTENSIONS = (
    (b"posix-rename@openssh.com", b"1"),
    (b"statvfs@openssh.com", b"2"),
    (b"fstatvfs@openssh.com", b"2"),
    (b"hardlink@openssh.com", b"1"),
    (b"fsync@openssh.com", b"1"),
    (b"limits@openssh.com", b"1"),
)
_CODES = {
    errno.ENOENT: _NO_SUCH_FILE,
    errno.ENOTDIR: _NO_SUCH_FILE,
    errno.EBADF: _NO_SUCH_FILE,
    errno.ELOOP: _NO_SUCH_FILE,
    errno.EPERM: _DENIED,
    errno.EACCES: _DENIED,
    errno.EFAULT: _DENIED,
}


class Malformed(Exception):
    pass


class _Parts:
    """The fields of a message, one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        return int(self._unpack("!I"))

    def large(self) -> int:
        return int(self._unpack("!Q"))

    def text(self) -> bytes:
        return bytes(self.raw())

    def raw(self) -> memoryview:
        """Until the next message is read."""
        length = self.number()
        if length > len(self._data) - self._at:
            raise Malformed
        self._at += length
        return self._data[self._at - length : self._at]

    def _unpack(self, form: str) -> Any:
        try:
            (value,) = struct.unpack_from(form, self._data, self._at)
        except struct.error:
            raise Malformed from None
        self._at += struct.calcsize(form)
        return value

    def attributes(self) -> dict[str, Any]:
        flags = self.number()
        found: dict[str, Any] = {}
        if flags & _SIZE:
            found["size"] = self.large()
        if flags & _OWNER:
            found["owner"] = (self.number(), self.number())
        if flags & _MODE:
            found["mode"] = self.number() & 0o7777
        if flags & _TIMES:
            found["times"] = (self.number(), self.number())
        if flags & _MORE:
            for _ in range(self.number()):
                self.text(), self.text()
        return found


class Server:
    """One client's session. Messages come in on one descriptor, answers go out on the other."""

    def __init__(self, source: int, sink: int, home: str) -> None:
        self._source = source
        self._sink = sink
        self._handles: dict[bytes, int | Iterator[os.DirEntry[bytes]]] = {}
        self._next = 0
        self._buffer = bytearray(1024)
        self._calls = {
            _OPEN: self._open,
            _CLOSE: self._close,
            _READ: self._read,
            _WRITE: self._write,
            _LSTAT: lambda parts: _attributes(os.lstat(parts.text())),
            _STAT: lambda parts: _attributes(os.stat(parts.text())),
            _FSTAT: lambda parts: _attributes(os.fstat(self._file(parts))),
            _SETSTAT: lambda parts: _set(parts.text(), parts.attributes()),
            _FSETSTAT: lambda parts: _set(self._file(parts), parts.attributes()),
            _OPENDIR: self._open_folder,
            _READDIR: self._read_folder,
            _REMOVE: lambda parts: os.unlink(parts.text()),
            _MKDIR: self._make_folder,
            _RMDIR: lambda parts: os.rmdir(parts.text()),
            _REALPATH: self._real_path,
            _RENAME: self._rename,
            _READLINK: self._read_link,
            _SYMLINK: self._link,
            _EXTENDED: self._extended,
        }
        os.chdir(home)

    def run(self) -> None:
        while (message := self._receive()) is not None:
            self._handle(message)

    def _receive(self) -> memoryview | None:
        head = self._exactly(4)
        if head is None:
            return None
        (length,) = struct.unpack("!I", head)
        if not 0 < length <= _LONGEST + 1024:
            return None
        return self._exactly(length)

    def _exactly(self, count: int) -> memoryview | None:
        """What was read before is overwritten."""
        if len(self._buffer) < count:
            self._buffer = bytearray(count)
        rest = whole = memoryview(self._buffer)[:count]
        while rest:
            got = os.readv(self._source, [rest])
            if not got:
                return None
            rest = rest[got:]
        return whole

    def _handle(self, message: memoryview) -> None:
        kind, parts = message[0], _Parts(message[1:])
        if kind == _INIT:
            known = b"".join(_text(name) + _text(data) for name, data in _EXTENSIONS)
            self._send(_IS_VERSION, struct.pack("!I", VERSION) + known)
            return
        try:
            number = parts.number()
        except Malformed:
            return
        call = self._calls.get(kind)
        if call is None:
            self._status(number, _UNSUPPORTED, "not supported")
            return
        try:
            answer = call(parts)
        except EOFError:
            self._status(number, _EOF, "end of file")
        except (Malformed, ValueError, OverflowError):
            self._status(number, _BAD_MESSAGE, "bad message")
        except NotImplementedError:
            self._status(number, _UNSUPPORTED, "not supported")
        except OSError as error:
            self._status(number, _CODES.get(error.errno or 0, _FAILURE), error.strerror or "failed")
        else:
            if isinstance(answer, tuple):
                self._send(answer[0], struct.pack("!I", number), *answer[1:])
            else:
                self._status(number, _OK, "")

    def _status(self, number: int, code: int, words: str) -> None:
        self._send(_STATUS, struct.pack("!II", number, code) + _text(words.encode()) + _text(b"en"))

    def _send(self, kind: int, *body: bytes) -> None:
        head = struct.pack("!IB", sum(map(len, body)) + 1, kind)
        parts = [memoryview(part) for part in (head, *body)]
        while parts:
            sent = os.writev(self._sink, parts)
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if parts:
                parts[0] = parts[0][sent:]

    # -- files --------------------------------------------------------------------------------

    def _add(self, thing: int | Iterator[os.DirEntry[bytes]]) -> tuple[int, bytes]:
        self._next += 1
        handle = struct.pack("!Q", self._next)
        self._handles[handle] = thing
        return _HANDLE, _text(handle)

    def _room(self) -> None:
        if len(self._handles) >= _MOST_HANDLES:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _file(self, parts: _Parts) -> int:
        found = self._handles.get(parts.text())
        if not isinstance(found, int):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return found

    def _open(self, parts: _Parts) -> tuple[int, bytes]:
        path, wanted, attributes = parts.text(), parts.number(), parts.attributes()
        self._room()
        both = wanted & _READS and wanted & _WRITES
        flags = os.O_RDWR if both else os.O_WRONLY if wanted & _WRITES else os.O_RDONLY
        for bit, flag in (
            (_APPENDS, os.O_APPEND),
            (_CREATES, os.O_CREAT),
            (_TRUNCATES, os.O_TRUNC),
            (_EXCLUSIVE, os.O_EXCL),
        ):
            flags |= flag if wanted & bit else 0
        return self._add(os.open(path, flags | os.O_CLOEXEC, attributes.get("mode", 0o666)))

    def _close(self, parts: _Parts) -> None:
        found = self._handles.pop(parts.text(), None)
        if found is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if isinstance(found, int):
            os.close(found)

    def _read(self, parts: _Parts) -> tuple[int, bytes, bytes]:
        fd, offset, length = self._file(parts), parts.large(), parts.number()
        data = os.pread(fd, min(length, _MOST_READ), offset)
        if not data:
            raise EOFError
        return _DATA, struct.pack("!I", len(data)), data

    def _write(self, parts: _Parts) -> None:
        fd, offset, data = self._file(parts), parts.large(), parts.raw()
        while data:
            count = os.pwrite(fd, data, offset)
            data, offset = data[count:], offset + count

    # -- folders and names --------------------------------------------------------------------

    def _open_folder(self, parts: _Parts) -> tuple[int, bytes]:
        path = parts.text()
        self._room()
        return self._add(os.scandir(path))

    def _read_folder(self, parts: _Parts) -> tuple[int, bytes]:
        found = self._handles.get(parts.text())
        if found is None or isinstance(found, int):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        names = []
        for entry in found:
            try:
                names.append((entry.name, entry.stat(follow_symlinks=False)))
            except OSError:
                continue  # removed meanwhile
            if len(names) == _NAMES_AT_ONCE:
                break
        if not names:
            raise EOFError
        listed = (_text(name) + _text(_line(name, at)) + _attributes(at)[1] for name, at in names)
        return _NAME, struct.pack("!I", len(names)) + b"".join(listed)

    def _make_folder(self, parts: _Parts) -> None:
        path, attributes = parts.text(), parts.attributes()
        os.mkdir(path, attributes.get("mode", 0o777))

    def _real_path(self, parts: _Parts) -> tuple[int, bytes]:
        return _one_name(os.path.realpath(parts.text() or b"."))

    def _rename(self, parts: _Parts) -> None:
        """Plain renaming never replaces a file."""
        old, new = parts.text(), parts.text()
        if stat.S_ISREG(os.lstat(old).st_mode):
            os.link(old, new, follow_symlinks=False)
            os.unlink(old)
        elif os.path.lexists(new):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        else:
            os.rename(old, new)

    def _read_link(self, parts: _Parts) -> tuple[int, bytes]:
        return _one_name(os.readlink(parts.text()))

    def _link(self, parts: _Parts) -> None:
        # OpenSSH has these the other way round than the standard, and everybody follows it.
        target, path = parts.text(), parts.text()
        os.symlink(target, path)

    def _extended(self, parts: _Parts) -> tuple[int, bytes] | None:
        name = parts.text()
        if name == b"posix-rename@openssh.com":
            os.rename(parts.text(), parts.text())
        elif name == b"hardlink@openssh.com":
            os.link(parts.text(), parts.text())
        elif name == b"fsync@openssh.com":
            os.fsync(self._file(parts))
        elif name == b"statvfs@openssh.com":
            return _disk(os.statvfs(parts.text()))
        elif name == b"fstatvfs@openssh.com":
            return _disk(os.fstatvfs(self._file(parts)))
        elif name == b"limits@openssh.com":
            most = (_LONGEST, _MOST_READ, _MOST_READ, _MOST_HANDLES)
            return _EXTENDED_REPLY, struct.pack("!4Q", *most)
        else:
            raise NotImplementedError
        return None


def _text(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


def _one_name(path: bytes) -> tuple[int, bytes]:
    return _NAME, struct.pack("!I", 1) + _text(path) * 2 + struct.pack("!I", 0)


def _attributes(found: os.stat_result) -> tuple[int, bytes]:
    flags = _SIZE | _OWNER | _MODE | _TIMES
    most = 0xFFFFFFFF
    times = (max(0, min(int(at), most)) for at in (found.st_atime, found.st_mtime))
    return _ATTRS, struct.pack(
        "!IQIIIII", flags, found.st_size, found.st_uid, found.st_gid, found.st_mode, *times
    )


def _set(where: bytes | int, wanted: dict[str, Any]) -> None:
    if "size" in wanted:
        os.truncate(where, wanted["size"])
    if "mode" in wanted:
        os.chmod(where, wanted["mode"])
    if "times" in wanted:
        os.utime(where, wanted["times"])
    if "owner" in wanted:
        os.chown(where, *wanted["owner"])


def _disk(found: os.statvfs_result) -> tuple[int, bytes]:
    values = (
        found.f_bsize, found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail,
        found.f_files, found.f_ffree, found.f_favail, found.f_fsid, found.f_flag & 3,
        found.f_namemax,
    )  # fmt: skip
    return _EXTENDED_REPLY, struct.pack("!11Q", *(value % (1 << 64) for value in values))


def _line(name: bytes, found: os.stat_result) -> bytes:
    """As `ls -l` prints it; clients show it as it is."""
    when = time.strftime("%b %d %H:%M", time.localtime(min(max(found.st_mtime, 0), 1 << 32)))
    head = f"{stat.filemode(found.st_mode)} {found.st_nlink} {found.st_uid} {found.st_gid}"
    return f"{head} {found.st_size} {when} ".encode() + name
