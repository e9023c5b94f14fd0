"""The options of Slurm's commands, in one place for every parser.

They are here because everything can import this folder: it is the only part of Danlu visible to
tasks, and the only part of the server the command line loads.
"""

from __future__ import annotations

# long name -> short letter; options that take a value

VALUED = {
    "account": "A",
    "acctg-freq": "",
    "bb": "",
    "begin": "b",
    "chdir": "D",
    "comment": "",
    "constraint": "C",
    "cores-per-socket": "",
    "cpu-bind": "",
    "cpu-freq": "",
    "cpus-per-gpu": "",
    "cpus-per-task": "c",
    "dependency": "d",
    "distribution": "m",
    "error": "e",
    "exclude": "x",
    "export": "",
    "gpu-bind": "",
    "gpu-freq": "",
    "gpus": "G",
    "gpus-per-node": "",
    "gpus-per-socket": "",
    "gpus-per-task": "",
    "gres": "",
    "gres-flags": "",
    "hint": "",
    "input": "i",
    "job-name": "J",
    "mail-type": "",
    "mail-user": "",
    "mem": "",
    "mem-bind": "",
    "mem-per-cpu": "",
    "mem-per-gpu": "",
    "mpi": "",
    "network": "",
    "nodelist": "w",
    "nodes": "N",
    "ntasks": "n",
    "ntasks-per-core": "",
    "ntasks-per-gpu": "",
    "ntasks-per-node": "",
    "ntasks-per-socket": "",
    "open-mode": "",
    "output": "o",
    "partition": "p",
    "profile": "",
    "qos": "q",
    "reservation": "",
    "signal": "",
    "sockets-per-node": "",
    "threads-per-core": "",
    "time": "t",
    "tres-per-task": "",
    "wckey": "",
}
"""For jobs and steps."""

VALUED_OF_JOBS = {
    "array": "a",
    "batch": "",
    "clusters": "M",
    "container": "",
    "container-env": "",
    "container-image": "",
    "container-mounts": "",
    "container-name": "",
    "container-save": "",
    "container-workdir": "",
    "core-spec": "S",
    "deadline": "",
    "extra-node-info": "B",
    "gid": "",
    "licenses": "L",
    "mincpus": "",
    "nodefile": "F",
    "priority": "",
    "switches": "",
    "time-min": "",
    "tmp": "",
    "uid": "",
    "wait-all-nodes": "",
    "wrap": "",
}
"""For requesting a job: sbatch, salloc, and srun outside a job."""

VALUED_IN_FILES = {
    "bbf": "",
    "checkpoint": "",
    "checkpoint-dir": "",
    "cluster-constraint": "",
    "container-id": "",
    "delay-boot": "",
    "ear": "",
    "ear-cpufreq": "",
    "ear-policy": "",
    "environment": "",
    "export-file": "",
    "extra": "",
    "gpu-cmode": "",
    "image": "",
    "mcs-label": "",
    "module": "",
    "nvidia-compute-mode": "",
    "perf": "",
    "power": "",
    "prefer": "",
    "segment": "",
    "thread-spec": "",
    "tres-bind": "",
    "uenv": "",
    "view": "",
    "volume": "",
}
"""Only in scripts: options of older versions and of common plugins."""

VALUED_OF_STEPS = {
    "bcast": "",
    "epilog": "",
    "het-group": "",
    "jobid": "",
    "multi-prog-file": "",
    "prolog": "",
    "relative": "r",
    "slurmd-debug": "",
    "task-epilog": "",
    "task-prolog": "",
    "threads": "T",
    "wait": "W",
}
"""srun's own."""

# long name -> short letter; options that take no value

FLAGS = {
    "help": "h",
    "hold": "H",
    "no-kill": "k",
    "overcommit": "O",
    "oversubscribe": "s",
    "quiet": "Q",
    "spread-job": "",
    "use-min-nodes": "",
    "verbose": "v",
    "version": "V",
}
"""For jobs and steps."""

FLAGS_OF_JOBS = {
    "container-entrypoint": "",
    "container-mount-home": "",
    "container-readonly": "",
    "container-remap-root": "",
    "container-writable": "",
    "contiguous": "",
    "ignore-pbs": "",
    "no-container-entrypoint": "",
    "no-container-mount-home": "",
    "no-container-remap-root": "",
    "no-requeue": "",
    "parsable": "",
    "requeue": "",
    "share": "",
    "test-only": "",
    "wait": "W",
}
"""For requesting a job."""

FLAGS_IN_FILES = {
    "cuda-mps": "",
    "disable-dcgm": "",
    "disable-perfparanoid": "",
    "disable-stdout-job-summary": "",
    "disable-turbomode": "",
    "kill-on-invalid-dep": "",
    "killable": "",
    "nvmps": "",
    "reboot": "",
    "stepmgr": "",
    "usage": "",
    "x11": "",
}
"""Only in scripts."""

FLAGS_OF_STEPS = {
    "allocate": "",
    "disable-status": "X",
    "exact": "",
    "interactive": "",
    "label": "l",
    "multi-prog": "",
    "no-allocate": "Z",
    "overlap": "",
    "preserve-env": "E",
    "pty": "",
    "quit-on-interrupt": "",
    "unbuffered": "u",
    "whole": "",
}
"""srun's own."""

# An optional value, only after "=".

OPTIONAL = ("exclusive", "nice", "propagate", "x11")
OPTIONAL_OF_JOBS = ("get-user-env", "kill-on-invalid-dep", "no-kill")
OPTIONAL_IN_FILES = ("mpibind",)
OPTIONAL_OF_STEPS = ("immediate", "kill-on-bad-exit", "resv-ports")
