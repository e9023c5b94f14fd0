"""The command line of `bench/run`."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from difflib import get_close_matches
from types import FrameType

from bench.measure import Options
from bench.table import Row, as_json, as_table

NAMES = (
    "latency",
    "throughput",
    "startup",
    "footprint",
    "packing",
    "scale",
    "backfill",
    "tenants",
    "fragments",
    "eta",
    "web",
    "doors",
    "registry",
    "files",
    "carry",
    "guard",
)


def main(argv: list[str]) -> int:
    options = _arguments(argv)
    if options.name is None:
        return _list()
    if options.name not in NAMES:
        near = get_close_matches(options.name, NAMES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
        print(f"bench/run: no benchmark named {options.name!r}; {hint}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _leave)
    module = importlib.import_module(f"bench.{options.name}")
    rows: list[Row] = []
    try:
        for row in module.run(_options(options)):
            rows.append(row)
            if options.json:
                print(as_json(row), flush=True)
    except KeyboardInterrupt:
        print("bench/run: interrupted; all processes it started were stopped", file=sys.stderr)
        return 130
    except Exception:
        if rows and not options.json:
            print(as_table(rows))  # what was measured before
        raise
    if not options.json:
        print(as_table(rows))
    return 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Measures Danlu against its anchors; lists the benchmarks without NAME.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of the listed benchmarks")
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="number of measurements")
    parser.add_argument(
        "--quick", action="store_true", help="fewer of everything, for a rough result"
    )
    parser.add_argument(
        "--pods", nargs="+", default=[], metavar="FILE", help="packing: pod lists to use"
    )
    parser.add_argument("--trace", metavar="FILE", help="backfill: trace to replay")
    return parser.parse_args(argv)


def _options(given: argparse.Namespace) -> Options:
    return Options(given.rounds, given.quick, tuple(given.pods), given.trace)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be at least 1")
    return number


def _list() -> int:
    width = max(map(len, NAMES))
    for name in NAMES:
        print(f"{name:<{width}}  {importlib.import_module(f'bench.{name}').SUMMARY}")
    return 0


def _leave(_number: int, _frame: FrameType | None) -> None:
    # Raised as an exception, so that servers and Slurm are stopped on exit.
    raise SystemExit(143)
