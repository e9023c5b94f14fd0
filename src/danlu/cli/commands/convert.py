"""`danlu convert`: the native job that a file of another platform means."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.commands.submit import read_text, reading
from danlu.cli.failure import Failure, complain
from danlu.cli.foreign import script_name
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError, Lost, NoServer, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session


def convert(session: Session, args: Args) -> int:
    worst = codes.OK
    pieces: list[str] = []
    found: list[dict[str, Any]] = []
    for path in args.words:
        source, text = read_text(path)
        answer = _ask(session, args, text.encode(), _offers(source, text))
        if "details" in answer:
            _explain(answer, source)
            worst = codes.USAGE
            continue
        for note in answer["notes"]:
            line = note.get("line")
            place = f"{source}:{line}: " if line else f"{source}: "
            sys.stderr.write(f"{place}{pick(note, '')}\n")
        pieces += [job["yaml"] for job in answer["jobs"]]
        found.append(answer)
    if session.json:
        session.print_json(found[0] if len(args.words) == 1 and found else found)
    else:
        sys.stdout.write("---\n".join(pieces))
    return worst


def _offers(source: str, text: str) -> str | None:
    """What a file is given that does not say it itself, as JSON."""
    from danlu.sdk.fastjson import dumps

    name = script_name(source, text)
    return None if name is None else dumps({"name": name})


def _explain(answer: dict[str, Any], source: str) -> None:
    language = answer.get("language")
    key = "convert.cannot_read_as" if language else "convert.cannot"
    complain(t(key, file=source, language=language))
    for detail in answer["details"]:
        line = detail.get("line")
        place = f"{source}:{line}: " if line else f"{source}: "
        sys.stderr.write(f"  {place}{pick(detail, 'message')}\n")


def _ask(session: Session, args: Args, body: bytes, offers: str | None) -> dict[str, Any]:
    """The server's answer, or that of a reader on this machine."""
    if not args.flag("offline") and not args.all("volume"):
        try:
            found: Any = session.client.convert(body, offers=offers, **reading(args))
            return dict(found)
        except ApiError as error:
            if error.status == 422 and error.code == "invalid_job":
                return {"details": error.details, "language": _language(error)}
        except (NoServer, Unreachable, Lost):
            pass
    return _offline(args, body, offers)


def _language(error: ApiError) -> str:
    """The server says in its message how it read the file."""
    _, found, rest = error.message_en.partition("(read as ")
    return rest.rstrip(")") if found else ""


def _offline(args: Args, body: bytes, offers: str | None) -> dict[str, Any]:
    import subprocess

    from danlu.sdk.fastjson import loads

    words = [sys.executable, "-m", "danlu.server.convert"]
    for option in ("dialect", "as"):
        if args.get(option):
            words += [f"--{option}", str(args.get(option))]
    if offers is not None:
        words += ["--offers", offers]
    for setting in args.all("config"):
        words += ["--set", setting]
    for volume in args.all("volume"):
        words += ["--volume", volume]
    done = subprocess.run(words, input=body, capture_output=True, check=False, env=dict(os.environ))
    try:
        answer: dict[str, Any] = loads(done.stdout.decode())
    except ValueError:
        cause = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Failure("convert.no_reader", codes.TROUBLE, cause=cause) from None
    return answer
