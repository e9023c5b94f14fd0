"""Every failure as a message and an exit code; a traceback only with DANLU_DEBUG."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.options import UsageError
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.jobfile import JobFile
    from danlu.sdk.errors import ApiError, Unreachable


class Failure(Exception):
    """A command that cannot go on; `key` names the text with the reason and remedy."""

    def __init__(self, key: str, code: int = codes.TROUBLE, **params: object) -> None:
        super().__init__(key)
        self.key = key
        self.code = code
        self.params = params


def complain(text: str) -> None:
    """Prints a message on stderr; if that is closed, it is ignored."""
    try:  # noqa: SIM105 - contextlib costs an import
        sys.stdout.flush()
    except OSError:
        pass  # a full disk behind the output is often the reason
    try:
        sys.stderr.write(f"danlu: {text}\n")
        sys.stderr.flush()
    except OSError:
        pass


def explain(error: BaseException) -> int:
    """Prints what happened on stderr and returns the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else codes.OK
    if isinstance(error, BrokenPipeError):
        # The reader is gone; flushing the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return codes.SIGNALLED + codes.SIGPIPE
    if isinstance(error, KeyboardInterrupt):
        return codes.SIGNALLED + codes.SIGINT
    if os.environ.get("DANLU_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, UsageError):
        complain(t(error.key, **error.params))
        if error.usage:
            complain(t("usage.form", form=error.usage))
        where = f"danlu {error.command} --help" if error.command else "danlu help"
        complain(t("usage.see_help", command=where))
        return codes.USAGE
    if isinstance(error, Failure):
        complain(t(error.key, **error.params))
        return error.code
    return _explain_server(error)


def _explain_server(error: BaseException) -> int:
    from danlu.sdk import errors
    from danlu.sdk.context import ContextError

    if isinstance(error, errors.ApiError):
        return explain_api(error)
    if isinstance(error, errors.Unreachable):
        complain(t(_why_unreachable(error), where=error.where, cause=error.cause))
        return codes.TROUBLE
    if isinstance(error, errors.Lost):
        complain(t("server.lost", where=error.where, cause=error.cause))
        return codes.TROUBLE
    if isinstance(error, errors.NoServer):
        name = str(error)
        complain(t("server.no_context", name=name) if name else t("server.none"))
        return codes.TROUBLE
    if isinstance(error, errors.BadAddress):
        complain(t("server.bad_address", address=str(error)))
        return codes.USAGE
    if isinstance(error, errors.ProtocolError):
        complain(t("server.strange", cause=str(error)))
        return codes.TROUBLE
    if isinstance(error, ContextError):
        complain(t("context.unreadable", path=error.path, cause=error.cause))
        return codes.TROUBLE
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        complain(t("file.trouble", cause=f"{place}{error.strerror or error}"))
        return codes.TROUBLE
    complain(t("internal", kind=type(error).__name__, cause=str(error)))
    return codes.INTERNAL


def _why_unreachable(error: Unreachable) -> str:
    """A server that cannot be trusted, or does not speak TLS, needs different advice."""
    cause = str(error.cause)
    if "CERTIFICATE_VERIFY_FAILED" in cause:
        return "server.untrusted"
    if "WRONG_VERSION_NUMBER" in cause:
        return "server.no_tls"
    named = os.environ.get("DANLU_CA_FILE") and error.where.startswith("https:")
    if named and ("NO_CERTIFICATE" in cause or "No such file" in cause):
        return "server.ca_file"
    return "server.unreachable"


def explain_api(error: ApiError, file: JobFile | None = None) -> int:
    """The server's error, with the places in the job file it refers to."""
    if error.details:
        complain(pick(error, "message") or t("server.refused", status=error.status))
        for detail in error.details:
            place = file.place(detail.get("line")) if file else ""
            sys.stderr.write(f"  {place}{_problem(detail)}\n")
    else:
        complain(pick(error, "message") or t("server.refused", status=error.status))
    if error.code == "not_danlu" or error.code.startswith("http_"):
        if error.server:
            complain(t("server.asked", server=error.server))
        return codes.TROUBLE if error.code == "not_danlu" else exit_code(error.status)
    if error.status == 401 and error.code != "wrong_password":
        source = error.token_source
        complain(t("server.login_instead_of", source=source) if source else t("server.login"))
    return exit_code(error.status)


def _problem(detail: dict[str, object]) -> str:
    text = str(pick(detail, "message") or "")
    key = str(detail.get("key") or "")
    return text if not key or text.startswith(key) else f"{key}: {text}"


def exit_code(status: int) -> int:
    if status in (401, 403):
        return codes.DENIED
    if status == 404:
        return codes.NOT_FOUND
    if status == 409:
        return codes.CONFLICT
    return codes.USAGE if 400 <= status < 500 and status != 429 else codes.TROUBLE
