"""Help for `registry`: (en, zh)."""

REGISTRY: dict[str, tuple[str, str]] = {
    "cmd.registry": (
        "Push images to the platform's registry, list and delete them",
        "平台的镜像仓库：推送说明、列出、删除",
    ),
    "about.registry": (
        "Without arguments, shows the registry's address, the docker commands that push an image, "
        "and "
        "how much of your quota is used. Your images are NAME/..., those of a group "
        "share/GROUP/..., ready ones for everybody ready/...:\n"
        "  danlu registry\n"
        "  danlu registry list\n"
        "  danlu registry list alice/train\n"
        "  danlu registry delete alice/train:old\n"
        "delete without a tag deletes the whole repository. Space is freed every hour; gc does it "
        "at once, for admins.",
        "不带参数时显示仓库地址、推送镜像的 docker 命令和配额使用情况。你的镜像是 用户名/...，"
        "组的是 share/组名/...，供所有人使用的是 ready/...：\n"
        "  danlu registry\n"
        "  danlu registry list\n"
        "  danlu registry list alice/train\n"
        "  danlu registry delete alice/train:old\n"
        "delete 不写标签时删除整个仓库。空间每小时释放一次；管理员可用 gc 立即释放。",
    ),
    "opt.registry.all": ("everybody's, for admins", "列出所有人的，供管理员使用"),
    "opt.registry.grace": (
        "with gc: keep what was uploaded or asked for within this time (default: as configured)",
        "用于 gc：保留此时间内上传或查询过的内容（默认按配置）",
    ),
}
