"""`danlu ssh` and `danlu ssh-config`: into running jobs with the system's own ssh."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.last import job_or_last
from danlu.cli.options import UsageError
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

SUFFIX = ".danlu"
CONFIG = "danlu_config"
_MOST_TASKS = 64  # of one job that get a name each


class Door:
    """Where SSH clients come in, and as whom."""

    def __init__(self, session: Session) -> None:
        server = session.client.server()
        port = server.get("ssh_port")
        if not port:
            raise Failure("ssh.off", codes.CONFLICT)
        self.port = str(port)
        self.host_key = server.get("ssh_host_key") or ""
        address = session.client.wire.address
        self.host = "127.0.0.1" if address.path else address.host
        self.user = session.client.whoami()["user"]

    def short(self, ref: str) -> str:
        """The name of a job as part of a user name: no /, which programs take for a path."""
        return ref.removeprefix(f"{self.user}/").replace("/", "+")

    def line(self, ref: str) -> str:
        return f"ssh -p {self.port} {self.user}+{self.short(ref)}@{self.host}"

    def block(self, name: str) -> str:
        return (
            f"Host {name}{SUFFIX}\n    HostName {self.host}\n    Port {self.port}\n"
            f"    User {self.user}+{name}\n"
        )


def ssh(session: Session, args: Args) -> int:
    """Replaces this process with ssh."""
    if session.json:
        raise UsageError("logs.no_json", "ssh")
    door = Door(session)
    name = door.short(job_or_last(session, args))
    words = ["ssh", "-p", door.port, "-l", f"{door.user}+{name}", door.host, *(args.tail or [])]
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp("ssh", words)  # noqa: S606 - the user's own
    except FileNotFoundError:
        raise Failure("ssh.no_client", line=" ".join(words)) from None


def ssh_config(session: Session, args: Args) -> int:
    door = Door(session)
    text = "\n".join(door.block(name) for name in _names(session, door, args.words))
    if text and door.host_key:
        note = t("ssh.host_key", fingerprint=door.host_key)
        text = f"# {note}\n{text}"
    if not args.flag("install"):
        if session.json:
            return session.print_json({"config": text})
        sys.stdout.write(text or t("ssh.none_running") + "\n")
        return codes.OK
    if args.words:
        raise UsageError("ssh.install_all", "ssh-config")
    folder = os.path.expanduser("~/.ssh")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        _replace(f"{folder}/{CONFIG}", text)
        _refer_to(f"{folder}/config", args)
    except OSError as error:
        raise Failure("ssh.cannot_write", path=error.filename, cause=error.strerror) from None
    if session.json:
        return session.print_json({"config": text, "file": f"{folder}/{CONFIG}"})
    sys.stdout.write(t("ssh.installed", file=f"{folder}/{CONFIG}") + "\n")
    return codes.OK


def _names(session: Session, door: Door, words: list[str]) -> list[str]:
    if words:
        return [door.short(words[0])]
    names: list[str] = []
    for job in session.client.jobs(owner=door.user, state="running", limit=200)["jobs"]:
        name = door.short(job["ref"])
        names.append(name)
        names += [f"{name}.{n}" for n in range(1, min(job.get("task_count") or 1, _MOST_TASKS))]
    for each in session.client.environments.all():
        if each["state"] == "running":
            names.append(door.short(f"{each['owner']}/{each['name']}"))
    return names


def _replace(path: str, text: str) -> None:
    """As a whole: another ssh may be reading it."""
    draft = f"{path}.{os.getpid()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(draft, path)


def _refer_to(config: str, args: Args) -> None:
    """Once. The list of jobs is renewed whenever one of the names is used."""
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            there = file.read()
    except FileNotFoundError:
        there = ""
    if f"Include {CONFIG}" in there:
        return
    chosen = "".join(f" --{name} {args.get(name)}" for name in ("context",) if args.flag(name))
    renew = f"{sys.executable} -m danlu.cli ssh-config --install{chosen}"
    lines = f'Match originalhost *{SUFFIX} exec "{renew}"\nMatch all\nInclude {CONFIG}\n'
    fd = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n" * bool(there and not there.endswith("\n")) + lines)
