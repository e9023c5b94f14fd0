"""Converts one job file without a server: `python -m danlu.server.convert < FILE`.

The command line does not parse job languages, to stay light; without a server it runs this. The
output has the shape of `POST /jobs/convert`, or of an API error.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects import Dialect, Options, Site, SiteVolume, convert
from danlu.spec.errors import SpecError
from danlu.spec.native import to_native
from danlu.spec.native_yaml import as_yaml
from danlu.spec.units import M

_USUAL = Defaults()
_OTHER = replace(
    _USUAL,
    cpus_per_gpu=_USUAL.cpus_per_gpu + 1,
    max_default_cpus=_USUAL.max_default_cpus + 1,
    cpus_without_gpu=_USUAL.cpus_without_gpu + 1,
    memory_per_cpu=_USUAL.memory_per_cpu + 1024 * M,
    shm_share=_USUAL.shm_share / 2,
    min_shm=_USUAL.min_shm + M,
)
"""Different in everything that jobs get without asking."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m danlu.server.convert", description=__doc__)
    parser.add_argument("--dialect", choices=[each.value for each in Dialect])
    parser.add_argument("--as", dest="run_as")
    parser.add_argument("--set", dest="overrides", action="append", default=[])
    parser.add_argument("--offers", default="{}", help="defaults for keys the file does not set")
    parser.add_argument("--volume", action="append", default=[], help="NAME=/folder/on/nodes")
    args = parser.parse_args(argv)
    answer, code = _answer(sys.stdin.buffer.read(), args)
    json.dump(answer, sys.stdout, ensure_ascii=True)
    sys.stdout.write("\n")
    return code


def _answer(text: bytes, args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    read = partial(
        convert,
        text,
        Dialect(args.dialect) if args.dialect else None,
        options=Options(args.run_as, tuple(args.overrides), offers=json.loads(args.offers)),
        site=Site(tuple(_volume(each) for each in args.volume)),
    )
    try:
        found, other = read(), read(defaults=_OTHER)
    except SpecError as error:
        details = [dict(problem.values()) for problem in error.problems]
        return {"language": error.language, "details": details}, 2
    natives = [
        _asked(to_native(job.spec), to_native(again.spec))
        for job, again in zip(found.jobs, other.jobs, strict=True)
    ]
    jobs = [{"native": native, "yaml": as_yaml(native)} for native in natives]
    notes = [note.values() for note in found.notes]
    return {"dialect": found.dialect.value, "jobs": jobs, "notes": notes}, 0


def _asked(native: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Without the amounts that the file leaves to the server's defaults, unknown here.

    Those are the ones that differ under other defaults.
    """
    found = {
        key: value
        for key, value in native.items()
        if key not in ("cpus", "memory", "shm") or other.get(key) == value
    }
    if "roles" in found:
        found["roles"] = {
            name: _asked(role, other["roles"][name]) for name, role in native["roles"].items()
        }
    return found


def _volume(text: str) -> SiteVolume:
    name, _, source = text.partition("=")
    return SiteVolume(name, source, f"/mnt/{name}")


if __name__ == "__main__":
    sys.exit(main())
