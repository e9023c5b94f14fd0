"""`danlu dataset`: the catalogue of what tasks read at /gdata/NAME."""

from __future__ import annotations

import sys
import time

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import moment, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model
    from danlu.sdk.data import Data

_PAUSE = 0.5  # seconds


def dataset(session: Session, args: Args) -> int:
    verb, *words = args.words
    if verb == "list" and not words:
        return _list(session)
    act = _ACTS.get(verb)
    if act is None or len(words) != 1:
        raise misused(args)
    data = session.client.data
    found = act(data, words[0], args)
    while args.flag("wait") and _is_busy(found):
        time.sleep(_PAUSE)
        found = data.dataset(words[0])
    if session.json:
        return session.print_json(found)
    if verb == "remove":
        sys.stdout.write(t("dataset.gone", name=found["name"]) + "\n")
    else:
        _show(found)
    return codes.OK


def _show_one(data: Data, name: str, args: Args) -> model.Dataset:
    return data.dataset(name)


def _add(data: Data, name: str, args: Args) -> model.Dataset:
    return data.add_dataset(name, **_values(args))


def _set(data: Data, name: str, args: Args) -> model.Dataset:
    changes = _values(args)
    if not changes:
        raise UsageError("dataset.no_change", "dataset")
    return data.change_dataset(name, **changes)


def _accept(data: Data, name: str, args: Args) -> model.Dataset:
    return data.accept_dataset(name)


def _reject(data: Data, name: str, args: Args) -> model.Dataset:
    return data.reject_dataset(name, args.get("reason") or "")


def _measure(data: Data, name: str, args: Args) -> model.Dataset:
    return data.measure_dataset(name)


def _stage(data: Data, name: str, args: Args) -> model.Dataset:
    return data.stage_dataset(name, args.all("node"))


def _unstage(data: Data, name: str, args: Args) -> model.Dataset:
    return data.unstage_dataset(name)


def _remove(data: Data, name: str, args: Args) -> model.Dataset:
    make_sure(args, "dataset.sure", name=name)
    return data.remove_dataset(name)


_ACTS: dict[str, Callable[[Data, str, Args], model.Dataset]] = {
    "show": _show_one,
    "add": _add,
    "propose": _add,
    "set": _set,
    "accept": _accept,
    "reject": _reject,
    "measure": _measure,
    "stage": _stage,
    "unstage": _unstage,
    "remove": _remove,
}


def _values(args: Args) -> dict[str, Any]:
    names = ("volume", "folder", "title", "licence", "how", "keeper")
    values: dict[str, Any] = {
        name: given for name in names if (given := args.get(name)) is not None
    }
    if args.flag("everywhere") and args.flag("on-request"):
        raise UsageError("usage.not_both", "dataset", one="--everywhere", other="--on-request")
    if args.flag("everywhere") or args.flag("on-request"):
        values["everywhere"] = args.flag("everywhere")
    return values


def _is_busy(found: model.Dataset) -> bool:
    return found["measuring"] or any(copy["state"] == "copying" for copy in found["copies"])


def _list(session: Session) -> int:
    found = session.client.data.datasets()
    if session.json:
        return session.print_json({"datasets": found})
    rows = [
        [
            each["name"],
            _state(each),
            _size(each),
            "" if each["files"] is None else str(each["files"]),
            each["keeper"],
            each["licence"],
            ", ".join(copy["node"] for copy in each["copies"] if copy["state"] == "ready"),
            each["title"],
        ]
        for each in found
    ]
    heads = ("name", "state", "size", "files", "keeper", "licence", "copies", "title")
    write_table([t(f"dataset.head_{head}") for head in heads], rows)
    from danlu.cli.decisions import tell_of_datasets

    tell_of_datasets(session, found)
    return codes.OK


def _show(found: model.Dataset) -> None:
    lines = [
        ("name", found["name"]),
        ("title", found["title"]),
        ("state", _state(found)),
        ("reason", found["reason"]),
        ("path", found["path"]),
        ("volume", f"{found['volume']}/{found['folder']}".rstrip("/")),
        ("size", _size(found)),
        ("files", "" if found["files"] is None else str(found["files"])),
        ("fingerprint", found["fingerprint"]),
        ("licence", found["licence"]),
        ("keeper", found["keeper"]),
        ("nodes", ", ".join(found["nodes"]) or t("volume.all_nodes")),
        ("created", moment(found["created_at"])),
        ("how", found["how"]),
    ]
    for head, text in lines:
        if text:
            sys.stdout.write(f"{t(f'dataset.head_{head}')}: {printable(text)}\n")
    for copy in found["copies"]:
        text = t(
            f"dataset.copy_{copy['state']}",
            node=copy["node"],
            volume=copy["volume"],
            done=size(copy["done"]),
            detail=pick(copy, "detail"),
        )
        sys.stdout.write(f"{t('dataset.head_copies')}: {printable(text)}\n")


def _state(found: model.Dataset) -> str:
    return t(f"dataset.state_{found['state']}", by=found["proposed_by"])


def _size(found: model.Dataset) -> str:
    if found["measuring"]:
        return t("dataset.measuring")
    return "" if found["bytes"] is None else size(found["bytes"])
