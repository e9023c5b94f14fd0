#!/usr/bin/env python3
"""The program behind `conda`; the installer writes the prefix's Python into its first line."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[0]).absolute().parent.parent
META = "conda-meta"
BLOCK = """
# >>> conda initialize >>>
# !! Contents within this block are managed by 'conda init' !!
eval "$({root}/bin/conda hook)"
# <<< conda initialize <<<
"""


def main() -> int:
    parser = argparse.ArgumentParser("conda")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("hook", "init", "info"):
        verbs.add_parser(verb)
    shell = verbs.add_parser("shell")
    shell.add_argument("what", choices=("activate", "deactivate"))
    shell.add_argument("name", nargs="?", default="base")
    for verb in ("create", "install", "remove"):
        made = verbs.add_parser(verb)
        made.add_argument("-n", "--name")
        made.add_argument("-c", "--channel", action="append", default=[])
        made.add_argument("--all", action="store_true")
        made.add_argument("packages", nargs="*")
    given = parser.parse_args()
    try:
        VERBS[given.verb](given)
    except Trouble as trouble:
        sys.stderr.write(f"\n{trouble}\n\n")
        return 1
    return 0


class Trouble(Exception):
    pass


# -- the shell -----------------------------------------------------------------------------------


def hook(_: argparse.Namespace) -> None:
    print(f"export CONDA_EXE={shlex.quote(str(ROOT / 'bin/conda'))}")
    print((ROOT / "etc/profile.d/conda.sh").read_text())
    print("conda activate base")


def init(_: argparse.Namespace) -> None:
    path = Path.home() / ".bashrc"
    with path.open("a") as file:
        file.write(BLOCK.format(root=shlex.quote(str(ROOT))))
    print(
        f"modified      {path}\n==> For changes to take effect, close and re-open your shell. <=="
    )


def shell(given: argparse.Namespace) -> None:
    left = os.environ.get("CONDA_PREFIX")
    path = os.environ["PATH"].split(":")
    if left and f"{left}/bin" in path:
        path.remove(f"{left}/bin")
    if given.what == "deactivate" and left == str(ROOT):
        mark = ""
        print("unset CONDA_PREFIX CONDA_DEFAULT_ENV")
    else:
        name = "base" if given.what == "deactivate" else given.name
        mark = f"({name}) "
        print(f"export CONDA_PREFIX={shlex.quote(str(folder(name)))} CONDA_DEFAULT_ENV={name}")
        path.insert(0, f"{folder(name)}/bin")
    print(f"export PATH={shlex.quote(':'.join(path))}")
    print('PS1="' + mark + '${PS1#"${CONDA_PROMPT_MODIFIER-}"}"')
    print(f"export CONDA_PROMPT_MODIFIER={shlex.quote(mark)}")


# -- environments --------------------------------------------------------------------------------


def folder(name: str) -> Path:
    path = ROOT if name == "base" else ROOT / "envs" / name
    if name != "base" and not (path / META).is_dir():
        raise Trouble(f"EnvironmentNameNotFound: Could not find conda environment: {name}")
    return path


def info(_: argparse.Namespace) -> None:
    rows = {
        "active environment": os.environ.get("CONDA_DEFAULT_ENV", "None"),
        "active env location": os.environ.get("CONDA_PREFIX", "None"),
        "user config file": settings(),
        "base environment": ROOT,
        "channel URLs": ", ".join(channels([])),
        "envs directories": ROOT / "envs",
        "UID:GID": f"{os.getuid()}:{os.getgid()}",
    }
    print("\n" + "\n".join(f"{name:>23} : {value}" for name, value in rows.items()) + "\n")


def create(given: argparse.Namespace) -> None:
    path = ROOT / "envs" / given.name
    if path.exists():
        raise Trouble(f"CondaValueError: prefix already exists: {path}")
    plan(path, given)
    (path / META).mkdir(parents=True)
    put(path, given)
    print(f"#\n# To activate this environment, use\n#\n#     $ conda activate {given.name}\n#")


def install(given: argparse.Namespace) -> None:
    name = given.name or os.environ.get("CONDA_DEFAULT_ENV", "base")
    plan(folder(name), given)
    put(folder(name), given)


def remove(given: argparse.Namespace) -> None:
    if not (given.name and given.all):
        raise Trouble("CondaValueError: name an environment and write --all")
    path = folder(given.name)
    if os.environ.get("CONDA_PREFIX") == str(path):
        raise Trouble("CondaEnvironmentError: cannot remove current environment. deactivate first")
    print(f"\nRemove all packages in environment {path}:\n")
    proceed("Proceed ([y]/n)? ", "y")
    print(f"Everything found within the environment ({path}) will be deleted.")
    proceed("Do you wish to continue?\n (y/[n])? ", "n")
    shutil.rmtree(path)


def plan(path: Path, given: argparse.Namespace) -> None:
    print("Channels:\n" + "\n".join(f" - {channel}" for channel in channels(given.channel)))
    print(f"\n## Package Plan ##\n\n  environment location: {path}\n")
    if given.packages:
        print("  added / updated specs:\n" + "\n".join(f"    - {p}" for p in given.packages) + "\n")
    proceed("Proceed ([y]/n)? ", "y")


def put(path: Path, given: argparse.Namespace) -> None:
    for package in given.packages:
        name, _, version = package.partition("=")
        if name == "python":
            machines = f"{sys.base_prefix}/bin/python3"
            subprocess.run([machines, "-m", "venv", "--without-pip", path], check=True)
        record = {"name": name, "version": version, "channels": channels(given.channel)}
        (path / META).mkdir(exist_ok=True)
        (path / META / f"{name}.json").write_text(json.dumps(record))
    print("\nPreparing transaction: done\nVerifying transaction: done\nExecuting transaction: done")


def proceed(question: str, default: str) -> None:
    if (input(question).strip() or default).lower() not in ("y", "yes"):
        raise Trouble("CondaSystemExit: Exiting.")


# -- settings ------------------------------------------------------------------------------------


def settings() -> Path:
    return Path.home() / ".condarc"


def channels(asked: list[str]) -> list[str]:
    """Those asked for, then those of the list in .condarc."""
    found: list[str] = []
    inside = False
    lines = settings().read_text().splitlines() if settings().exists() else []
    for line in lines:
        if not line.startswith((" ", "-")):
            inside = line.startswith("channels:")
        elif inside:
            found.append(line.strip().removeprefix("- "))
    return [*asked, *(found or ["conda-forge"])]


VERBS = {
    "hook": hook,
    "init": init,
    "info": info,
    "shell": shell,
    "create": create,
    "install": install,
    "remove": remove,
}

if __name__ == "__main__":
    sys.exit(main())
