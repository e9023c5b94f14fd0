"""`danlu shims install`: dlc, sbatch, squeue and others, unless the real ones exist."""

from __future__ import annotations

import os
import sys

from danlu.cli.failure import complain
from danlu.cli.options import UsageError
from danlu.cli.shims.main import NAMES
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def shims(session: Session, args: Args) -> int:
    from danlu.cli.shims.install import install, remove, target_folder

    verb, *names = args.words
    for name in names:
        if name not in NAMES:
            raise UsageError("shims.unknown", "shims", name=name, known=", ".join(NAMES))
    folder = target_folder(args.get("dir"))
    if verb == "remove":
        gone = remove(folder, names)
        if session.json:
            return session.print_json({"folder": folder, "removed": gone})
        for name in gone:
            sys.stdout.write(t("shims.removed", path=os.path.join(folder, name)) + "\n")
        if not gone:
            sys.stdout.write(t("shims.none", folder=folder) + "\n")
        return 0
    if verb != "install":
        raise UsageError("shims.verb", "shims", verb=verb)
    done, left = install(folder, names, args.flag("over"))
    on_path = folder in os.environ.get("PATH", "").split(os.pathsep)
    if session.json:
        told = {"folder": folder, "installed": done, "left_out": left, "on_path": on_path}
        return session.print_json(told)
    for name in done:
        sys.stdout.write(t("shims.installed", path=os.path.join(folder, name)) + "\n")
    for name, real in left.items():
        complain(t("shims.real", name=name, real=real))
    if done and not on_path:
        complain(t("shims.not_on_path", folder=folder))
    return 0
