# What ~/.bashrc brings into a shell: only a function can change the shell's own variables.
conda() {
    case "${1-}" in
        activate | deactivate)
            __conda_lines="$("$CONDA_EXE" shell "$@")" || return $?
            eval "$__conda_lines"
            unset __conda_lines
            ;;
        *)
            "$CONDA_EXE" "$@" || return $?
            ;;
    esac
    hash -r
}
