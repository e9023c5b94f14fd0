"""All commands and options. Only the part of the table that a command is in is loaded."""

from danlu.cli.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Command

JOB, FILE, FOLDER = "<job>", "<file>", "<dir>"

COMMON = (
    Option("json"),
    Option("server", "URL"),
    Option("token", "TOKEN"),
    Option("context", "NAME"),
    Option("lang", "LANG", words="zh en"),
    Option("help", short="h"),
)

PATIENCE = Option("patience", "TIME")
TASK = Option("task", "N")
YES = Option("yes", short="y")

_PARTS = {
    "running": "run submit convert shell",
    "jobs": (
        "jobs show why usage events logs stop wait rerun hold release edit clone exec attach "
        "ssh ssh-config open key"
    ),
    "environments": "env save image tensorboard top secret registry",
    "storage": "volume ls cp mv rm mkdir du find bin dataset bundle disk",
    "cluster": "nodes cluster drain resume queue quota gpus",
    "people": "login logout whoami passwd context signup user group token invite audit",
    "server": "up init down admin snapshot replay check backup restore tools slurm",
    "meta": "shims completion version help complete-jobs",
}


def names() -> "list[str]":
    return " ".join(_PARTS.values()).split()


def find(name: str) -> "Command | None":
    for part, known in _PARTS.items():
        if name in known.split():
            return next(command for command in _load(part) if command.name == name)
    return None


def commands() -> "tuple[Command, ...]":
    """All of them, in the order of the help."""
    return tuple(command for part in _PARTS for command in _load(part))


def _load(part: str) -> "tuple[Command, ...]":
    module = __import__(f"danlu.cli.registry.{part}", fromlist=["COMMANDS"])
    found: tuple[Command, ...] = module.COMMANDS
    return found
