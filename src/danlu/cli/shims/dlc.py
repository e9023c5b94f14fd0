"""`dlc`: the DLC client, in both generations of its syntax, for a Danlu server."""

from __future__ import annotations

import sys

from danlu.cli.shims.flags import Flags
from danlu.cli.shims.trouble import Trouble

USAGE = """dlc config --username U --password P --endpoint HOST [--region R]
dlc config --access_id I --access_key K --endpoint HOST [--protocol http|https]
dlc create job --kind PyTorchJob --params_file FILE | --name N --worker_count 1 ...
dlc submit pytorchjob|tfjob|xgboostjob|rayjob --job_file FILE | --name N --workers 1 ...
dlc get workspace | job [ID] | pod JOB POD | specs | quota
dlc logs JOB [POD] [--max_events_num 2000]
dlc stop job ID [-f]
dlc completion bash|zsh
"""


def dlc(words: list[str]) -> int:
    flags = read(words)
    verb, *rest = flags.words or [""]
    if not verb or flags.has("help") or verb == "help":
        sys.stdout.write(USAGE)
        return 0
    if verb == "version" or flags.has("version"):
        from danlu import __version__

        sys.stdout.write(f"dlc (danlu {__version__})\n")
        return 0
    if verb == "config":
        from danlu.cli.shims.dlc_config import configure

        return configure(flags)
    if verb in ("create", "submit"):
        from danlu.cli.shims.dlc_submit import submit

        return submit(flags, rest)
    if verb in ("get", "logs", "stop", "delete", "update"):
        from danlu.cli.shims import dlc_jobs

        return dlc_jobs.act(verb, rest, flags)
    if verb == "completion":
        sys.stdout.write(_COMPLETION)
        return 0
    raise Trouble(f"unknown command {verb!r}; see dlc help", f"没有命令 {verb!r}；见 dlc help", 2)


def read(words: list[str]) -> Flags:
    """Flags may appear anywhere: `--name value`, `--name=value`, and switches without a value."""
    found = Flags()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word == "-":
            found.words.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = _SHORT.get(name, name) if not word.startswith("--") else name
        if equals:
            found.add(name, value)
        elif name in _SWITCHES:
            # A switch may be followed by its value.
            if name not in _BARE and at < len(words) and words[at] in ("true", "false"):
                value = words[at]
                at += 1
            found.add(name, value or "true")
        elif at < len(words):
            found.add(name, words[at])
            at += 1
        else:
            raise Trouble(f"flag needs an argument: --{name}", f"选项 --{name} 需要一个值", 2)
    return found


_SHORT = {
    **{"f": "force", "c": "config", "h": "help", "q": "quiet", "v": "version"},
    **{"n": "name", "w": "workspace_id", "r": "region", "e": "endpoint"},
}
_BARE = ("help", "version", "force", "quiet")
_SWITCHES = (
    *_BARE,
    *("interactive", "events", "show_detail", "chief", "aimaster_enable"),
    *("enable_preemptible_job", "enable_priority_preemption"),
)
_COMPLETION = """_dlc() {
  local words="config create submit get logs stop completion job workspace pod specs quota"
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _dlc dlc
"""
