"""What a build runs in its base image: packages of Debian, of conda and of pip, in this order.

Plain sh, whatever the base has. What the base lacks is said in words, in the build's log.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from danlu.access.errors import Unfit
from danlu.spec.text import Text

LACKING = 3
"""The exit code of a build whose base lacks a package manager."""
_APT = re.compile(r"[a-z0-9][a-z0-9+.:-]*(=[A-Za-z0-9.+:~-]+)?")
_PIP = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?([=<>!~]=?[A-Za-z0-9.*+,<>=!~]+)?"
)
_CONDA = re.compile(
    r"([A-Za-z0-9_][A-Za-z0-9_.-]*::)?[A-Za-z0-9_][A-Za-z0-9_.-]*([=<>!]=?[A-Za-z0-9.*+_,<>=!-]+)?"
)
_CONDA_PLACES = "/opt/conda /opt/miniforge3 /opt/miniconda3 /root/miniforge3 /root/miniconda3"
# Many images have conda in a folder that only an interactive shell has on its PATH.
_FIND_CONDA = f"""\
conda=
for each in "$CONDA_EXE" "$MAMBA_EXE" conda mamba micromamba; do
  [ -n "$each" ] && command -v "$each" >/dev/null 2>&1 && conda=$each && break
done
if [ -z "$conda" ]; then
  for folder in {_CONDA_PLACES}; do
    [ -x "$folder/bin/conda" ] && conda=$folder/bin/conda && break
  done
fi"""
# Alone of the three, micromamba has neither a prefix nor channels unless it is told.
_CONDA_INSTALL = """\
case "${{conda##*/}}" in
  micromamba)
    export MAMBA_ROOT_PREFIX="${{MAMBA_ROOT_PREFIX:-/opt/conda}}"
    set -- -n base
    "$conda" config list channels 2>/dev/null | grep -q '^ *- ' || set -- "$@" -c conda-forge ;;
  *) set -- ;;
esac
"$conda" install -y "$@" {some}
"$conda" clean -y --all >/dev/null"""
_NO_CONDA = Text(
    "The base image has neither conda nor mamba nor micromamba. Choose a base that has one, for "
    "example condaforge/miniforge3, or take the packages from pip.",
    "基础镜像中没有 conda、mamba 或 micromamba。请换用带有其中之一的基础镜像，例如 "
    "condaforge/miniforge3，或改用 pip 软件包。",
)
_NO_APT = Text(
    "The base image has no apt-get: it is neither Debian nor Ubuntu. Choose another base.",
    "基础镜像中没有 apt-get，不是 Debian 或 Ubuntu。请换一个基础镜像。",
)
_NO_PIP = Text(
    "The base image has no python3 with pip. Add --apt python3-pip, or choose another base.",
    "基础镜像中没有带 pip 的 python3。请加上 --apt python3-pip，或换一个基础镜像。",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    base: str
    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    description: str = ""
    queue: str | None = None


def script_of(recipe: Recipe) -> str:
    """Raises Unfit."""
    lines = ["set -e", "export DEBIAN_FRONTEND=noninteractive PIP_BREAK_SYSTEM_PACKAGES=1"]
    if recipe.apt:
        lines += _apt(_words("apt", recipe.apt, _APT))
    if recipe.conda:
        some = _words("conda", recipe.conda, _CONDA)
        lines += [_FIND_CONDA, _need('[ -n "$conda" ]', _NO_CONDA)]
        lines.append(_CONDA_INSTALL.format(some=some))
    if recipe.pip:
        some = _words("pip", recipe.pip, _PIP)
        lines += [
            _need("python3 -m pip --version >/dev/null", _NO_PIP),
            f"python3 -m pip install --no-cache-dir --root-user-action=ignore {some}",
        ]
    if len(lines) == 2:
        raise Unfit("apt", Text("name at least one package", "至少写一个软件包"))
    return "\n".join(lines)


def _apt(some: str) -> list[str]:
    apt = "apt-get -o APT::Sandbox::User=root"
    return [
        _need("command -v apt-get >/dev/null", _NO_APT),
        f"{apt} update",
        f"{apt} install -y --no-install-recommends {some}",
        "rm -rf /var/lib/apt/lists/*",
    ]


def _need(test: str, lacking: Text) -> str:
    """In both languages: a log has one reader today and another tomorrow."""
    told = " ".join(shlex.quote(line) for line in (lacking.en, lacking.zh))
    return f"{test} || {{ printf '%s\\n' {told} >&2; exit {LACKING}; }}"


def _words(key: str, packages: Sequence[str], form: re.Pattern[str]) -> str:
    for each in packages:
        if form.fullmatch(each) is None:
            raise Unfit(
                key,
                Text(f"{each[:100]!r} is not a package", f"{each[:100]!r} 不是软件包"),
            )
    return " ".join(shlex.quote(each) for each in packages)
