"""Entry point: does as little as possible before the command is known."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(argv: "list[str] | None" = None) -> int:
    """Runs one command and returns its exit code; never raises."""
    words = sys.argv[1:] if argv is None else argv
    _open_streams()
    try:
        if words[:1] in (["--version"], ["-V"]):
            from danlu import __version__

            sys.stdout.write(f"danlu {__version__}\n")
            code = 0
        else:
            from danlu.cli.dispatch import dispatch

            code = dispatch(words)
        sys.stdout.flush()
        return code
    except BaseException as error:
        from danlu.cli.failure import explain

        return explain(error)


def _open_streams() -> None:
    """Closed streams are ignored; streams that cannot encode Chinese write question marks."""
    if sys.stdout is None:
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open("/dev/null", "w")  # noqa: SIM115
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="replace")


def start() -> "NoReturn":
    """Exits at once: tearing down the interpreter takes longer than listing jobs."""
    import os

    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)
