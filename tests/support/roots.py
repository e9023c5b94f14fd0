"""Roots of other systems as images for tests: made once on a machine, kept outside the repository.

Real ones where a registry has them: an Ubuntu 18.04 with its own C library of 2018, and what Alpine
is made of (musl, busybox, a Python that was compiled for it).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.debian import PATIENCE, debian, in_memory, mirrors_of
from tests.support.parts import missing, need
from tests.support.retrying import until_it_works
from tests.support.tools import CACHE, alone

_BIONIC = ("bionic", "bionic-updates")
_BIONIC_PACKAGES = (
    *("base-files", "bash", "coreutils", "dash", "findutils", "grep", "gzip", "libc-bin", "sed"),
    *("tar", "libstdc++6", "python3.8", "python3.8-venv"),
)
# As in images for training: a Python of conda's beside the system's, and gigabytes of libraries.
_CONDA = """set -eu
cd "$1"
ln -sf dash bin/sh
mkdir -p tmp opt/conda/bin opt/conda/lib opt/conda/conda-meta opt/conda/etc/conda/activate.d
chmod 1777 tmp
cp usr/bin/python3.8 opt/conda/bin/python3.8
ln -s python3.8 opt/conda/bin/python
cp -r usr/lib/python3.8 opt/conda/lib/python3.8
echo 'where = "conda base"' > opt/conda/lib/python3.8/mine.py
echo '{"name": "python", "version": "3.8"}' > opt/conda/conda-meta/python.json
echo 'export FROM_CONDA=yes' > opt/conda/etc/conda/activate.d/it.sh
ln -s python3.8 usr/bin/python3
mkdir -p usr/local/cuda/lib64
truncate -s 1G usr/local/cuda/lib64/libcudnn_static.a
rm -rf var/lib/apt/lists/* var/cache/apt/* usr/share/doc usr/share/man usr/share/locale
"""
_PYTHON = "python3.11/python3.11_3.11.2.orig.tar.gz"
_PYTHON_HASH = "2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849"
_ZLIB = "zlib/zlib_1.2.13.dfsg.orig.tar.bz2"
_ZLIB_HASH = "71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1"
_MUSL = "x86_64-alpine-linux-musl"
# Compiled in: as libraries of their own they would be linked with the machine's.
_MODULES = """array arraymodule.c
_asyncio _asynciomodule.c
_bisect _bisectmodule.c
_blake2 _blake2/blake2module.c _blake2/blake2b_impl.c _blake2/blake2s_impl.c
_contextvars _contextvarsmodule.c
_csv _csv.c
_datetime _datetimemodule.c
_heapq _heapqmodule.c
_json _json.c
_lsprof _lsprof.c rotatingtree.c
_md5 md5module.c
_opcode _opcode.c
_pickle _pickle.c
_posixsubprocess _posixsubprocess.c
_queue _queuemodule.c
_random _randommodule.c
_sha1 sha1module.c
_sha256 sha256module.c
_sha3 _sha3/sha3module.c
_sha512 sha512module.c
_socket socketmodule.c
_statistics _statisticsmodule.c
_struct _struct.c
_typing _typingmodule.c
_zoneinfo _zoneinfo.c
binascii binascii.c
cmath cmathmodule.c
fcntl fcntlmodule.c
grp grpmodule.c
math mathmodule.c
mmap mmapmodule.c
resource resource.c
select selectmodule.c
syslog syslogmodule.c
termios termios.c
unicodedata unicodedata.c
zlib zlibmodule.c zlib/adler32.c zlib/compress.c zlib/crc32.c zlib/deflate.c zlib/infback.c zlib/inffast.c zlib/inflate.c zlib/inftrees.c zlib/trees.c zlib/uncompr.c zlib/zutil.c -I$(srcdir)/Modules/zlib
"""  # noqa: E501


def debian_with_python() -> Path:
    """This machine's own Debian; a tar file, compressed."""
    return _once("debian", repr(platform.freedesktop_os_release()), _debian)


def bionic_with_conda() -> Path:
    """A tar file, compressed."""
    return _once("bionic", repr((_BIONIC, _BIONIC_PACKAGES, _CONDA)), _bionic)


def alpine_like() -> Path:
    """musl, busybox and Python 3.11; a tar file, compressed."""
    return _once("musl", repr((_PYTHON_HASH, _ZLIB_HASH, _MODULES)), _alpine_like)


def _once(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    folder = CACHE / "roots"
    place = folder / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.tar.gz"
    with alone(place):
        if not place.exists():
            with in_memory() as work:
                made = Path(work) / "root.tar.gz"
                make(made)
                shutil.copy(made, f"{place}.part")
                os.rename(f"{place}.part", place)
    return place


def _debian(to: Path) -> None:
    files = debian(to.with_name("files.tar"), "ca-certificates", "python3")
    with open(files, "rb") as tar, gzip.open(to, "wb", 1) as packed:
        shutil.copyfileobj(tar, packed, 1 << 20)


def _bionic(to: Path) -> None:
    script = to.with_suffix(".sh")
    script.write_text(_CONDA)
    words = [
        *(need("mmdebstrap"), "--mode=root", "--variant=extract"),
        f"--include={','.join(_BIONIC_PACKAGES)}",
        f'--extract-hook=sh {script} "$1"',
        *("bionic", str(to)),
        *(f"deb [trusted=yes] {_ubuntu()} {suite} main universe" for suite in _BIONIC),
    ]
    env = {**os.environ, "TMPDIR": str(to.parent)}

    def build() -> subprocess.CompletedProcess[str]:
        to.unlink(missing_ok=True)
        return subprocess.run(
            words, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    done = until_it_works(build)
    if done.returncode:
        missing("Ubuntu 18.04", f"its mirror has to be reachable\n{done.stderr[-2000:]}")


def _ubuntu() -> str:
    """Ubuntu's usual mirror, as debootstrap knows it."""
    need("debootstrap")
    known = Path("/usr/share/debootstrap/scripts/bionic").read_text()
    found = re.search(r"default_mirror (\S+//archive\S+)", known)
    assert found is not None
    return found[1]


def _alpine_like(to: Path) -> None:
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        work, root = Path(folder), Path(folder, "root")
        for each in ("bin", "lib", "tmp", "etc", "usr/bin", "usr/lib"):
            (root / each).mkdir(parents=True, exist_ok=True)
        _musl_python(work, root)
        libc = Path("/usr/lib/x86_64-linux-musl/libc.so").resolve()
        shutil.copy(libc, root / "lib/ld-musl-x86_64.so.1")
        busybox = root / "bin/busybox"
        shutil.copy(need("busybox", "busybox-static"), busybox)
        names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
        for name in set(names.stdout.split()) - {"busybox"}:
            (root / "bin" / name).symlink_to("busybox")
        with tarfile.open(to, "w:gz", compresslevel=1) as tar:
            tar.add(root, ".")


def _musl_python(work: Path, root: Path) -> None:
    source, zlib = _source(work, _PYTHON, _PYTHON_HASH), _source(work, _ZLIB, _ZLIB_HASH)
    (source / "Modules/zlib").mkdir()
    for path in (*zlib.glob("*.c"), *zlib.glob("*.h")):
        shutil.copy(path, source / "Modules/zlib")
    build, compiler = work / "build", work / "cc"
    build.mkdir()
    gcc = need("musl-gcc", "musl-tools")
    # Asked for the name of its system, it would give the machine's own.
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --print-multiarch ] || exec {gcc} "$@"\n')
    compiler.chmod(0o755)
    env = {**os.environ, "CC": str(compiler), "CFLAGS": "-O1 -g0", "PKG_CONFIG": "false"}
    how = {"cwd": build, "env": env, "timeout": PATIENCE}
    options = ("--prefix=/usr", "--without-ensurepip", "--disable-test-modules", f"--build={_MUSL}")
    _run(source / "configure", *options, **how)
    (build / "Modules/zlib").mkdir(parents=True)
    (build / "Modules/Setup.local").write_text(_MODULES)
    _run("make", f"-j{os.cpu_count()}", "python", "pybuilddir.txt", **how)
    shutil.copy(build / "python", root / "usr/bin/python3.11")
    (root / "usr/bin/python3").symlink_to("python3.11")
    library = root / "usr/lib/python3.11"
    left_out = shutil.ignore_patterns("test", "tests", "idlelib", "tkinter", "ensurepip")
    shutil.copytree(source / "Lib", library, ignore=left_out)
    (library / "lib-dynload").mkdir()
    made = build / (build / "pybuilddir.txt").read_text().strip()
    for path in made.glob("_sysconfigdata*.py"):
        shutil.copy(path, library)


def _source(work: Path, name: str, sha256: str) -> Path:
    """Unpacked, from this machine's mirror."""
    mirrors = mirrors_of("bookworm")
    if not mirrors:
        missing(f"the source {name}", "name a mirror of Debian 12 in /etc/apt/sources.list")
    pool = f"{mirrors[0].split()[1].rstrip('/')}/pool/main/{name[0]}/{name}"
    file = work / os.path.basename(name)
    words = ["/usr/lib/apt/apt-helper", "download-file", pool, str(file), f"SHA256:{sha256}"]
    done = until_it_works(
        lambda: subprocess.run(words, capture_output=True, text=True, check=False)
    )
    if done.returncode:
        missing(f"the source {name}", f"its mirror has to be reachable\n{done.stderr}")
    folder = work / sha256[:8]
    folder.mkdir()
    _run("tar", "-xf", file, "-C", folder)
    return next(folder.iterdir())


def _run(*words: object, **how: object) -> None:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **how
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
