"""Where a foreign command begins. As little as possible before it is known what to do."""

import sys

NAMES = (
    *("dlc", "sbatch", "srun", "salloc", "squeue", "scancel", "sinfo", "sacct", "scontrol"),
    *("ilaunch", "zlaunch"),
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(name: str, words: "list[str] | None" = None) -> int:
    """Runs one command and gives back its exit code; no exception leaves this function."""
    from danlu.cli.main import _open_streams

    _open_streams()
    try:
        module = __import__(f"danlu.cli.shims.{name}", fromlist=["*"])
        code: int = getattr(module, name)(sys.argv[1:] if words is None else words)
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
