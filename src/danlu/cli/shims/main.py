"""Entry point of the foreign commands; does as little as possible before the command is known."""

import sys

NAMES = (
    *("dlc", "sbatch", "srun", "salloc", "squeue", "scancel", "sinfo", "sacct", "scontrol"),
    *("ilaunch", "zlaunch"),
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(name: str, words: "list[str] | None" = None) -> int:
    """Runs one command and returns its exit code; never raises."""
    from danlu.cli.main import _open_streams

    _open_streams()
    words = sys.argv[1:] if words is None else words
    try:
        if words[:1] == ["--help"] and name not in ("dlc", "sbatch"):
            from danlu.cli.shims.usage import usage

            sys.stdout.write(usage(name) + "\n")
            sys.stdout.flush()
            return 0
        module = __import__(f"danlu.cli.shims.{name}", fromlist=["*"])
        code: int = getattr(module, name)(words)
        sys.stdout.flush()
        return code
    except BaseException as error:
        from danlu.cli.shims.trouble import explain

        return explain(name, error)


def start(name: str) -> "NoReturn":
    import os

    code = main(name)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)
