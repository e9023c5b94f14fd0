"""`danlu convert`: converts job files of other platforms."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.commands.submit import read_text, reading
from danlu.cli.failure import Failure, complain
from danlu.cli.foreign import usual_name
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError, Lost, NoServer, Unreachable
from danlu.sdk.fastjson import dumps

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
        name = usual_name(path, text, args.get("dialect"))
        answer = _ask(session, args, text.encode(), {} if name is None else {"name": name})
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


def _explain(answer: dict[str, Any], source: str) -> None:
    language = answer.get("language")
    key = "convert.cannot_read_as" if language else "convert.cannot"
    complain(t(key, file=source, language=language))
    for detail in answer["details"]:
        line = detail.get("line")
        place = f"{source}:{line}: " if line else f"{source}: "
        sys.stderr.write(f"  {place}{pick(detail, 'message')}\n")


def _ask(session: Session, args: Args, body: bytes, offers: dict[str, str]) -> dict[str, Any]:
    """The server's answer, or that of the local converter."""
    if not args.flag("offline") and not args.all("volume"):
        try:
            offered = {"offers": dumps(offers)} if offers else {}
            found: Any = session.client.convert(body, **reading(args), **offered)
            return dict(found)
        except ApiError as error:
            if error.status == 422 and error.code == "invalid_job":
                return {"details": error.details, "language": _language(error)}
        except (NoServer, Unreachable, Lost):
            pass
    return _offline(args, body, offers)


def _language(error: ApiError) -> str:
    """The server's message says how it read the file."""
    _, found, rest = error.message_en.partition("(read as ")
    return rest.rstrip(")") if found else ""


def _offline(args: Args, body: bytes, offers: dict[str, str]) -> dict[str, Any]:
    import subprocess

    from danlu.sdk.fastjson import loads

    words = [sys.executable, "-m", "danlu.server.convert", "--offers", dumps(offers)]
    for option in ("dialect", "as"):
        if args.get(option):
            words += [f"--{option}", str(args.get(option))]
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
