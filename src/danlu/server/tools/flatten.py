"""Takes programs and their libraries out of the stage, and makes them run at /opt/danlu.

Patched are the interpreter and the library path of every program: no wrapper and no variable is
needed, and what they start inherits the task's environment as it is. The order of patchelf's two
calls matters: the other one breaks Debian's Python.
"""

from __future__ import annotations

import glob
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from danlu.engines.local.tool_steps import Steps
from danlu.engines.local.tools import AT
from danlu.server.tools.elf import Elf, read_elf

_MACHINE = os.uname().machine
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}.get(_MACHINE, "")
_FOLDERS = (f"usr/lib/{_MACHINE}-linux-gnu", f"lib/{_MACHINE}-linux-gnu", "lib64", "lib", "usr/lib")
_PROGRAMS = ("bash", "less", "rsync", "scp", "ssh", "ssh-add", "ssh-agent", "ssh-keygen")
_HIDDEN = {"git": "usr/bin/git", "curl": "usr/bin/curl"}  # started by wrappers
# Needed by packages that come compiled, VS Code's terminals among them.
_OPENED_LATER = (
    *("libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"),
    "libutil.so.1",
)
_NOT_PATCHED = ("libc.so.6", LOADER)
_LOCALES, _OUR_LOCALES = b"/usr/lib/locale", f"{AT}/locl".encode()  # of the same length
_TERMINALS = (
    *("ansi", "dumb", "linux", "screen", "screen-256color", "tmux", "tmux-256color"),
    *("vt100", "xterm", "xterm-256color", "xterm-color"),
)
_WRAPPERS = {
    "git": f"GIT_EXEC_PATH={AT}/libexec/git-core GIT_TEMPLATE_DIR={AT}/share/git",
    "curl": "",
}
_WRAPPER = """#!{at}/path/busybox sh
[ -e /etc/ssl/certs/ca-certificates.crt ] || export CURL_CA_BUNDLE={at}/share/certificates.crt \\
  GIT_SSL_CAINFO={at}/share/certificates.crt
{variables} exec {at}/libexec/{name} "$@"
"""


