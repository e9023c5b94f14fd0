"""System calls that no task needs, by number on each architecture.

The ones Docker's default profile forbids, except those used by ML and HPC programs on their own
memory (mbind and related calls, process_vm_readv, ptrace).
"""

from __future__ import annotations

LAST_KNOWN = 456
"""Newer calls are hidden from tasks until reviewed (mseal: 462)."""
ALSO_KNOWN = frozenset({462})

_SHARED = {  # since Linux 5.0 new calls have the same number everywhere
    **{"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    **{"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432},
    **{"fspick": 433, "clone3": 435, "mount_setattr": 442, "quotactl_fd": 443},
}
_GENERIC = {
    **{"acct": 89, "add_key": 217, "bpf": 280, "clock_adjtime": 266, "clock_settime": 112},
    **{"delete_module": 106, "fanotify_init": 262, "finit_module": 273, "init_module": 105},
    **{"kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "lookup_dcookie": 18},
    **{"mount": 40, "nfsservctl": 42, "open_by_handle_at": 265, "perf_event_open": 241},
    **{"pivot_root": 41, "quotactl": 60, "reboot": 142, "request_key": 218},
    **{"setdomainname": 162, "sethostname": 161, "setns": 268, "settimeofday": 170},
    **{"swapoff": 225, "swapon": 224, "syslog": 116, "umount2": 39, "unshare": 97},
    **{"userfaultfd": 282, "vhangup": 58},
    **{"clone": 220, "keyctl": 219, "personality": 92, "socket": 198},
}
NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        **{"acct": 163, "add_key": 248, "bpf": 321, "clock_adjtime": 305, "clock_settime": 227},
        **{"create_module": 174, "delete_module": 176, "fanotify_init": 300},
        **{"finit_module": 313, "get_kernel_syms": 177, "init_module": 175, "ioperm": 173},
        **{"iopl": 172, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246},
        **{"lookup_dcookie": 212, "mount": 165, "nfsservctl": 180, "open_by_handle_at": 304},
        **{"perf_event_open": 298, "pivot_root": 155, "query_module": 178, "quotactl": 179},
        **{"reboot": 169, "request_key": 249, "setdomainname": 171, "sethostname": 170},
        **{"setns": 308, "settimeofday": 164, "swapoff": 168, "swapon": 167, "_sysctl": 156},
        **{"sysfs": 139, "syslog": 103, "umount2": 166, "unshare": 272, "uselib": 134},
        **{"userfaultfd": 323, "ustat": 136, "vhangup": 153},
        **{"clone": 56, "keyctl": 250, "personality": 135, "socket": 41},
        **_SHARED,
    },
    "i386": {
        **{"acct": 51, "add_key": 286, "bpf": 357, "clock_adjtime": 343, "clock_adjtime64": 405},
        **{"clock_settime": 264, "clock_settime64": 404, "create_module": 127},
        **{"delete_module": 129, "fanotify_init": 338, "finit_module": 350},
        **{"get_kernel_syms": 130, "init_module": 128, "ioperm": 101, "iopl": 110, "kcmp": 349},
        **{"kexec_load": 283, "lookup_dcookie": 253, "mount": 21, "nfsservctl": 169},
        **{"open_by_handle_at": 342, "perf_event_open": 336, "pivot_root": 217},
        **{"query_module": 167, "quotactl": 131, "reboot": 88, "request_key": 287},
        **{"setdomainname": 121, "sethostname": 74, "setns": 346, "settimeofday": 79},
        **{"stime": 25, "swapoff": 115, "swapon": 87, "_sysctl": 149, "sysfs": 135},
        **{"syslog": 103, "umount": 22, "umount2": 52, "unshare": 310, "uselib": 86},
        **{"userfaultfd": 374, "ustat": 62, "vhangup": 111, "vm86": 166, "vm86old": 113},
        **{"clone": 120, "keyctl": 288, "personality": 136, "socket": 359},
        **_SHARED,
    },
    "aarch64": {**_GENERIC, **_SHARED},
    "riscv64": {**_GENERIC, **_SHARED},
}
