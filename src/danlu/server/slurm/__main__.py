"""`python -m danlu.server.slurm`: what `danlu slurm init` and `danlu slurm check` run."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from danlu.server.slurm.nodes import Lab, read
from danlu.server.slurm.steps import munge_script, steps
from danlu.server.slurm.write import cgroup_conf, gres_conf, slurm_conf
from danlu.server.values import ConfigError
from danlu.server.words import chinese, say
from danlu.spec.text import Text

_OUT = "slurm-conf"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="danlu slurm", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", help=f"folder for the files (default {_OUT})")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument("--via", default="auto", help="how check asks the machines")
    parser.add_argument("--shared", help="the folder all machines see")
    parser.add_argument("what", choices=["init", "check"])
    parser.add_argument("nodes", nargs="?")
    options = parser.parse_args(argv)
    if options.via not in ("auto", "ssh", "srun"):
        return _fail(Text("--via: auto, ssh or srun", "--via：auto、ssh 或 srun"))
    try:
        lab = read(Path(options.nodes)) if options.nodes else None
        if options.what == "check":
            return _check(lab, options)
        if lab is None:
            return _fail(
                Text(
                    "init: name the file with your machines, e.g. danlu slurm init nodes.toml; "
                    "docs/slurm.md shows one",
                    "init：请给出写有机器的文件，如 danlu slurm init nodes.toml；"
                    "示例见 docs/slurm.zh.md",
                )
            )
        return _init(lab, Path(options.out or _OUT), options)
    except ConfigError as error:
        return _fail(error.message)


def _init(lab: Lab, out: Path, options: argparse.Namespace) -> int:
    told = steps(lab)
    texts = {
        "slurm.conf": slurm_conf(lab),
        "gres.conf": gres_conf(lab),
        "cgroup.conf": cgroup_conf(lab),
        "munge.sh": munge_script(lab),
        "STEPS.txt": told.zh if chinese() else told.en,
    }
    there = [name for name in texts if (out / name).exists()]
    if there and not options.force:
        listed = ", ".join(there)
        return _fail(
            Text(
                f"{out} already has {listed}; --force replaces them, --out names another folder",
                f"{out} 中已有 {listed}；--force 会替换，或用 --out 另选目录",
            )
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            _put(out / name, text)
    except OSError as error:
        return _fail(Text(f"Cannot write {out}: {error}", f"无法写入 {out}：{error}"))
    if options.json:
        print(json.dumps({"folder": str(out), "files": sorted(texts)}, ensure_ascii=False))
        return 0
    print(say(Text(f"Wrote {out}: {', '.join(texts)}\n", f"已写入 {out}：{'、'.join(texts)}\n")))
    print(texts["STEPS.txt"], end="")
    return 0


def _put(path: Path, text: str) -> None:
    """Whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    os.replace(fresh, path)


def _check(lab: Lab | None, options: argparse.Namespace) -> int:
    from danlu.server.check import print_findings
    from danlu.server.slurm.check import Order, look

    findings = list(look(Order(lab, options.via, options.shared or "")))
    if options.json:
        print(json.dumps([each.values() for each in findings], ensure_ascii=False, indent=1))
    else:
        print_findings(findings)
    return 1 if any(finding.verdict == "no" for finding in findings) else 0


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `danlu slurm check | head` is not an error
    sys.exit(main())
