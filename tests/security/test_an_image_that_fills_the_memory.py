"""A member pushes an image whose layer is small, and too much for whoever looks into it.

The server reads the layers of an image for its list of packages when its page is opened. A layer
of 3 MB took a gigabyte of it and more: everybody's platform was gone.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from danlu.services.image_packages import merged, packages_in
from danlu.store import images as store
from danlu.store import migrate
from danlu.store.database import database
from danlu.store.rows import ImageRow

READ = """
import resource, sys, tarfile, zlib
from danlu.services.image_packages import TooLarge, packages_in

MB = bytes(1 << 20)

def announced(kind, size, content=MB):
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, size
    yield info.tobuf(tarfile.GNU_FORMAT)
    for _ in range(size >> 20):
        yield content

def sparse():
    info = tarfile.TarInfo("x")
    info.size = 1 << 30
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    yield info.tobuf(tarfile.PAX_FORMAT) + b"999999999999\\n"
    for _ in range(1 << 10):
        yield b"9\\n" * (1 << 19)

def entries():
    for _ in range(200):
        yield tarfile.TarInfo("x").tobuf() * 1000

def status():
    info = tarfile.TarInfo("var/lib/dpkg/status")
    info.size = 32 << 20
    yield info.tobuf()
    for n in range(32):
        yield b"".join(b"%07x\\n" % (n << 17 | line) for line in range(1 << 17))

def shared():
    for n in range(300):
        info = tarfile.TarInfo("x")
        info.type, info.size = tarfile.XGLTYPE, 1 << 20
        yield info.tobuf(tarfile.USTAR_FORMAT)
        record = b"=" + bytes((1 << 20) - 20) + b"\\n"
        key = b"k%d" % n
        yield (b"1048576 " + key + record)[: (1 << 20) - 1].ljust((1 << 20) - 1, b"v") + b"\\n"

LAYERS = {
    "pax records": announced(tarfile.XHDTYPE, 1 << 30),
    "a long name": announced(tarfile.GNUTYPE_LONGNAME, 1 << 30, b"n" * (1 << 20)),
    "a long link": announced(tarfile.GNUTYPE_LONGLINK, 1 << 30, b"n" * (1 << 20)),
    "records for all": shared(),
    "a sparse map": sparse(),
    "entries": entries(),
    "a list of packages": status(),
}

def packed(pieces):
    work = zlib.compressobj(1, zlib.DEFLATED, 31)
    for piece in pieces:
        yield work.compress(piece)
    yield work.flush()

now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + MOST, now + MOST))
try:
    packages_in(packed(LAYERS[sys.argv[1]]))
except (TooLarge, tarfile.TarError):
    pass
"""


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("pax records", 64),
        ("a long name", 64),
        ("a long link", 64),
        ("records for all", 64),
        ("a sparse map", 64),
        ("entries", 40),
        ("a list of packages", 128),
    ],
)
def test_by_what_its_layer_announces(what: str, most: int) -> None:
    program = f"MOST = {most} << 20\n{READ}"
    ended = subprocess.run(
        [sys.executable, "-c", program, what], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_by_names_in_every_layer() -> None:
    """Each layer had a bound; the list of the whole image had none."""
    layers = []
    for layer in range(3):
        names = {f"p{layer}-{n}": "1" for n in range(4_000)}
        layers.append({"deb": {}, "pip": names, "conda": names})
    whole = merged(layers)
    assert len(whole["pip"]) == len(whole["conda"]) == 5_000


def test_by_being_in_a_list(tmp_path: Path) -> None:
    """Every list of images read all that is inside every image, everybody's."""
    opened = database(f"sqlite:///{tmp_path}/danlu.db")
    migrate.prepare(opened)
    connection = opened.connect()
    row = ImageRow("1", "alice/x:1", "alice", 1.0, 1.0, inside={"deb": ["x" * 1_000_000]})
    store.add(connection.tx, row)
    assert [(each.name, each.inside) for each in store.every(connection.tx)] == [("alice/x:1", {})]
    found = store.get(connection.tx, "1")
    assert found is not None and found.inside == row.inside
    connection.close()


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_layers_as_they_are_written_are_read(form: int, tmp_path: Path) -> None:
    """Long names, links, folders, and files of more than octal digits hold."""
    deep = "d" * 90 + "/" + "e" * 120
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE):
            entry = tarfile.TarInfo(f"{deep}/{kind.decode()}")
            entry.type, entry.linkname = kind, deep
            tar.addfile(entry)
        for name in (f"{deep}/numpy-1.0.dist-info/METADATA", f"{deep}/x", "é-2.dist-info/METADATA"):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = 700, 1.5  # a record of pax
            tar.addfile(entry, io.BytesIO(b"\xff" * 700))
        entry = tarfile.TarInfo("./var/lib/dpkg/status")
        text = b"Package: git\nStatus: install ok installed\nDescription: a\n b\nVersion: 1\n"
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    found = packages_in([packed.getvalue()])
    assert found == {"deb": {"git": "1"}, "pip": {"numpy": "1.0"}, "conda": {}}
