"""Help for --carry, `bundle`, `dataset` and `disk`: (en, zh)."""

DATA: dict[str, tuple[str, str]] = {
    "opt.carry": (
        "bring a folder along (default: the current one): the job starts in a copy of it",
        "随任务上传目录（默认当前目录）：任务在它的副本中开始",
    ),
    "opt.dataset": (
        "a dataset the job reads, at /gdata/NAME (repeatable); nodes with a fast copy are "
        "preferred",
        "任务读取的数据集，位于 /gdata/名称；可重复；优先使用有高速副本的节点",
    ),
    "cmd.disk": (
        "Show how full the disks are and who uses what; clean them",
        "查看磁盘用量和占用者；清理磁盘",
    ),
    "about.disk": (
        "Members see what their own folders take, as counted once a day. Admins see every disk the "
        "platform uses: the data folder, container images, volumes. clean removes images that no "
        "job has used for long, and old logs, by the rules of [disks] in danlu.toml; never homes, "
        "volumes, or what a job that has not ended needs.\n"
        "  danlu disk\n"
        "  danlu disk clean --dry-run\n"
        "  danlu disk clean --rule images",
        "成员可以看到自己目录的用量（每天统计一次）。管理员可以看到平台使用的所有磁盘：数据目录、"
        "容器镜像、存储卷。clean 按 danlu.toml 中 [disks] 的规则删除长期没有任务使用的镜像和"
        "旧日志；不会删除用户目录、存储卷和未结束的任务需要的内容。\n"
        "  danlu disk\n"
        "  danlu disk clean --dry-run\n"
        "  danlu disk clean --rule images",
    ),
    "opt.disk.all": ("everybody who uses room, not only the largest", "列出所有占用者，不只最大的"),
    "opt.disk.dry-run": ("remove nothing; list what would go", "不删除；只列出将删除的内容"),
    "opt.rule": (
        "only this: bundles, images or logs (repeatable)",
        "只清理此项：bundles、images 或 logs；可重复",
    ),
    "cmd.bundle": (
        "List and remove the folders you brought along with jobs",
        "列出和删除随任务上传的目录",
    ),
    "about.bundle": (
        "danlu run --carry uploads a folder as it is now, without what .gitignore and "
        ".danluignore name; the job starts in a copy of it, /userhome/carried/JOB. danlu rerun and "
        "clone use the same folder again. It is kept for 90 days after its last use, unless the "
        "admin set another time.\n"
        "  danlu run --carry -- python train.py\n"
        "  danlu run --carry ~/project -- python train.py\n"
        "  danlu bundle list\n"
        "  danlu bundle remove 9f86d081",
        "danlu run --carry 上传目录当前的内容，不含 .gitignore 和 .danluignore 中列出的文件；"
        "任务在它的副本 /userhome/carried/任务 中开始。danlu rerun 和 clone 再次使用同一份内容。"
        "最后一次使用后保留 90 天，除非管理员另有设置。\n"
        "  danlu run --carry -- python train.py\n"
        "  danlu run --carry ~/project -- python train.py\n"
        "  danlu bundle list\n"
        "  danlu bundle remove 9f86d081",
    ),
}
