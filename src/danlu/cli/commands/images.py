"""`danlu image`: what can be chosen, what is inside, who may use it."""

from __future__ import annotations

import sys
import time

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.failure import complain
from danlu.cli.formats import clock, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, width, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_WHICH = ("own", "ready", "shared", "proposed")
_CHECKS = {"ssh": "SSH", "lab": "JupyterLab", "code": "VS Code", "gpu": "GPU"}
_HEADS = ("name", "owner", "size", "verified", "nodes", "description")
_SIMPLE = ("propose", "accept", "reject")
_PAUSE = 0.5
_MANY = 40  # packages that are listed without --all


def image(session: Session, args: Args) -> int:
    verb, *words = args.words
    if verb in ("list", "saves") and not words:
        if verb == "list":
            return _list(session, args)
        from danlu.cli.commands.saving import saves

        return saves(session, args)
    if verb in ("share", "unshare") and len(words) > 1:
        return _share(session, verb, words[0], words[1:])
    if verb == "pull" and words:
        return _pull(session, args, words[0], words[1:])
    if len(words) != 1:
        raise misused(args)
    return _one(session, args, verb, words[0])


def _one(session: Session, args: Args, verb: str, name: str) -> int:
    ours, text = session.client.images, args.get("note") or ""
    if verb == "show":
        return _told(session, ours.show(name), args.flag("all"))
    if verb == "add":
        return _told(session, ours.add(name, text, ready=args.flag("ready")))
    if verb == "describe":
        return _told(session, ours.describe(name, text))
    if verb in _SIMPLE:
        act = {"propose": ours.propose, "accept": ours.accept, "reject": ours.reject}[verb]
        found = act(name, text)
        return _said(session, found, t(f"image.{verb}", name=found["name"]))
    if verb == "remove":
        make_sure(args, "sure.image", name=name)
        found = ours.remove(name)
        return _said(session, found, t("image.removed", name=found["name"]))
    if verb == "verify":
        return _verify(session, args, name)
    if verb == "build":
        return _build(session, args, name)
    if verb == "cancel":
        from danlu.cli.commands.saving import cancel

        return cancel(session, name)
    raise misused(args)


def _list(session: Session, args: Args) -> int:
    given = [which for which in _WHICH if args.flag(which)]
    if len(given) > 1:
        raise UsageError("usage.not_both", "image", one=f"--{given[0]}", other=f"--{given[1]}")
    found = session.client.images.all(given[0] if given else "all")
    if session.json:
        return session.print_json({"images": found})
    if not found:
        sys.stdout.write(t("image.none") + "\n")
        return codes.OK
    write_table([t(f"image.head_{head}") for head in _HEADS], [_row(each) for each in found])
    from danlu.cli.decisions import tell_of_images

    tell_of_images(session, found)
    return codes.OK


def _row(found: model.Image) -> list[str]:
    have = [each["node"] for each in found["nodes"] if each["state"] == "present"]
    mark = t("image.ready") if found["ready"] else ""
    text = found["description"].partition("\n")[0][:60]
    proposed = t("image.is_proposed") if found["proposal"] == "proposed" else ""
    if found["proposal"] == "rejected":
        proposed = t("image.is_rejected", note=found["proposal_note"].partition("\n")[0][:60])
    return [
        found["name"],
        found["owner"],
        size(found["size"]) if found["size"] else "-",
        _verified(found),
        ", ".join(have[:3]) + (f" +{len(have) - 3}" if len(have) > 3 else "") or "-",
        " ".join(part for part in (mark, proposed, text) if part) or "-",
    ]


def _verified(found: model.Image) -> str:
    """What exactly was tried."""
    if found["verified"] == "ok" and found["works"]:
        return ", ".join(_CHECKS.get(each, each) for each in found["works"])
    return t(f"image.verified_{found['verified']}")


def _share(session: Session, verb: str, name: str, people: list[str]) -> int:
    ours = session.client.images
    act = ours.share if verb == "share" else ours.unshare
    found = [act(name, *_party(person)) for person in people][-1]
    if session.json:
        return session.print_json(found)
    who = ", ".join(_party_words(each) for each in found["shares"])
    key = "image.shared" if who else "image.not_shared"
    sys.stdout.write(printable(t(key, name=found["name"], people=who)) + "\n")
    return codes.OK


def _party(text: str) -> tuple[str, str]:
    """alice, group:vision, everybody."""
    if text == "everybody":
        return "everybody", ""
    kind, colon, name = text.partition(":")
    return (kind, name) if colon and kind in ("user", "group") else ("user", text)


