"""Where the command line begins: as little as possible before the command is known."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(argv: "list[str] | None" = None) -> int:
    """Runs one command and gives back its exit code; no exception leaves this function."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] in (["--version"], ["-V"]):
        from danlu import __version__

        sys.stdout.write(f"danlu {__version__}\n")
        return 0
    try:
        from danlu.cli.dispatch import dispatch

        code = dispatch(words)
        sys.stdout.flush()
        return code
    except BaseException as error:
        from danlu.cli.failure import explain

        return explain(error)


def start() -> "NoReturn":
    """Ends the process at once: tearing the interpreter down costs more than listing jobs."""
    import os

    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)
