"""Help for --carry, `bundle`, `dataset` and `disk`: (en, zh)."""

DATA: dict[str, tuple[str, str]] = {
    "opt.carry": (
        "bring a folder along (default: the current one): the job or environment starts in a copy "
        "of it",
        "随任务或环境上传目录（默认当前目录）：在它的副本中开始",
    ),
    "opt.dataset": (
        "a dataset the job reads, at /gdata/NAME (repeatable); nodes with a fast copy are "
        "preferred",
        "任务读取的数据集，位于 /gdata/名称；可重复；优先使用有高速副本的节点",
    ),
    "cmd.dataset": (
        "List datasets, propose one; for admins: accept, measure, copy to fast volumes",
        "列出、提议数据集；管理员可接受、统计、复制到高速存储卷",
    ),
    "about.dataset": (
        "Tasks read a dataset at /gdata/NAME, and cannot change it. It is a folder of a volume, "
        "and whoever may use the volume may read it. Anybody may propose one; an admin accepts "
        "it.\n"
        "  danlu dataset list\n"
        "  danlu run --dataset imagenet -- python train.py\n"
        "  danlu dataset propose coco --volume nas --folder sets/coco --licence 'CC BY 4.0' --how "
        "'COCO API'\n"
        "  danlu dataset accept coco\n"
        "  danlu dataset stage imagenet\n"
        "stage copies it to the fast volume (--tier fast) of every node, or of --node; jobs that "
        "ask for it are placed there if possible. The least recently used copies make room for "
        "others.",
        "任务在 /gdata/名称 处只读地读取数据集。数据集是存储卷中的一个目录，可以使用该存储卷的人"
        "都能读取。任何人都可以提议，由管理员接受。\n"
        "  danlu dataset list\n"
        "  danlu run --dataset imagenet -- python train.py\n"
        "  danlu dataset propose coco --volume nas --folder sets/coco --licence 'CC BY 4.0' --how "
        "'COCO API'\n"
        "  danlu dataset accept coco\n"
        "  danlu dataset stage imagenet\n"
        "stage 把它复制到每个节点（或 --node 指定的节点）的高速存储卷（--tier fast）；要求它的任务"
        "优先安排到那里。空间不足时，最久未使用的副本让位。",
    ),
    "opt.dataset.volume": ("the volume it is in (default gdata)", "所在的存储卷（默认 gdata）"),
    "opt.folder": (
        "its folder in the volume (default: its name)",
        "存储卷中的目录（默认与名称相同）",
    ),
    "opt.title": ("a title", "标题"),
    "opt.licence": ("terms under which it may be used", "使用许可"),
    "opt.how": ("how to read it", "如何读取"),
    "opt.keeper": ("who keeps it (default: you)", "维护者（默认是你）"),
    "opt.dataset.everywhere": ("seen by every task (default)", "每个任务都能看到（默认）"),
    "opt.dataset.on-request": ("seen only by jobs that ask for it", "只有要求它的任务能看到"),
    "opt.dataset.node": ("copy it to this node only (repeatable)", "只复制到此节点；可重复"),
    "opt.dataset.reason": ("why it is rejected; its proposer sees it", "拒绝的原因，提议者可见"),
    "opt.dataset.wait": ("wait until it is counted or copied", "等待统计或复制完成"),
    "opt.volume.kind": (
        "kind of the requested storage: nfs (default), s3, webdav, other",
        "所申请存储的类型：nfs（默认）、s3、webdav、other",
    ),
    "opt.volume.reason": ("why a request is rejected", "拒绝申请的原因"),
    "cmd.disk": (
        "Show how full the disks are and who uses what; clean them",
        "查看磁盘用量和占用者；清理磁盘",
    ),
    "about.disk": (
        "Members see how much their own folders hold, measured once a day. Admins see every disk "
        "the "
        "platform uses: the data folder, container images, volumes. clean removes old logs and "
        "images that no job has used for a long time, by the rules of [disks] in danlu.toml; "
        "never homes, "
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
    "opt.disk.all": (
        "everybody who uses space, not only the largest",
        "列出所有占用者，不只最大的",
    ),
    "opt.disk.dry-run": (
        "list what would be removed, without removing it",
        "不删除；只列出将删除的内容",
    ),
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
        ".danluignore exclude; the job starts in a copy of it, /userhome/carried/JOB. danlu rerun "
        "and "
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
