"""`danlu audit`: who did what, when and from where."""

from __future__ import annotations

import sys

from danlu.cli.formats import clock, moment_of
from danlu.cli.options import UsageError
from danlu.cli.table import printable, screen_columns, width, wrapped, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def audit(session: Session, args: Args) -> int:
    """The newest lines, oldest first."""
    page = session.client.people.audit(
        actor=args.get("by"),
        act=args.get("act"),
        thing=args.get("thing"),
        since=_since(args),
        limit=args.integer("limit"),
    )
    if session.json:
        return session.print_json(page)
    lines = page["lines"][::-1]
    if not lines:
        sys.stdout.write(t("audit.none") + "\n")
        return 0
    if page["next"] is not None:
        sys.stdout.write(t("audit.more", limit=len(lines) * 2) + "\n")
    heads = [t(f"audit.head_{head}") for head in ("at", "actor", "act", "address", "what")]
    rows = [
        [clock(each["at"]), each["actor"], each["act"], each["address"] or "-", pick(each, "")]
        for each in lines
    ]
    columns = screen_columns()
    if columns is None or _fits(heads, rows, columns):
        write_table(heads, rows)
        return 0
    # The values are at the end of the sentence: it gets lines of its own rather than be cut.
    for at, actor, act, address, what in rows:
        sys.stdout.write(printable(f"{at}  {actor}  {act}  {address}") + "\n")
        for line in wrapped(printable(what), columns - 2):
            sys.stdout.write(f"  {line}\n")
    return 0


def _fits(heads: list[str], rows: list[list[str]], columns: int) -> bool:
    widths = [max(width(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    return sum(widths) + 2 * (len(heads) - 1) <= columns


def _since(args: Args) -> float | None:
    given = args.get("since")
    if given is None:
        return None
    at = moment_of(given)
    if at is None:
        raise UsageError("usage.not_a_moment", "audit", option="--since", value=given)
    return at
