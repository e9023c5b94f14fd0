"""Messages of `danlu registry`: (en, zh). Loaded on demand."""

REGISTRY: dict[str, tuple[str, str]] = {
    "registry.address": ("Image registry: {address}", "镜像仓库：{address}"),
    "registry.collected": (
        "Freed {size} ({blobs} blobs that no image uses)",
        "释放了 {size}（{blobs} 个不再被任何镜像使用的数据块）",
    ),
    "registry.deleted": (
        "{name}: {count} {count:image|images} deleted; the next gc frees the space",
        "{name}：已删除 {count} 个镜像；下次清理（gc）后释放空间",
    ),
    "registry.empty": (
        "No images yet; danlu registry shows how to push one",
        "还没有镜像；danlu registry 说明如何推送",
    ),
    "registry.head_at": ("PUSHED", "推送时间"),
    "registry.head_digest": ("DIGEST", "摘要"),
    "registry.head_name": ("REPOSITORY", "仓库"),
    "registry.head_size": ("SIZE", "大小"),
    "registry.head_tag": ("TAG", "标签"),
    "registry.head_tags": ("TAGS", "标签数"),
    "registry.head_used": ("LAST USED", "最近使用"),
    "registry.how": ("To push an image x:1 and run it:", "推送镜像 x:1 并运行："),
    "registry.mirror": (
        "{address}/hub/{name}/IMAGE is a cached image of {name}",
        "{address}/hub/{name}/镜像 是 {name} 镜像的缓存",
    ),
    "registry.no_quota": ("no limit", "不限"),
    "registry.none": (
        "This platform has no image registry",
        "平台没有开启镜像仓库",
    ),
    "registry.plain": (
        "It uses no TLS. From other machines, Docker needs "
        '{{"insecure-registries": ["{address}"]}} in /etc/docker/daemon.json, Podman '
        "--tls-verify=false",
        "未使用 TLS。在其他机器上，Docker 需要在 /etc/docker/daemon.json 中写 "
        '{{"insecure-registries": ["{address}"]}}，Podman 需要 --tls-verify=false',
    ),
    "registry.read_only": (
        "It is read-only for now: images can be pulled, not pushed or deleted",
        "目前只读：可以拉取，不能推送或删除",
    ),
    "registry.token": (
        "The password is yours, or a token (danlu token create --label docker)",
        "密码是你的登录密码，或令牌（danlu token create --label docker）",
    ),
    "registry.untagged": ("(none)", "（无）"),
    "registry.used_group": (
        "Group {name} uses {used} of {of}",
        "组 {name} 已用 {used}，上限 {of}",
    ),
    "registry.used_user": ("You use {used} of {of}", "你已用 {used}，上限 {of}"),
    "sure.registry": (
        "Delete {name} from the registry? Nobody will be able to pull it any more.",
        "确定从镜像仓库删除 {name}？使用它的人将无法再拉取。",
    ),
}