def _party_words(share: model.ImageShare) -> str:
    if share["kind"] == "everybody":
        return t("image.everybody")
    return share["name"] if share["kind"] == "user" else f"group:{share['name']}"


def _pull(session: Session, args: Args, name: str, nodes: list[str]) -> int:
    found = session.client.images.pull(name, nodes)
    while not args.flag("detach") and any(e["state"] == "pulling" for e in found["nodes"]):
        time.sleep(_PAUSE)
        found = session.client.images.show(name)
    if session.json:
        return session.print_json(found)
    asked = [each for each in found["nodes"] if not nodes or each["node"] in nodes]
    for each in asked:
        _tell_node(each)
    return codes.TROUBLE if any(each["state"] == "failed" for each in asked) else codes.OK


def _verify(session: Session, args: Args, name: str) -> int:
    gpus = args.integer("gpus") or 0
    found = session.client.images.verify(name, gpus=gpus, queue=args.get("queue"))
    while not args.flag("detach") and found["verified"] == "running":
        time.sleep(_PAUSE)
        found = session.client.images.show(found["id"])
    code = _told(session, found)
    return codes.TROUBLE if found["verified"] == "failed" else code


def _build(session: Session, args: Args, name: str) -> int:
    base = args.get("base")
    if base is None:
        raise UsageError("image.no_base", "image")
    parts = {kind: args.all(kind) for kind in ("apt", "pip", "conda")}
    about, queue = args.get("note") or "", args.get("queue")
    made = session.client.images.build(name, base, description=about, queue=queue, **parts)
    if session.json:
        return session.print_json(made)
    told = t("image.building", job=made["job"], image=made["image"])
    sys.stdout.write(printable(told) + "\n")
    return codes.OK


def _tell_node(each: model.ImageNode) -> None:
    detail = str(pick(each, "detail") or "")
    state = t(f"image.node_{each['state']}")
    line = f"{each['node']}: {state}"
    sys.stdout.write(printable(f"{line} ({detail})" if detail else line) + "\n")


def _said(session: Session, found: model.ImageDetail, text: str) -> int:
    if session.json:
        return session.print_json(found)
    sys.stdout.write(printable(text) + "\n")
    return codes.OK


def _told(session: Session, found: model.ImageDetail, everything: bool = False) -> int:
    if session.json:
        return session.print_json(found)
    inside = found["inside"]
    lines = [
        ("name", found["name"]),
        ("id", found["id"]),
        ("owner", found["owner"]),
        ("kind", t("image.ready") if found["ready"] else t(f"image.source_{found['source']}")),
        ("description", found["description"]),
        ("digest", found["digest"]),
        ("size", size(found["size"]) if found["size"] else ""),
        ("updated", clock(found["updated_at"])),
        ("shared", ", ".join(_party_words(each) for each in found["shares"])),
        ("proposal", t(f"image.proposal_{found['proposal']}") if found["proposal"] else ""),
        ("decided", f"{found['decided_by']}, {clock(at)}" if (at := found["decided_at"]) else ""),
        ("note", found["proposal_note"]),
        ("verified", _verified(found)),
    ]
    if inside is not None:
        lines += [
            ("os", inside["os"]),
            ("command", " ".join([*inside["entrypoint"], *inside["cmd"]])),
            ("workdir", inside["workdir"]),
        ]
    shown = [(t(f"image.field_{name}"), value) for name, value in lines if value]
    room = max(width(label) for label, _ in shown)
    for label, value in shown:
        sys.stdout.write(f"{label}{' ' * (room - width(label))}  {printable(value)}\n")
    for check in found["checks"]:
        name = _CHECKS.get(check["check"], check["check"])
        result = t(f"image.result_{check['result']}")
        detail = str(pick(check, "detail") or "")
        line = f"  {name}: {result}  {clock(check['at'])}  {check['job']}"
        sys.stdout.write(printable(f"{line}  {detail}" if detail else line) + "\n")
    for node in found["nodes"]:
        _tell_node(node)
    if inside is not None:
        _tell_packages(inside, everything)
    return codes.OK


def _tell_packages(inside: model.ImageInside, everything: bool) -> None:
    for kind, found in (("deb", inside["deb"]), ("pip", inside["pip"]), ("conda", inside["conda"])):
        if not found:
            continue
        some = found if everything else found[:_MANY]
        listed = ", ".join(f"{each['name']} {each['version']}" for each in some)
        more = len(found) - len(some)
        tail = t("image.more", count=more) if more else ""
        sys.stdout.write(printable(f"{kind} ({len(found)}): {listed}{tail}") + "\n")
    if inside["packages_state"] == "failed":
        complain(t("image.unread"))
