"""`danlu registry`: the platform's image registry."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import moment, seconds, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_WORDS = {"show": (0, 0), "list": (0, 1), "delete": (1, -1), "gc": (0, 0)}


def registry(session: Session, args: Args) -> int:
    verb, *words = args.words
    least, most = _WORDS.get(verb, (1, 0))
    if len(words) < least or (len(words) > most >= 0):
        raise misused(args)
    if verb == "list":
        return _images(session, words[0]) if words else _list(session, args.flag("all"))
    if verb == "delete":
        return _delete(session, args, words)
    return _collect(session, args) if verb == "gc" else _show(session)


def _show(session: Session) -> int:
    found = session.client.registry.status()
    if session.json:
        return session.print_json(found)
    address = found["address"]
    if not address:
        sys.stdout.write(t("registry.none") + "\n")
        return codes.OK
    name = session.client.whoami()["user"]
    lines = [t("registry.address", address=address)]
    if found["read_only"]:
        lines.append(t("registry.read_only"))
    lines += [
        "",
        t("registry.how"),
        f"  docker login -u {name} {address}",
        f"  docker tag x:1 {address}/{name}/x:1",
        f"  docker push {address}/{name}/x:1",
        f"  danlu run --image {address}/{name}/x:1 -- COMMAND",
        t("registry.token"),
    ]
    if not found["tls"]:
        lines.append(t("registry.plain", address=address))
    lines += [t("registry.mirror", address=address, name=each) for each in found["mirrors"]]
    lines += ["", *(_usage(each) for each in found["usage"])]
    sys.stdout.write("\n".join(lines) + "\n")
    return codes.OK


def _usage(each: model.RegistryUsage) -> str:
    quota = t("registry.no_quota") if each["quota"] is None else size(each["quota"])
    return t(f"registry.used_{each['kind']}", name=each["name"], used=size(each["used"]), of=quota)


def _list(session: Session, everybody: bool) -> int:
    found = session.client.registry.repositories(everybody=everybody)
    if session.json:
        return session.print_json({"repositories": found})
    if not found:
        sys.stdout.write(t("registry.empty") + "\n")
        return codes.OK
    rows = [
        [each["name"], str(each["tags"]), size(each["size"]), moment(each["pushed_at"])]
        for each in found
    ]
    write_table([t(f"registry.head_{head}") for head in ("name", "tags", "size", "at")], rows)
    return codes.OK


def _images(session: Session, repository: str) -> int:
    found = session.client.registry.images(repository)
    if session.json:
        return session.print_json({"images": found})
    rows = [
        [
            each["tag"] or t("registry.untagged"),
            size(each["size"]),
            moment(each["at"]),
            moment(each["used"]),
            each["digest"],
        ]
        for each in found
    ]
    heads = ("tag", "size", "at", "used", "digest")
    write_table([t(f"registry.head_{head}") for head in heads], rows)
    return codes.OK


def _delete(session: Session, args: Args, names: list[str]) -> int:
    listed = ", ".join(names)
    make_sure(args, "sure.registry", name=printable(listed))
    total = 0
    for name in names:
        total += session.client.registry.delete(*_parts(name))
    if session.json:
        return session.print_json({"deleted": total})
    sys.stdout.write(t("registry.deleted", name=printable(listed), count=total) + "\n")
    return codes.OK


def _parts(name: str) -> tuple[str, str]:
    """alice/x:1 or alice/x@sha256:..., perhaps with the registry's address before it."""
    first, _, rest = name.partition("/")
    if rest and (set(first) & set(".:[") or first == "localhost"):
        name = rest
    repository, at, digest = name.partition("@")
    if at:
        return repository.partition(":")[0], digest
    repository, _, tag = name.partition(":")
    return repository, tag


def _collect(session: Session, args: Args) -> int:
    text = args.get("grace")
    grace = None
    if text is not None:
        grace = seconds(text)
        if grace is None:
            raise UsageError("usage.not_a_time", "registry", option="--grace", value=text)
    found = session.client.registry.collect(grace)
    if session.json:
        return session.print_json(found)
    words = {"blobs": found["blobs"], "size": size(found["bytes"])}
    sys.stdout.write(t("registry.collected", **words) + "\n")
    return codes.OK
