"""Queue names as people type them: an alias, a name, or a prefix."""

from __future__ import annotations

import os

from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def names(client: Any) -> list[str]:
    return [str(queue["name"]) for queue in client.queues()]


def nodes_of(client: Any) -> dict[str, list[str]]:
    """Queue -> names of its nodes."""
    queues = {str(queue["name"]): list(queue["nodes"]) for queue in client.queues()}
    if all(queues.values()):
        return queues
    every = [str(node["name"]) for node in client.nodes()]  # a queue that names none has all
    return {name: nodes or every for name, nodes in queues.items()}


def find(client: Any, asked: str) -> str:
    """Raises Trouble if nothing, or more than one queue, matches."""
    alias = aliases().get(asked)
    if alias:
        return alias
    known = names(client)
    if asked in known:
        return asked
    meant = [name for name in known if name.startswith(asked)]
    if len(meant) == 1:
        return meant[0]
    listed = ", ".join(meant or known)
    if meant:
        raise Trouble(
            f"queue {asked!r} is ambiguous: {listed}", f"队列 {asked!r} 可能是：{listed}", 2
        )
    raise Trouble(
        f"no such queue: {asked!r}; available: {listed}",
        f"没有队列 {asked!r}；现有：{listed}",
        2,
    )


def aliases() -> dict[str, str]:
    """Lines of `alias = queue` in the user's or the machine's file."""
    found: dict[str, str] = {}
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for path in ("/etc/danlu/queues", f"{base}/danlu/queues"):
        try:
            with open(path) as file:
                for line in file:
                    alias, equals, queue = line.partition("#")[0].partition("=")
                    if equals:
                        found[alias.strip()] = queue.strip()
        except OSError:
            continue
    return found
