"""Converts one job file without a server: `python -m danlu.server.convert < FILE`.

The command line stays light by not reading job languages itself; where no server answers, it starts
this. The answer has the shape of `POST /jobs/convert`, or of the API's errors.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from danlu.spec.dialects import Dialect, Options, Site, SiteVolume, convert
from danlu.spec.errors import SpecError
from danlu.spec.native import to_native, to_yaml


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m danlu.server.convert", description=__doc__)
    parser.add_argument("--dialect", choices=[each.value for each in Dialect])
    parser.add_argument("--as", dest="run_as")
    parser.add_argument("--set", dest="overrides", action="append", default=[])
    parser.add_argument("--offers", default="{}", help="native keys where the file has none")
    parser.add_argument("--volume", action="append", default=[], help="NAME=/folder/on/nodes")
    args = parser.parse_args(argv)
    answer, code = _answer(sys.stdin.buffer.read(), args)
    json.dump(answer, sys.stdout, ensure_ascii=True)
    sys.stdout.write("\n")
    return code


def _answer(text: bytes, args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    try:
        found = convert(
            text,
            Dialect(args.dialect) if args.dialect else None,
            options=Options(args.run_as, tuple(args.overrides), offers=json.loads(args.offers)),
            site=Site(tuple(_volume(each) for each in args.volume)),
        )
    except SpecError as error:
        details = [dict(problem.values()) for problem in error.problems]
        return {"language": error.language, "details": details}, 2
    jobs = [{"native": to_native(job.spec), "yaml": to_yaml(job.spec)} for job in found.jobs]
    notes = [note.values() for note in found.notes]
    return {"dialect": found.dialect.value, "jobs": jobs, "notes": notes}, 0


def _volume(text: str) -> SiteVolume:
    name, _, source = text.partition("=")
    return SiteVolume(name, source, f"/mnt/{name}")


if __name__ == "__main__":
    sys.exit(main())
