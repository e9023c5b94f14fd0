"""Package mirrors for every task: files that pip, uv and conda read as the machine's settings.

They count less than the user's own files and variables, and less than what an image has in /etc.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from danlu.engines.api import MIRRORS, HostMount
from danlu.files.settings import Mirrors

AT = "/opt/danlu-mirrors"
CONDA_AT = "/etc/conda/condarc.d/danlu.yml"
_CONDA = "conda/condarc.yml"


def mirror_mounts(data: Path, mirrors: Mirrors) -> tuple[HostMount, ...]:
    if not mirrors.files:
        return ()
    folder = str(data.resolve() / "mirrors")
    found = [HostMount(MIRRORS, folder, AT, read_only=True)]
    if mirrors.conda:
        found.append(HostMount(MIRRORS, f"{folder}/{_CONDA}", CONDA_AT, read_only=True))
    return tuple(found)


def write_mirrors(data: Path, mirrors: Mirrors) -> None:
    """At every start, as danlu.toml says now. Running tasks keep what they see."""
    folder = data / "mirrors"
    texts = {
        "pip/pip.conf": _pip(mirrors),
        "uv/uv.toml": _uv(mirrors),
        _CONDA: _conda(mirrors),
    }
    if not mirrors.files:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for name, text in texts.items():
        path = folder / name
        for parent in (folder, path.parent):
            parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            parent.chmod(0o755)
        if text:
            draft = path.with_name(f"{path.name}.new")
            draft.write_text(text, encoding="utf-8")
            draft.chmod(0o644)
            draft.replace(path)
        else:
            path.unlink(missing_ok=True)


def _pip(mirrors: Mirrors) -> str:
    lines = []
    if mirrors.pip:
        lines.append(f"index-url = {mirrors.pip}")
    if mirrors.pip_extra:
        lines.append(f"extra-index-url = {' '.join(mirrors.pip_extra)}")
    plain = [
        str(urlsplit(url).netloc.rpartition("@")[2])
        for url in (mirrors.pip, *mirrors.pip_extra)
        if url.startswith("http:")
    ]
    if plain:
        lines.append(f"trusted-host = {' '.join(dict.fromkeys(plain))}")
    return "\n".join(["[global]", *lines, ""]) if lines else ""


def _uv(mirrors: Mirrors) -> str:
    parts = [f'[[index]]\nurl = "{url}"\n' for url in mirrors.pip_extra]
    if mirrors.pip:
        parts.append(f'[[index]]\nurl = "{mirrors.pip}"\ndefault = true\n')
    return "\n".join(parts)


def _conda(mirrors: Mirrors) -> str:
    """The layout of Anaconda's mirrors: pkgs/main, pkgs/r and cloud/NAME below one address."""
    if not mirrors.conda:
        return ""
    base = mirrors.conda.rstrip("/")
    return (
        f"channel_alias: {base}/cloud\ndefault_channels:\n  - {base}/pkgs/main\n  - {base}/pkgs/r\n"
    )
