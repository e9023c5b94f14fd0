"""A small real Debian as an image to build upon: from this machine's mirror, set up as it is.

How packages are reached from here (mirror, proxy, certificates) becomes the image's own setting, so
that what people print in a Dockerfile works inside as it stands.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.parts import missing, need
from tests.support.retrying import until_it_works

_REACHING = re.compile(r"Acquire::(?:https?|Check-Valid-Until|Retries)\b")
_PIP_KEYS = ("index-url", "extra-index-url", "trusted-host", "proxy", "cert", "timeout")
# Small, as the images that people build upon: no caches that can be made again, no documentation.
_SLIM = """Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::GzipIndexes "true";
Acquire::Languages "none";
"""
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
PATIENCE = 600


def debian(to: Path, *packages: str) -> Path:
    """Its files as a tar file, with these packages."""
    program = need("mmdebstrap")
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    mirrors = mirrors_of(suite)
    if not mirrors:
        missing("a mirror of this machine's Debian", "name it in /etc/apt/sources.list")
    apt, pip = to.with_suffix(".apt"), to.with_suffix(".pip")
    apt.write_text("\n".join(filter(_REACHING.match, _said("apt-config", "dump"))) + "\n" + _SLIM)
    pip.write_text(_pip())
    certificates = ssl.get_default_verify_paths().cafile
    hooks = [f'cp {pip} "$1/etc/pip.conf"']
    if certificates:
        hooks.append(f'cp -L {certificates} "$1/etc/ssl/certs/ca-certificates.crt"')
    words = [
        *(program, "--mode=root", "--variant=apt", "--dpkgopt=force-unsafe-io"),
        *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
        *(f"--include={package}" for package in packages),
        *(f"--customize-hook={hook}" for hook in hooks),
        *(f"--aptopt={apt}", suite, str(to), *mirrors),
    ]

    def build() -> subprocess.CompletedProcess[str]:
        to.unlink(missing_ok=True)
        with in_memory() as folder:
            env = {**os.environ, "TMPDIR": folder}
            return subprocess.run(
                words, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
            )

    done = until_it_works(build)
    if done.returncode:
        missing("a Debian to build upon", f"its mirror has to be reachable\n{done.stderr}")
    return to


@contextlib.contextmanager
def in_memory() -> Iterator[str]:
    """A folder in which thousands of small files do not wait for the disk."""
    with tempfile.TemporaryDirectory(prefix="danlu-debian-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", folder], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def mirrors_of(suite: str) -> list[str]:
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    lines = _said("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    return [line for line in lines if line.split()[2] == suite]


def _pip() -> str:
    # As in older images, packages may go into the system. What only takes time is left out.
    found = {"break-system-packages": "true", "no-compile": "true", "no-cache-dir": "true"}
    for line in _said(sys.executable, "-m", "pip", "config", "list"):
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2].removeprefix("default-")
        if key in _PIP_KEYS:
            found.setdefault(key, value.strip("'"))  # variables come first, and win
    return "[global]\n" + "".join(f"{key} = {value}\n" for key, value in found.items())


def _said(*words: str) -> list[str]:
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()
