"""Messages of the commands for files: (en, zh). Loaded on demand."""

FILES: dict[str, tuple[str, str]] = {
    "files.bin_empty": ("The bin is empty", "回收站是空的"),
    "files.changing": (
        "{path} keeps changing while it is read; try again when nothing writes there",
        "{path} 在读取时不断变化；请等没有程序写入时再试",
    ),
    "files.continue": (
        "interrupted; run the same command again to resume where it stopped",
        "已中断；再次运行同一条命令即可从中断处继续",
    ),
    "files.copied": (
        "{count} {count:file|files}, {size}",
        "{count} 个文件，{size}",
    ),
    "files.copied_some": (
        "{count} {count:file|files}, {size}; {skipped} unchanged",
        "{count} 个文件，{size}；{skipped} 个未变",
    ),
    "files.head_access": ("ACCESS", "访问"),
    "files.head_deleted": ("DELETED", "删除时间"),
    "files.head_files": ("FILES", "文件数"),
    "files.head_free": ("FREE", "剩余"),
    "files.head_id": ("ID", "编号"),
    "files.head_mode": ("MODE", "权限"),
    "files.head_modified": ("MODIFIED", "修改时间"),
    "files.head_name": ("NAME", "名称"),
    "files.head_note": ("NOTE", "备注"),
    "files.head_owner": ("OWNER", "所有者"),
    "files.head_path": ("PATH", "路径"),
    "files.head_size": ("SIZE", "大小"),
    "files.head_used": ("USED", "已用"),
    "files.incomplete": (
        "incomplete: some folders could not be read, or it took too long",
        "有些目录无法读取，或时间不够，结果不完整",
    ),
    "files.is_folder": (
        "{path} is a folder; add -r to include everything in it",
        "{path} 是目录；加上 -r 才包括其中的全部内容",
    ),
    "files.left_other": (
        "{path} was left out: it is neither a file, a folder nor a link",
        "已略过 {path}：它不是文件、目录或链接",
    ),
    "files.left_unread": (
        "{path} was left out: it cannot be read ({code})",
        "已略过 {path}：无法读取（{code}）",
    ),
    "files.left_unsafe": (
        "{path} was left out: it is a link to {target}, outside the folder being copied; copy its "
        "target separately if you need it",
        "已略过 {path}：它是指向 {target} 的链接，目标在所复制的目录之外；如有需要请单独复制其目标",
    ),
    "files.left_some": (
        "{count} {count:entry was|entries were} left out",
        "略过了 {count} 项",
    ),
    "files.taken": (
        "nothing was replaced; --keep-both restores it under another name, --overwrite moves the "
        "existing one to the bin",
        "没有替换任何内容；--keep-both 以另一名称恢复、两者都保留，--overwrite 把现有的移入回收站",
    ),
    "files.kind": (
        "--kind {value}: choose file, folder, link or other",
        "--kind {value}：可选 file、folder、link 或 other",
    ),
    "files.measured": (
        "measured {when}; --fresh measures again",
        "测量于 {when}；--fresh 重新测量",
    ),
    "files.measuring": (
        "measuring: {count} {count:file|files}, {size}",
        "正在统计：{count} 个文件，{size}",
    ),
    "files.more": (
        "only the first {count} are shown; there are more",
        "只显示前 {count} 个，还有更多",
    ),
    "files.more_problems": ("... and {count} more", "……还有 {count} 个"),
    "files.need_folder": (
        "{path} is not a folder; several things can only be copied into one",
        "{path} 不是目录；复制多项时目标必须是目录",
    ),
    "files.not_here": ("There is no {path} on this machine", "本机没有 {path}"),
    "files.progress": ("{count} {count:file|files}, {size}", "{count} 个文件，{size}"),
    "files.read_only": ("read-only", "只读"),
    "files.sides": (
        "paths on the server begin with ':', such as :data/x or :/gdata/x; local and server paths "
        "cannot be mixed among the sources, and one side must be the server",
        "服务器上的路径以 ':' 开头，如 :data/x 或 :/gdata/x；源路径不能混用本机和服务器，"
        "且至少一侧是服务器",
    ),
    "files.writable": ("writable", "可写"),
    "sure.bin": ("Delete this for good?", "彻底删除回收站里的这些内容？"),
    "sure.files": ("Delete {path} for good, without the bin?", "彻底删除 {path}（不进回收站）？"),
}
