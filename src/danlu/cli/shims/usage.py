"""What `--help` prints for the foreign commands that have no help of their own."""

USAGE = {
    "ilaunch": ("ilaunch q QUEUE gpu 0,1 COMMAND", "ilaunch q 队列 gpu 0,1 命令"),
    "sacct": ("sacct [-j JOB,...] [-u USER] [-S TIME] [-o FIELDS]", ""),
    "salloc": ("salloc [-p QUEUE] [--gres=gpu:N] [COMMAND [WORD...]]", ""),
    "scancel": ("scancel JOB... | -u USER | -n NAME", ""),
    "scontrol": ("scontrol show job|node|partition [NAME] | hold|release|requeue JOB", ""),
    "sinfo": ("sinfo [-p QUEUE] [-N] [-h] [-o FORMAT]", ""),
    "squeue": ("squeue [-u USER] [-p QUEUE] [-j JOB,...] [-t STATES] [-h] [-o FORMAT]", ""),
    "srun": ("srun [-p QUEUE] [--gres=gpu:N] [-n N] COMMAND [WORD...]", ""),
    "zlaunch": ("zlaunch -q QUEUE --gpu=N -- COMMAND", "zlaunch -q 队列 --gpu=N -- 命令"),
}


def usage(name: str) -> str:
    from danlu.cli.shims.trouble import chosen

    en, zh = USAGE[name]
    return chosen(f"Usage: {en}", f"用法：{zh or en}")
