"""Help for `image` and `save`: (en, zh)."""

IMAGES: dict[str, tuple[str, str]] = {
    "cmd.image": (
        "Find, share, propose and pre-pull images",
        "查找、共享、提名和预先拉取镜像",
    ),
    "about.image": (
        "Without options, list shows every image you may use: ready ones, your own, those of your "
        "groups, and what others share with you.\n"
        "  danlu image add pytorch/pytorch:2.4.0 --note 'CUDA 12.4'\n"
        "  danlu image show alice/torch:3\n"
        "  danlu image share alice/torch:3 bob group:vision\n"
        "  danlu image propose alice/torch:3 --note 'for the new GPUs'\n"
        "  danlu image pull alice/torch:3 n1 n2\n"
        "  danlu image verify alice/torch:3 -g 1\n"
        "  danlu image build torch:4 --base debian:12 --apt git --pip numpy\n"
        "  danlu image saves\n"
        "share takes user names, group:NAME or everybody, and means all tags of the image. pull "
        "without nodes means all; a node that cannot pull is listed with the reason. saves lists "
        "containers saved as images, and cancel stops one in progress.",
        "不带选项时，list 列出你可以使用的所有镜像：公共的、自己的、所在组的，以及别人共享的。\n"
        "  danlu image add pytorch/pytorch:2.4.0 --note 'CUDA 12.4'\n"
        "  danlu image show alice/torch:3\n"
        "  danlu image share alice/torch:3 bob group:vision\n"
        "  danlu image propose alice/torch:3 --note '适合新显卡'\n"
        "  danlu image pull alice/torch:3 n1 n2\n"
        "  danlu image verify alice/torch:3 -g 1\n"
        "  danlu image build torch:4 --base debian:12 --apt git --pip numpy\n"
        "  danlu image saves\n"
        "share 后写用户名、group:组名 或 everybody（所有人），对该镜像的所有标签生效。"
        "pull 不写节点表示全部；无法拉取的节点会列出原因。saves 列出保存为镜像的容器，"
        "cancel 取消正在进行的保存。",
    ),
    "cmd.save": ("Save a running container as an image", "把运行中的容器保存为镜像"),
    "about.save": (
        "The changes the job has made in its container become a layer on top of its image. "
        "Volumes, "
        "such as your home, are not part of it. It is refused beforehand if there is not enough "
        "space; --dry-run shows the size. The job continues, unless --stop ends its command "
        "first.\n"
        "  danlu save train-3 torch:3\n"
        "  danlu env save dev torch:3 --stop\n"
        "IMAGE is NAME:TAG, under your own name, or share/GROUP/NAME:TAG.",
        "任务在容器中的改动成为其镜像之上的一层。存储卷（如用户目录）不包括在内。空间不够时会事先拒绝；"
        "--dry-run 说明大小。任务会继续运行；使用 --stop 时先结束它的命令。\n"
        "  danlu save train-3 torch:3\n"
        "  danlu env save dev torch:3 --stop\n"
        "镜像写作 名称:标签（在你自己的名下），或 share/组/名称:标签。",
    ),
    "opt.stop": ("end its command first, and leave it stopped", "先结束它的命令，并保持停止"),
    "opt.save.dry-run": ("only show how large it would be", "只说明大小，不保存"),
    "opt.save.detach": ("do not wait until it is saved", "不等待保存完成"),
    "opt.save.note": ("a description of the image", "镜像的说明"),
    "opt.image.detach": ("do not wait until it is done", "不等待完成"),
    "opt.image.all": (
        "every package; with saves: of everybody",
        "列出全部；用于 saves 时指所有人的",
    ),
    "opt.image.note": (
        "a description; with propose, accept and reject: a message to the other side",
        "说明；用于 propose、accept、reject 时是给对方的话",
    ),
    "opt.image.gpus": ("with verify: 1 also tests a GPU", "用于 verify：1 表示也验证 GPU"),
    "opt.base": ("with build: the image to start from", "用于 build：基础镜像"),
    "opt.apt": ("with build: a Debian package", "用于 build：Debian 软件包"),
    "opt.pip": ("with build: a Python package", "用于 build：Python 软件包"),
    "opt.conda": ("with build: a conda package", "用于 build：conda 软件包"),
    "opt.own": ("your own", "自己的"),
    "opt.ready": (
        "ready images; with add: as one of them (admins)",
        "公共镜像；用于 add 时作为公共镜像添加（管理员）",
    ),
    "opt.shared": ("what others share with you", "别人共享给你的"),
    "opt.proposed": ("those that wait for an admin", "等待管理员决定的"),
}
