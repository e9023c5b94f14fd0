"""The files of users and groups in a backup.

They are read as root while their owners may change them at will: everything is opened below the
descriptor of its folder, through no link, and only regular files are read.
"""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

from danlu.files import sparse
from danlu.files.archive import Totals, Writer
from danlu.files.helper.beneath import open_regular
from danlu.files.walking import Step, walk

LONGEST_PATH = 1 << 14
"""Bytes; four times what a program can name at once. Each entry holds its whole path, so that a few
very deep folders would make a very large file.
"""


def back_up_homes(folder: Path, writer: Writer, totals: Totals) -> None:
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        for step in walk(top):
            name = f"{folder.name}/{step.path.decode('utf-8', 'surrogateescape')}"
            if _add(step, name, writer):
                totals.homes += 1
            else:
                step.enter = False
                totals.skip(name)
    finally:
        os.close(top)


def _add(step: Step, name: str, writer: Writer) -> bool:
    """False: it is neither file, folder nor link, cannot be read, went away, or is too deep."""
    if len(name) > LONGEST_PATH:
        return False
    mode = step.found.st_mode
    if stat.S_ISREG(mode):
        return _file(step, name, writer)
    if not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode):
        return False
    info = _entry(name, step.found)
    if stat.S_ISDIR(mode):
        info.type = tarfile.DIRTYPE
    else:
        try:
            target = os.readlink(step.name, dir_fd=step.folder)
        except OSError:
            return False
        info.type = tarfile.SYMTYPE
        info.linkname = target.decode("utf-8", "surrogateescape")
    writer.entry(info)
    return True


def _file(step: Step, name: str, writer: Writer) -> bool:
    """As long as it is now."""
    try:
        fd = open_regular(step.folder, step.name)
    except OSError:
        return False
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if sparse.has_holes(found):
            _with_holes(fd, name, found, writer)
        else:
            info = _entry(name, found)
            info.size = found.st_size
            writer.stream(info, file)
    return True


def _with_holes(fd: int, name: str, found: os.stat_result, writer: Writer) -> None:
    for part, pieces in sparse.parts(fd, found.st_size):
        info, packed = _entry(name, found), sparse.Packed(fd, pieces)
        info.pax_headers = {sparse.HEADER: part.header}
        info.size = packed.size
        writer.stream(info, packed)


def _entry(name: str, found: os.stat_result) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
    info.uid, info.gid = found.st_uid, found.st_gid
    return info
