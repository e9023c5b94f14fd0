"""Help for the commands for files: (en, zh)."""

FILES: dict[str, tuple[str, str]] = {
    "cmd.ls": ("List files on the server", "列出服务器上的文件"),
    "about.ls": (
        "Paths are those a task sees. Without a leading / they are in /userhome, your own folder; "
        "a ':' in front may be written everywhere and is needed only for cp.\n"
        "  danlu ls -l data\n"
        "  danlu ls /mnt/share/vision\n"
        "  danlu ls --volumes",
        "路径就是任务中看到的路径。不以 / 开头的在 /userhome（你自己的目录）下；"
        "前面的 ':' 处处可写，只有 cp 必须写。\n"
        "  danlu ls -l data\n"
        "  danlu ls /mnt/share/vision\n"
        "  danlu ls --volumes",
    ),
    "opt.ls.all": ("also names that begin with a dot", "也列出以点开头的名称"),
    "opt.ls.long": ("with mode, owner, size and time", "显示权限、所有者、大小和时间"),
    "opt.ls.sort": (
        "sort by name, size, modified or kind; prefix - to reverse",
        "排序方式；加 - 则倒序",
    ),
    "opt.ls.volumes": ("the volumes, with free space", "列出存储卷及剩余空间"),
    "opt.ls.limit": ("at most this many", "最多列出多少个"),
    "cmd.cp": ("Copy files to, from and on the server", "与服务器互相复制文件"),
    "about.cp": (
        "Paths on the server begin with ':'. An interrupted copy is continued by repeating the "
        "command, and a connection that breaks is continued by itself; files that are already "
        "there with the same size and time are not sent again.\n"
        "  danlu cp model.pt :models/\n"
        "  danlu cp -r project :\n"
        "  danlu cp -r :results results\n"
        "  danlu cp :a.txt :/mnt/share/vision/",
        "服务器上的路径以 ':' 开头。中断后重复同一条命令即可继续；连接断开会自动续传；"
        "大小和时间相同的文件不会重发。\n"
        "  danlu cp model.pt :models/\n"
        "  danlu cp -r project :\n"
        "  danlu cp -r :results results\n"
        "  danlu cp :a.txt :/mnt/share/vision/",
    ),
    "opt.cp.recursive": ("folders with everything in them", "复制目录及其中全部内容"),
    "opt.no-clobber": ("do not overwrite", "不覆盖已有文件"),
    "opt.cp.quiet": ("no progress", "不显示进度"),
    "cmd.mv": ("Move or rename files on the server", "移动或重命名服务器上的文件"),
    "opt.mv.quiet": ("no progress", "不显示进度"),
    "cmd.rm": ("Delete files on the server, to the bin", "删除服务器上的文件（移入回收站）"),
    "about.rm": (
        "danlu bin lists what was deleted in the last 30 days, and brings it back.",
        "danlu bin 列出最近 30 天删除的内容，可以恢复。",
    ),
    "opt.rm.recursive": ("folders with everything in them", "删除目录及其中全部内容"),
    "opt.rm.forever": ("delete for good, without the bin", "彻底删除，不进回收站"),
    "opt.rm.quiet": ("no progress", "不显示进度"),
    "cmd.mkdir": ("Make folders on the server", "在服务器上新建目录"),
    "opt.mkdir.parents": (
        "make missing parent folders, too; existing folders are fine",
        "同时建立上级目录；已存在也可以",
    ),
    "cmd.du": ("Show what takes up space in a folder", "查看目录占用的空间"),
    "opt.du.fresh": ("measure again", "重新统计"),
    "opt.du.limit": ("at most this many", "最多列出多少个"),
    "cmd.find": ("Search for files by name", "按名称搜索文件"),
    "about.find": (
        "Part of the name, ignoring case, or a pattern:\n  danlu find data '*.ckpt'",
        "名称的一部分（不分大小写），或通配符：\n  danlu find data '*.ckpt'",
    ),
    "opt.find.kind": ("only file, folder, link or other", "只找 file、folder、link 或 other"),
    "opt.find.limit": ("at most this many", "最多列出多少个"),
    "cmd.bin": ("Bring back what was deleted", "恢复已删除的文件"),
    "about.bin": (
        "restore takes ids, or paths as they were.\n"
        "  danlu bin\n"
        "  danlu bin restore data/x.csv\n"
        "  danlu bin empty",
        "restore 接受编号，或原来的路径。\n"
        "  danlu bin\n"
        "  danlu bin restore data/x.csv\n"
        "  danlu bin empty",
    ),
    "opt.bin.keep-both": (
        "if the name is taken, restore under another one",
        "名称已被占用时，以另一名称恢复",
    ),
    "opt.bin.overwrite": ("replace what is there now", "覆盖现有的同名文件"),
}
