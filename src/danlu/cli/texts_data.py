"""Messages of --carry, `danlu bundle`, `dataset` and `disk`: (en, zh). Loaded on demand."""

DATA: dict[str, tuple[str, str]] = {
    "carry.left_out": (
        "left out of the folder, because they lead out of it or are no files: {names}"
        " ({count} in all)",
        "以下内容未上传（指向目录之外，或不是普通文件）：{names}（共 {count} 个）",
    ),
    "carry.read": ("reading: {done} of {total}", "正在读取：{total} 中的 {done}"),
    "carry.restless": (
        "{path} changes while it is being read; wait until it is written, or name it in "
        ".danluignore",
        "{path} 在读取过程中不断变化；请等它写完，或把它写入 .danluignore",
    ),
    "carry.send": ("sending: {done} of {total}", "正在上传：{total} 中的 {done}"),
    "carry.too_large": (
        "{folder} is too large to bring along: {size} in {files} files; at most {most} and "
        "{most_files} files. The largest:{largest}\n"
        "Write what the job does not need into a file .danluignore there (with the rules of "
        ".gitignore), and put data into /userhome or a volume",
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
