"""From options to the keys of a job."""

from __future__ import annotations

import os

from danlu.cli.options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args

PLAIN = {
    "memory": "memory",
    "shm": "shm",
    "queue": "queue",
    "group": "group",
    "name": "name",
    "kind": "kind",
    "image": "image",
    "array": "array",
    "time": "time_limit",
    "idle": "idle_limit",
    "grace": "grace",
    "log-cap": "log_cap",
}
NUMBERS = {"cpus": "cpus", "priority": "priority", "retries": "retries", "count": "count"}
FLAGS = {"split-output": "split_output", "held": "held", "preemptible": "preemptible"}

# Variables of the caller's session rather than the work, and those the platform sets.
MOST_PORTS = 64
NOT_CARRIED = frozenset(
    (
        *("_", "SHLVL", "PWD", "OLDPWD", "HOME", "USER", "LOGNAME", "MAIL", "SHELL", "TERM"),
        *("HOSTNAME", "DISPLAY", "XAUTHORITY", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS"),
        "CUDA_VISIBLE_DEVICES",
    )
)
NOT_CARRIED_PREFIXES = ("DANLU_", "SSH_", "XDG_", "BASH_FUNC_", "LC_", "VSCODE_", "TMUX")


def job_keys(args: Args) -> dict[str, Any]:
    """The keys set by the options."""
    job: dict[str, Any] = {}
    for option, key in PLAIN.items():
        value = args.get(option)
        if value is not None:
            job[key] = _text(value, f"--{option}")
    for option, key in NUMBERS.items():
        value = args.get(option)
        if value is not None:
            job[key] = number(value)
    for option, key in FLAGS.items():
        if args.flag(option):
            job[key] = True
    if args.flag("per-gpu"):
        job["processes"] = "per_gpu"
    _add_gpus(job, args)
    _add_environment(job, args)
    _add_lists(job, args)
    for setting in args.all("set"):
        set_key(job, setting)
    return job


def number(text: str) -> int | float | str:
    """A number if it is one; else the text, for the server to reject."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return value if -1e18 < value < 1e18 else text


def _add_gpus(job: dict[str, Any], args: Args) -> None:
    gpus, model = args.get("gpus"), args.get("model")
    if gpus is not None:
        job["gpus"] = number(gpus)
    if model is not None:
        if ":" in (gpus or ""):
            raise UsageError("flags.model_twice", args.command.name, gpus=gpus, model=model)
        job["gpus"] = {"count": number(gpus or "1"), "model": _text(model, "--model")}


def _add_environment(job: dict[str, Any], args: Args) -> None:
    env: dict[str, str] = carried_environment() if args.flag("carry-env") else {}
    for given in args.all("env"):
        name, equals, value = _text(given, "--env").partition("=")
        if not name:
            raise UsageError("flags.env_name", args.command.name, value=given)
        if not equals:
            found = os.environ.get(name)
            if found is None:
                raise UsageError("flags.env_missing", args.command.name, name=name)
            value = _text(found, name)
        env[name] = value
    if env:
        job["env"] = env


def carried_environment() -> dict[str, str]:
    """The caller's environment, without variables of the session or the platform."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_CARRIED
        and not name.startswith(NOT_CARRIED_PREFIXES)
        and _is_text(name)
        and _is_text(value)
    }