class Flat:
    """The tree being made of a stage."""

    def __init__(self, stage: Path, tree: Path) -> None:
        self._stage = stage
        self._tree = tree

    def copy(self) -> str:
        """Everything but packages from registries; the version of Python."""
        for name in ("bin", "lib", "path", "libexec", "share"):
            (self._tree / name).mkdir(parents=True, exist_ok=True)
        self._lib(LOADER)
        for name in _OPENED_LATER:
            self._lib(name)
        for name in _PROGRAMS:
            self._program(f"usr/bin/{name}", f"path/{name}")
        for name, path in _HIDDEN.items():
            self._program(path, f"libexec/{name}")
            text = _WRAPPER.format(at=AT, name=name, variables=_WRAPPERS[name])
            wrapper = self._tree / "path" / name
            wrapper.write_text(text)
            wrapper.chmod(0o755)
        self._program("usr/lib/openssh/sftp-server", "libexec/sftp-server")
        self._git()
        self._busybox()
        self._shared()
        return self._python()

    def _find(self, path: str) -> Path:
        """A file of the stage; its links lead to other places in the stage."""
        parts, here, links = path.strip("/").split("/"), self._stage, 0
        while parts:
            found = here / parts.pop(0)
            if found.is_symlink() and links < 40:
                links += 1
                led = os.readlink(found)
                base = "" if led.startswith("/") else str(here.relative_to(self._stage))
                parts = [*os.path.normpath(f"/{base}/{led}").strip("/").split("/"), *parts]
                found = self._stage
            here = found
        return here

    def _program(self, path: str, to: str) -> None:
        found = self._find(path)
        shutil.copy2(found, self._tree / to)
        self._needs(found)

    def _needs(self, path: Path) -> None:
        elf = read_elf(path)
        for name in elf.needed if elf else ():
            self._lib(name)

    def _lib(self, name: str) -> None:
        to = self._tree / "lib" / name
        if to.exists():
            return
        for folder in _FOLDERS:
            found = self._find(f"{folder}/{name}")
            if found.is_file():
                shutil.copy2(found, to)
                self._needs(found)
                return

    def _git(self) -> None:
        to = self._tree / "libexec" / "git-core"
        to.mkdir()
        for found in sorted(self._find("usr/lib/git-core").iterdir()):
            if found.name == "git" or os.path.realpath(found).endswith("/bin/git"):
                os.symlink("../git", to / found.name)
            elif found.is_symlink():
                os.symlink(os.path.basename(os.readlink(found)), to / found.name)
            elif found.is_file():
                shutil.copy2(found, to / found.name)
                self._needs(found)
        shutil.copytree(self._find("usr/share/git-core/templates"), self._tree / "share" / "git")

    def _busybox(self) -> None:
        """For images without anything: its commands come after every other program."""
        found = self._find("bin/busybox")
        shutil.copy2(found, self._tree / "path" / "busybox")
        applets = os.popen(f"'{found}' --list").read().split()  # noqa: S605 - a static program
        for name in applets:
            to = self._tree / "path" / name
            if not to.exists() and not to.is_symlink():
                os.symlink("busybox", to)

    def _shared(self) -> None:
        share = self._tree / "share"
        shutil.copy2(self._find("etc/ssl/certs/ca-certificates.crt"), share / "certificates.crt")
        for name in _TERMINALS:
            for base in ("lib/terminfo", "usr/share/terminfo"):
                found = self._find(f"{base}/{name[0]}/{name}")
                if found.is_file():
                    (share / "terminfo" / name[0]).mkdir(parents=True, exist_ok=True)
                    shutil.copy2(found, share / "terminfo" / name[0] / name)
        locale = self._find("usr/lib/locale/C.utf8")
        if locale.is_dir():
            shutil.copytree(locale, self._tree / "locl" / "C.utf8")

    def _python(self) -> str:
        version = self._find("usr/bin/python3").name.removeprefix("python")
        python = self._tree / "python"
        (python / "bin").mkdir(parents=True)
        self._program(f"usr/bin/python{version}", f"python/bin/python{version}")
        ignored = shutil.ignore_patterns(
            *("test", "tests", "__pycache__", "EXTERNALLY-MANAGED", "sitecustomize.py", "idlelib"),
            *("ensurepip", "tkinter", "turtledemo", "lib2to3", f"config-{version}*", "pydoc_data"),
        )
        library = self._find(f"usr/lib/python{version}")
        shutil.copytree(library, python / "lib" / f"python{version}", ignore=ignored)
        for name in glob.glob(f"{python}/lib/python{version}/lib-dynload/*.so"):
            self._needs(Path(name))
        os.symlink(f"../python/bin/python{version}", self._tree / "bin" / "python")
        (self._tree / "pyvenv.cfg").write_text(
            f"home = {AT}/python/bin\ninclude-system-site-packages = false\nversion = {version}\n"
        )
        return version


def patch(steps: Steps, patchelf: Path, tree: Path) -> int:
    """How many programs and libraries were patched."""
    found = [
        (path, elf)
        for base, folders, files in os.walk(tree)
        for path in _patched(Path(base), folders, files, tree)
        if (elf := read_elf(path)) is not None and (elf.needed or elf.interpreter)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda pair: _patch(patchelf, *pair), found))
    _patch_locales(tree / "lib" / "libc.so.6")
    return len(found)


def _patched(base: Path, folders: list[str], files: list[str], tree: Path) -> list[Path]:
    if base == tree and "kernels" in folders:
        folders.remove("kernels")  # loaded by the image's Python, with its own libraries
    paths = [base / name for name in files if name not in _NOT_PATCHED]
    return [path for path in paths if not path.is_symlink()]


def _patch(patchelf: Path, path: Path, elf: Elf) -> None:
    if any("musl" in name for name in elf.needed):
        return
    import subprocess

    mode = path.stat().st_mode
    path.chmod(mode | 0o200)
    own = [part for part in elf.rpath.split(":") if part.startswith("$ORIGIN")]
    rpath = ":".join([*own, f"{AT}/lib"])
    subprocess.run([patchelf, "--force-rpath", "--set-rpath", rpath, path], check=True)
    if elf.interpreter:
        loader = f"{AT}/lib/{LOADER}"
        subprocess.run([patchelf, "--set-interpreter", loader, path], check=True)
    path.chmod(mode)


def _patch_locales(libc: Path) -> None:
    """The tree's own locale (UTF-8), where the image has none."""
    data = libc.read_bytes()
    libc.write_bytes(data.replace(_LOCALES, _OUR_LOCALES))
