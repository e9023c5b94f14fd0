"""New folders, moving, copying and removing."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator

from danlu.files.helper.beneath import (
    FOLDER,
    Place,
    exists,
    folder_at,
    located,
    open_regular,
    parent_of,
    rename_new,
    writable,
)
from danlu.files.helper.bins import put_into_bin
from danlu.files.helper.entries import COPY, entry_at, ours
from danlu.files.helper.faults import Cancelled, Fault, fault_of
from danlu.files.helper.names import LONGEST
from danlu.files.helper.request import Request
from danlu.files.helper.rights import me
from danlu.files.helper.trees import Step, remove, walk

PIECE = 8 << 20
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)


# -- folders -------------------------------------------------------------------------------------


def make_folder(request: Request) -> None:
    where = request.place()
    if request.values.get("parents"):
        make_folders(where)
    else:
        _allowed(where)
        try:
            with parent_of(where) as (folder, name), _about(where):
                os.mkdir(name, 0o777, dir_fd=folder)
        except FileNotFoundError:
            raise Fault("no_parent", where.parent().shown) from None
    request.answer(entry=entry_at(where))


def make_folders(where: Place) -> None:
    """All that is missing on the way; what exists may be a link that stays in the volume."""
    writable(where)
    for count in range(1, len(where.parts) + 1):
        step = Place(where.root, where.parts[:count])
        try:
            with located(step) as (_, found):
                if not stat.S_ISDIR(found.st_mode):
                    raise Fault("not_a_folder", step.shown)
        except FileNotFoundError:
            _allowed(step)
            with (
                parent_of(step) as (folder, name),
                _about(step),
                contextlib.suppress(FileExistsError),
            ):
                os.mkdir(name, 0o777, dir_fd=folder)


def _allowed(where: Place) -> None:
    if len(where.name) > LONGEST:
        raise Fault("name_too_long", where.shown)
    if ours(where.name):
        raise Fault("bad_name", where.shown)


@contextlib.contextmanager
def _about(where: Place) -> Iterator[None]:
    """Errors say which path, as the user knows it."""
    try:
        yield
    except OSError as error:
        raise fault_of(error, where.shown) from error


# -- names that are taken ------------------------------------------------------------------------


def numbered(name: bytes) -> Iterator[bytes]:
    """`a.txt`, `a (1).txt`, `a (2).txt`, ..."""
    yield name
    stem, dot, ending = name.rpartition(b".")
    if not stem or len(ending) > 16:
        stem, dot, ending = name, b"", b""
    for number in range(1, 10_000):
        tail = b" (%d)" % number + dot + ending
        cut = stem[: LONGEST - len(tail)]
        if _is_text(stem):
            cut = cut.decode(errors="ignore").encode()  # not within a character
        yield cut + tail


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def settle(
    source: int, name: bytes, target: Place, folder: int, conflict: str, keep: bool = False
) -> Place:
    """Renames something to its final name. `folder`: that of the target; `keep`: what is
    overwritten goes to the bin.
    """
    _allowed(target)
    if conflict == "rename":
        for new in numbered(target.name):
            try:
                rename_new(source, name, folder, new)
            except FileExistsError:
                continue
            return target.parent().below(new)
        raise Fault("exists", target.shown)
    if conflict == "overwrite":
        _clear(target, folder, keep or _is_folder(source, name))
        os.rename(name, target.name, src_dir_fd=source, dst_dir_fd=folder)
        return target
    rename_new(source, name, folder, target.name)
    return target


def _is_folder(folder: int, name: bytes) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _clear(target: Place, folder: int, keep: bool) -> None:
    """A folder is never overwritten: it goes to the bin. A file, if it is to be kept."""
    try:
        found = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode) or keep:
        put_into_bin(target)


# -- moving --------------------------------------------------------------------------------------


def _targets(request: Request) -> list[tuple[Place, Place]]:
    sources = request.places()
    if "to" in request.values:
        return [(sources[0], request.place("to"))]
    into = request.place("into")
    with folder_at(into):
        pass
    pairs = []
    for source in sources:
        source.parent()
        pairs.append((source, into.below(source.name)))
    return pairs


def move(request: Request) -> None:
    _each(request, _move, "conflict")


def copy(request: Request) -> None:
    _each(request, _copy, "conflict")


def _each(request: Request, work: object, key: str) -> None:
    conflict = request.text(key) or "refuse"
    for source, target in _targets(request):
        try:
            writable(target)
            with parent_of(target):
                pass
        except (OSError, Fault) as error:
            request.problem(error, Place(target.root, target.parts[:-1]).shown)
            continue
        try:
            done = work(request, source, target, conflict)  # type: ignore[operator]
        except (OSError, Fault) as error:
            request.problem(error, source.shown if _of_source(error) else target.shown)
            continue
        request.made(done)
    request.outcome()


def _of_source(error: BaseException) -> bool:
    return fault_of(error).code not in ("exists", "read_only_volume", "no_room", "name_too_long")


def _move(request: Request, source: Place, target: Place, conflict: str) -> Place:
    with parent_of(source) as (here, name), parent_of(target) as (there, _):
        _not_into_itself(source, target, here, name)
        try:
            if not _changes_group(here, name, there):
                if conflict == "overwrite" and _same(here, name, there, target.name):
                    raise Fault("into_itself", source.shown)
                done = settle(here, name, target, there, conflict, keep=True)
                request.tick(1)
                return done
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise Fault("into_itself", source.shown) from None
            if error.errno != errno.EXDEV:
                raise
        count = request.problem_count
        done = _copy(request, source, target, conflict)
        if request.problem_count == count:  # else something would be lost
            remove(here, name, request)
        return done


def _changes_group(here: int, name: bytes, there: int) -> bool:
    """In a group's folder all is the group's; a rename would keep it closed to the others."""
    thing, folder = os.stat(name, dir_fd=here, follow_symlinks=False), os.fstat(there)
    return bool(folder.st_mode & stat.S_ISGID) and folder.st_gid != thing.st_gid


def _not_into_itself(source: Place, target: Place, folder: int, name: bytes) -> None:
    """`target` is the thing itself, or below it."""
    thing = os.stat(name, dir_fd=folder, follow_symlinks=False)
    key = (thing.st_dev, thing.st_ino)
    if not stat.S_ISDIR(thing.st_mode):
        return
    for count in range(len(target.parts)):
        with located(Place(target.root, target.parts[:count])) as (_, found):
            if (found.st_dev, found.st_ino) == key:
                raise Fault("into_itself", source.shown)


# -- copying -------------------------------------------------------------------------------------


def _copy(request: Request, source: Place, target: Place, conflict: str) -> Place:
    """Under a hidden name first: what is seen under the new name is whole."""
    with parent_of(source, write=False) as (here, name), parent_of(target) as (there, _):
        _allowed(target)
        if conflict == "refuse" and exists(there, target.name):
            raise Fault("exists", target.shown)
        if conflict == "overwrite" and _same(here, name, there, target.name):
            raise Fault("into_itself", source.shown)
        draft = COPY + secrets.token_hex(12).encode()
        try:
            _copy_entry(request, here, name, there, draft, source)
            return settle(there, draft, target, there, conflict, keep=True)
        except BaseException:
            with contextlib.suppress(OSError, Cancelled):
                _forget(there, draft, request)
            raise


def _forget(folder: int, draft: bytes, request: Request) -> None:
    if exists(folder, draft):
        quiet = Request(request.sock, {}, [])
        quiet.tick = lambda files=0, size=0: None  # type: ignore[method-assign]
        remove(folder, draft, quiet)


def _same(here: int, name: bytes, there: int, new: bytes) -> bool:
    first = os.stat(name, dir_fd=here, follow_symlinks=False)
    try:
        second = os.stat(new, dir_fd=there, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _copy_entry(
    request: Request, here: int, name: bytes, there: int, new: bytes, source: Place
) -> None:
    found = os.stat(name, dir_fd=here, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        _copy_one(request, Step(here, name, found, [name]), there, new)
        return
    os.mkdir(new, 0o700, dir_fd=there)
    top = os.open(name, FOLDER, dir_fd=here)
    copies = [os.open(new, FOLDER, dir_fd=there)]
    mine = os.fstat(copies[0])
    try:
        for step in walk(top, request, leave=True):
            if stat.S_ISDIR(step.found.st_mode):
                if (step.found.st_dev, step.found.st_ino) == (mine.st_dev, mine.st_ino):
                    raise Fault("into_itself", source.shown)
                _copy_folder(step, copies)
                request.tick()
                continue
            _back_to(copies, len(step.parts))
            try:
                _copy_one(request, step, copies[-1], step.name)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
                request.problem(error, source.below(*step.parts).shown)
        _like(copies[0], found)
    finally:
        os.close(top)
        for fd in copies:
            os.close(fd)


def _copy_folder(step: Step, copies: list[int]) -> None:
    if step.leaving:
        if len(copies) > len(step.parts):
            fd = copies.pop()
            _like(fd, step.found)
            os.close(fd)
        return
    _back_to(copies, len(step.parts))
    os.mkdir(step.name, 0o700, dir_fd=copies[-1])
    copies.append(os.open(step.name, FOLDER, dir_fd=copies[-1]))


def _back_to(copies: list[int], depth: int) -> None:
    """Leaves the copy of a folder that could not be entered."""
    while len(copies) > depth:
        os.close(copies.pop())


def _like(fd: int, found: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        os.fchmod(fd, stat.S_IMODE(found.st_mode) & 0o777 & ~me.umask)
        os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))


def _copy_one(request: Request, step: Step, there: int, new: bytes) -> None:
    mode = step.found.st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(step.name, dir_fd=step.folder), new, dir_fd=there)
        request.tick(1)
        return
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "neither a file nor a folder", step.name)
    source = open_regular(step.folder, step.name)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(new, flags, stat.S_IMODE(mode) & 0o777 | 0o200, dir_fd=there)
        try:
            copy_data(source, target, os.fstat(source).st_size, request)
            _like_file(target, step.found)
        finally:
            os.close(target)
    finally:
        os.close(source)
    request.tick(1)


def _like_file(fd: int, found: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        if not found.st_mode & 0o200:
            os.fchmod(fd, stat.S_IMODE(found.st_mode) & 0o555 & ~me.umask)
        os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))


def copy_data(source: int, target: int, size: int, request: Request) -> None:
    """Holes stay holes."""
    at = 0
    while at < size:
        try:
            start = os.lseek(source, at, os.SEEK_DATA)
            stop = os.lseek(source, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            start, stop = at, size
        at = _copy_range(source, target, start, min(stop, size), request)
        if at < min(stop, size):
            break  # it has become shorter
    os.ftruncate(target, max(size, os.fstat(target).st_size))


def _copy_range(source: int, target: int, at: int, stop: int, request: Request) -> int:
    by_kernel = True
    while at < stop:
        count = min(PIECE, stop - at)
        if by_kernel:
            try:
                done = os.copy_file_range(source, target, count, at, at)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                by_kernel = False
                continue
        else:
            done = os.pwrite(target, os.pread(source, min(count, 1 << 20), at), at)
        if not done:
            break
        at += done
        request.tick(0, done)
    return at


# -- removing ------------------------------------------------------------------------------------


def delete(request: Request) -> None:
    forever = bool(request.values.get("forever"))
    for where in request.places():
        try:
            with parent_of(where) as (folder, name):
                if forever:
                    remove(folder, name, request)
                else:
                    put_into_bin(where)
                    request.tick(1)
        except (OSError, Fault) as error:
            request.problem(error, where.shown)
    request.outcome()