def _add_lists(job: dict[str, Any], args: Args) -> None:
    secrets = [_text(given, "--secret") for given in args.all("secret")]
    if secrets:
        pairs = (given.partition("=") for given in secrets)
        job["secrets"] = {variable: name or variable for variable, _, name in pairs}
    datasets = [_text(given, "--dataset") for given in args.all("dataset")]
    if datasets:
        job["datasets"] = datasets
    mounts = [_text(given, "--mount") for given in args.all("mount")]
    if mounts:
        job["mounts"] = mounts
    ports = [_text(given, "--port") for given in args.all("port")]
    if len(ports) == 1 and ports[0].isdigit():
        if int(ports[0]) > MOST_PORTS:
            raise UsageError("flags.port", args.command.name, value=ports[0])
        job["ports"] = int(ports[0])
    elif ports:
        parts = (given.replace(":", "=").partition("=") for given in ports)
        job["ports"] = {name: number(count or "1") for name, _, count in parts}
    chosen = (("node", "only"), ("exclude", "exclude"), ("label", "labels"))
    nodes = {
        key: [_text(given, f"--{option}") for given in args.all(option)] for option, key in chosen
    }
    if any(nodes.values()):
        job["nodes"] = {key: names for key, names in nodes.items() if names}
    after = [_dependency(_text(given, "--after")) for given in args.all("after")]
    if after:
        job["after"] = after


def _dependency(given: str) -> str | dict[str, str]:
    job, colon, when = given.rpartition(":")
    return {"job": job, "when": when} if colon else given


def set_key(job: dict[str, Any], setting: str) -> None:
    """`key=value` or `outer.inner=value`; the value is JSON if it parses as such."""
    path, equals, value = setting.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise UsageError("flags.set", value=setting)
    place: Any = job
    for key in keys[:-1]:
        if isinstance(place, list) and key.isdigit() and int(key) < len(place):
            place = place[int(key)]
        elif isinstance(place, dict):
            if not isinstance(place.get(key), (dict, list)):
                place[key] = {}
            place = place[key]
        else:
            raise UsageError("flags.set_path", value=setting, part=key)
    last = keys[-1]
    if isinstance(place, list) and last.isdigit() and int(last) < len(place):
        place[int(last)] = _value(value)
    elif isinstance(place, dict):
        place[last] = _value(value)
    else:
        raise UsageError("flags.set_path", value=setting, part=last)


def _value(text: str) -> Any:
    from danlu.sdk.fastjson import loads

    try:
        return loads(_text(text, "--set"))
    except (ValueError, RecursionError):
        return text


def add_command(job: dict[str, Any], args: Args) -> None:
    """The words after the options, unchanged; or a script and its arguments."""
    words = [_text(word, word) for word in args.tail or []]
    script = args.get("script")
    if script is not None:
        job["script"] = _text(script, "--script")
        if words:
            job["args"] = words
    elif words:
        job["command"] = words
    else:
        missing = "flags.no_command_submit" if args.command.name == "submit" else "flags.no_command"
        raise UsageError(missing, args.command.name)


def workdir(args: Args) -> str | None:
    """The job's working directory: the current one by default ("-": the task's own)."""
    given = args.get("workdir")
    if given == "-" or (given is None and args.flag("carry")):
        return None
    if given is not None:
        return _text(os.path.normpath(os.path.join(current_folder(), given)), "--workdir")
    # A container has its own folders; the caller's would only exist there by accident.
    if args.get("image"):
        return None
    here = _text(current_folder(), "PWD")
    if os.geteuid() == 0 and _is_closed(here):
        from danlu.cli.terminal import say
        from danlu.cli.texts import t

        say(t("flags.closed_folder", folder=here))
        return None
    return here


def _is_closed(folder: str) -> bool:
    """Root can enter it, but tasks run as their users, who may not."""
    while os.stat(folder).st_mode & 0o001:
        if folder == "/":
            return False
        folder = os.path.dirname(folder)
    return True


def current_folder() -> str:
    """The current folder, by the shell's name for it if that is correct."""
    try:
        real = os.getcwd()
    except OSError:
        raise UsageError("flags.no_folder") from None
    named = os.environ.get("PWD", "")
    try:
        if os.path.isabs(named) and os.path.samefile(named, real):
            return named
    except OSError:
        pass
    return real


def _text(value: str, what: str) -> str:
    if not _is_text(value):
        raise UsageError("flags.not_text", what=what.encode("utf-8", "replace").decode())
    return value


def _is_text(value: str) -> bool:
    """False for bytes that are not UTF-8, which reach Python as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
