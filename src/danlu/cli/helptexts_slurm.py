"""Help for `danlu slurm`: (en, zh)."""

SLURM: dict[str, tuple[str, str]] = {
    "cmd.slurm": (
        "Set up Slurm on a few machines, or check an existing one (admins)",
        "为几台机器配置 Slurm，或检查已有的 Slurm（管理员）",
    ),
    "about.slurm": (
        "init reads a file with your machines and writes slurm.conf, gres.conf, cgroup.conf, a "
        "script for munge's key, and the steps to take. check asks every machine, through Slurm or "
        "ssh, and reports what does not match: names, clocks, accounts, munge, GPUs, versions, the "
        "shared folder. It exits with 1 if something is wrong.\n"
        "  danlu slurm init nodes.toml --out slurm-conf\n"
        "  danlu slurm check nodes.toml",
        "init 读取写有机器的文件，生成 slurm.conf、gres.conf、cgroup.conf、munge 密钥脚本"
        "和操作步骤。check 通过 Slurm 或 ssh 查询每台机器，指出不一致之处：名称、时钟、账号、"
        "munge、显卡、版本、共享目录。有问题时退出码为 1。\n"
        "  danlu slurm init nodes.toml --out slurm-conf\n"
        "  danlu slurm check nodes.toml",
    ),
    "opt.slurm.out": (
        "init: folder for the files (default slurm-conf)",
        "init：存放文件的目录（默认 slurm-conf）",
    ),
    "opt.slurm.force": ("init: replace existing files", "init：替换已有文件"),
    "opt.slurm.via": (
        "check: how the machines are asked: ssh, srun, or auto (default)",
        "check：如何查询各机器：ssh、srun 或 auto（默认）",
    ),
    "opt.slurm.shared": (
        "check: the folder that all machines see (default: the one in NODES.toml)",
        "check：所有机器可见的目录（默认取 NODES.toml 中的）",
    ),
}
