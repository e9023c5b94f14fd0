"""Shell completion scripts, generated from the command table."""

from __future__ import annotations

from danlu.cli.help import option_words, words
from danlu.cli.options import Command, Option
from danlu.cli.registry import COMMON, commands

JOB, FILE, FOLDER, COMMAND = "<job>", "<file>", "<dir>", "<command>"


def _visible() -> list[Command]:
    return [command for command in commands() if not command.hidden]


def _names(options: tuple[Option, ...]) -> list[str]:
    return [name for option in options for name in option.names]


def bash() -> str:
    cases = "".join(_bash_case(command) for command in _visible())
    names = " ".join(command.name for command in _visible())
    common = " ".join(_names(COMMON))
    return f"""# bash completion for danlu:  eval "$(danlu completion bash)"
_danlu_offer() {{
    case "$1" in
        "{JOB}") set -- -W "$(danlu complete-jobs 2>/dev/null)" ;;
        "{FILE}") set -- -f; compopt -o filenames 2>/dev/null ;;
        "{FOLDER}") set -- -d; compopt -o filenames 2>/dev/null ;;
        "{COMMAND}") set -- -W "{names}" ;;
        *) set -- -W "$1" ;;
    esac
    mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}}
_danlu() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="" word options="" arguments=""
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        if [[ $word == -- ]]; then compopt -o default 2>/dev/null; return; fi
        if [[ -z $command && $word != -* ]]; then command="$word"; fi
    done
    if [[ -z $command ]]; then _danlu_offer "{names} {common}"; return; fi
    case "$command" in
{cases}    esac
    if [[ $cur == -* ]]; then _danlu_offer "$options {common}"; else _danlu_offer "$arguments"; fi
}}
complete -F _danlu danlu
"""


def _bash_case(command: Command) -> str:
    lines = [
        f"        {command.name})",
        f'            options="{" ".join(_names(command.options))}"',
    ]
    lines.append(f'            arguments="{command.words}"')
    valued = [option for option in (*command.options, *COMMON) if option.metavar]
    if valued:
        lines.append('            case "$prev" in')
        for option in valued:
            offer = f'_danlu_offer "{option.words}"' if option.words else ":"
            lines.append(f"                {'|'.join(option.names)}) {offer}; return ;;")
        lines.append("            esac")
    return "\n".join([*lines, "            ;;", ""])


def zsh() -> str:
    commands = "\n".join(
        f"        '{command.name}:{_zsh_text(words(f'cmd.{command.name}'))}'"
        for command in _visible()
    )
    cases = "".join(_zsh_case(command) for command in _visible())
    return f"""#compdef danlu
# zsh completion for danlu:  eval "$(danlu completion zsh)"
_danlu_jobs() {{
    local -a jobs
    jobs=(${{(f)"$(danlu complete-jobs 2>/dev/null)"}})
    compadd -a jobs
}}
_danlu_commands() {{
    local -a commands
    commands=(
{commands}
    )
    _describe command commands
}}
_danlu() {{
    local curcontext="$curcontext" state line
    typeset -A opt_args
    _arguments -C '1:command:_danlu_commands' '*::argument:->arguments'
    case "$state" in
    arguments)
        case "${{words[1]}}" in
{cases}        esac
        ;;
    esac
}}
if [ "$funcstack[1]" = "_danlu" ]; then _danlu "$@"; else compdef _danlu danlu; fi
"""


def _zsh_text(text: str) -> str:
    for special in "'[]:\\":
        text = text.replace(special, " ")
    return text


def _zsh_action(offered: str) -> str:
    known = {
        JOB: "_danlu_jobs",
        FILE: "_files",
        FOLDER: "_files -/",
        COMMAND: "_danlu_commands",
        "": " ",
    }
    return known.get(offered, f"({offered})")


def _zsh_case(command: Command) -> str:
    specs = []
    for option in (*command.options, *COMMON):
        text = _zsh_text(option_words(command, option))
        value = (
            f":{_zsh_text(option.metavar)}:{_zsh_action(option.words)}" if option.metavar else ""
        )
        many = "*" if option.many else ""
        specs += [f"'{many}{name}[{text}]{value}'" for name in option.names]
    if command.words:
        specs.append(f"'*:argument:{_zsh_action(command.words)}'")
    joined = " \\\n                ".join(specs)
    return f"        {command.name})\n            _arguments {joined}\n            ;;\n"


def fish() -> str:
    lines = [
        "# fish completion for danlu:  danlu completion fish | source",
        "complete -c danlu -f",
    ]
    for command in _visible():
        text = _fish_text(words(f"cmd.{command.name}"))
        lines.append(f"complete -c danlu -n __fish_use_subcommand -a {command.name} -d '{text}'")
    for command in _visible():
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"complete -c danlu {seen} {_fish_offer(command.words)}")
        for option in (*command.options, *COMMON):
            names = f"-l {option.long}" + (f" -s {option.short}" if option.short else "")
            value = f" {_fish_offer(option.words) or '-x'}" if option.metavar else ""
            text = _fish_text(option_words(command, option))
            lines.append(f"complete -c danlu {seen} {names}{value} -d '{text}'")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    return text.replace("\\", "").replace("'", "\\'")


def _fish_offer(offered: str) -> str:
    if offered == JOB:
        return "-x -a '(danlu complete-jobs 2>/dev/null)'"
    if offered in (FILE, FOLDER):
        return "-r -F"
    if offered == COMMAND:
        return f"-x -a '{' '.join(command.name for command in _visible())}'"
    return f"-x -a '{offered}'" if offered else ""


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
