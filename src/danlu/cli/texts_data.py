"""Messages of --carry, `danlu bundle`, `dataset` and `disk`: (en, zh). Loaded on demand."""

DATA: dict[str, tuple[str, str]] = {
    "carry.left_out": (
        "not uploaded, because they lead out of the folder or are not regular files: {names}"
        " ({count} in all)",
        "以下内容未上传（指向目录之外，或不是普通文件）：{names}（共 {count} 个）",
    ),
    "carry.read": ("reading: {done} of {total}", "正在读取：{total} 中的 {done}"),
    "carry.restless": (
        "{path} changes while it is being read; wait until it is complete, or list it in "
        ".danluignore",
        "{path} 在读取过程中不断变化；请等它写完，或把它写入 .danluignore",
    ),
    "carry.send": ("sending: {done} of {total}", "正在上传：{total} 中的 {done}"),
    "carry.too_large": (
        "{folder} is too large to bring along: {size} in {files} files; at most {most} and "
        "{most_files} files. The largest:{largest}\n"
        "List what the job does not need in a .danluignore file there (same rules as .gitignore), "
        "and put data into /userhome or a volume",
        "{folder} 过大，无法随任务上传：{size}，{files} 个文件；最多 {most}、{most_files} 个文件。"
        "其中最大的：{largest}\n"
        "请把任务不需要的内容写入该目录的 .danluignore 文件（规则与 .gitignore 相同），"
        "数据请放在 /userhome 或存储卷中",
    ),
    "carry.unreadable": (
        "cannot bring {folder} along: {cause}. --carry takes a folder; without one, it is the "
        "current one: danlu run --carry -- COMMAND",
        "无法上传 {folder}：{cause}。--carry 后写目录；不写则为当前目录：danlu run --carry -- 命令",
    ),
    "volume.head.speed": ("SPEED", "速度"),
    "volume.speed": (
        "{read}/s reading, {write}/s writing (measured {at})",
        "读取 {read}/s，写入 {write}/s（{at} 测得）",
    ),
    "dataset.copy_copying": ("being copied to {node}: {done}", "正在复制到 {node}：{done}"),
    "dataset.copy_failed": ("not on {node}: {detail}", "未能复制到 {node}：{detail}"),
    "dataset.copy_ready": ("fast copy on {node} ({volume})", "{node} 上有高速副本（{volume}）"),
    "dataset.gone": (
        "{name} removed from the catalogue; its files are kept",
        "{name} 已移出目录；文件保留",
    ),
    "dataset.head_copies": ("COPIES", "副本"),
    "dataset.head_created": ("SINCE", "始于"),
    "dataset.head_files": ("FILES", "文件数"),
    "dataset.head_fingerprint": ("FINGERPRINT", "指纹"),
    "dataset.head_how": ("HOW TO READ IT", "如何读取"),
    "dataset.head_keeper": ("KEPT BY", "维护者"),
    "dataset.head_licence": ("LICENCE", "许可"),
    "dataset.head_name": ("NAME", "名称"),
    "dataset.head_nodes": ("NODES", "节点"),
    "dataset.head_path": ("PATH", "路径"),
    "dataset.head_reason": ("REASON", "原因"),
    "dataset.head_size": ("SIZE", "大小"),
    "dataset.head_state": ("STATE", "状态"),
    "dataset.head_title": ("TITLE", "标题"),
    "dataset.head_volume": ("VOLUME", "存储卷"),
    "dataset.measuring": ("being counted", "正在统计"),
    "dataset.no_change": (
        "Nothing to change: give at least one option, e.g. danlu dataset set NAME --title TEXT",
        "没有要修改的内容：请至少给出一个选项，例如 danlu dataset set 名称 --title 文本",
    ),
    "dataset.proposals": (
        "{count} {count:proposal waits|proposals wait}: danlu dataset accept NAME, or reject NAME "
        "--reason TEXT",
        "有 {count} 个提议待处理：danlu dataset accept 名称，或 reject 名称 --reason 原因",
    ),
    "dataset.state_proposed": ("proposed by {by}", "{by} 提议"),
    "dataset.state_ready": ("ready", "可用"),
    "dataset.state_rejected": ("rejected", "已拒绝"),
    "dataset.was_accepted": (
        "{by} has accepted your proposal {name}, {at}: tasks read it at {path} now",
        "{by} 已接受你的提议 {name}（{at}）：任务现在可以在 {path} 读取",
    ),
    "dataset.was_rejected": (
        "{by} has rejected your proposal {name}: {reason}. Propose it again with changes, or "
        "withdraw it: danlu dataset remove {name}",
        "{by} 拒绝了你的提议 {name}：{reason}。可以修改后重新提议，或用 "
        "danlu dataset remove {name} 撤回",
    ),
    "dataset.sure": (
        "Remove the dataset {name} from the catalogue? Jobs that ask for it will no longer start; "
        "its files are kept.",
        "把数据集 {name} 移出目录？要求它的任务将无法启动；文件保留。",
    ),
    "storage.approved": (
        "{name} is now a volume of {owner}; danlu volume show {name}",
        "{name} 已成为 {owner} 的存储卷；danlu volume show {name}",
    ),
    "storage.head_address": ("ADDRESS", "地址"),
    "storage.head_id": ("ID", "编号"),
    "storage.head_kind": ("KIND", "类型"),
    "storage.head_name": ("NAME", "名称"),
    "storage.head_note": ("NOTE", "说明"),
    "storage.head_owner": ("OWNER", "申请人"),
    "storage.head_state": ("STATE", "状态"),
    "storage.open": (
        "Requested {name} ({id}); an admin will decide. danlu volume requests shows the answer",
        "已申请 {name}（{id}），由管理员决定。danlu volume requests 可查看结果",
    ),
    "storage.rejected": ("{name} of {owner} rejected", "已拒绝 {owner} 的 {name}"),
    "storage.state_approved": ("approved", "已批准"),
    "storage.state_open": ("open", "待处理"),
    "storage.state_rejected": ("rejected", "已拒绝"),
    "disk.freed": ("{size} freed", "已释放 {size}"),
    "disk.full_at": ("; full {at} at this pace", "；按目前的速度将于 {at} 用满"),
    "disk.head_name": ("NAME", "名称"),
    "disk.head_note": ("NOTE", "说明"),
    "disk.head_path": ("PATH", "路径"),
    "disk.head_rule": ("WHAT", "内容"),
    "disk.head_size": ("SIZE", "大小"),
    "disk.head_used": ("LAST USED", "最近使用"),
    "disk.head_what": ("WHAT", "内容"),
    "disk.kind_bundles": ("folders brought along by", "随任务上传的目录"),
    "disk.kind_copies": ("fast copies", "高速副本"),
    "disk.kind_home": ("home of", "用户目录"),
    "disk.kind_images": ("images of", "镜像"),
    "disk.kind_logs": ("logs", "日志"),
    "disk.kind_registry": ("registry", "镜像仓库"),
    "disk.kind_share": ("folder of group", "组目录"),
    "disk.kind_user": ("folder of", "个人目录"),
    "disk.level_critical": ("; critical since {since}", "；自 {since} 起严重不足"),
    "disk.level_high": ("; almost full since {since}", "；自 {since} 起即将用满"),
    "disk.level_warning": ("; filling up since {since}", "；自 {since} 起空间偏少"),
    "disk.line": (
        "{paths}: {percent} % used, {free} of {size} free",
        "{paths}：已用 {percent}%，{size} 中剩余 {free}",
    ),
    "disk.not_counted": ("not counted yet", "尚未统计"),
    "disk.rule_bundles": ("folders brought along", "随任务上传的目录"),
    "disk.rule_images": ("image", "镜像"),
    "disk.rule_logs": ("logs", "日志"),
    "disk.sure": (
        "Remove old logs and images unused for a long time, by the rules in danlu.toml?",
        "按 danlu.toml 的规则删除长期未使用的镜像和旧日志？",
    ),
    "disk.would_free": ("{size} would be freed", "可释放 {size}"),
    "bundle.gone": ("{id} removed", "{id} 已删除"),
    "bundle.head_files": ("FILES", "文件数"),
    "bundle.head_id": ("ID", "编号"),
    "bundle.head_size": ("SIZE", "大小"),
    "bundle.head_used": ("LAST USED", "最近使用"),
    "bundle.sure": (
        "Remove {id}? Jobs that used it cannot be run again with it.",
        "删除 {id}？用过它的任务将不能再次运行。",
    ),
    "bundle.unknown": (
        "{count} folders brought along have an id that begins with {id}; danlu bundle list shows "
        "them",
        "有 {count} 个上传的目录以 {id} 开头；danlu bundle list 可列出",
    ),
}
