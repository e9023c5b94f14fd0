"""Help texts of the commands about people: (en, zh)."""

PEOPLE: dict[str, tuple[str, str]] = {
    "about.login": (
        "Several servers can be saved as contexts, each with its own token:\n"
        "  danlu login https://lab.example --context lab\n"
        "  danlu --context lab jobs\n"
        "  danlu context use lab\n"
        "The password is prompted for, or read from standard input with --password-stdin.",
        "可以同时保存多个服务，每个上下文有自己的令牌：\n"
        "  danlu login https://lab.example --context lab\n"
        "  danlu --context lab jobs\n"
        "  danlu context use lab\n"
        "密码会提示输入，或用 --password-stdin 从标准输入读取。",
    ),
    "cmd.logout": ("Log out: revoke your token and forget the server", "结束令牌并忘记该服务"),
    "opt.logout.everywhere": ("also end all your other sessions", "同时结束其他所有会话"),
    "cmd.context": ("List the known servers, or switch to one", "列出已知的服务，或切换"),
    "cmd.signup": (
        "Create an account with an invitation, or request one",
        "凭邀请码注册账号，或申请账号",
    ),
    "about.signup": (
        "With a code you can start at once:\n"
        "  danlu signup https://lab.example --user alice --code abcd-efgh-jkmn-pqrs\n"
        "Without one, the leader of the group you name (or an admin) has to approve:\n"
        "  danlu signup https://lab.example --user alice --group vision --note 'new student'",
        "有邀请码可立即使用：\n"
        "  danlu signup https://lab.example --user alice --code abcd-efgh-jkmn-pqrs\n"
        "没有邀请码时，由所写组的组长（或管理员）批准：\n"
        "  danlu signup https://lab.example --user alice --group vision --note '新生'",
    ),
    "opt.code": ("invitation code", "邀请码"),
    "opt.signup.group": ("group you want to join", "想加入的组"),
    "opt.signup.note": ("a short message to whoever approves", "给批准人看的一行说明"),
    "opt.signup.name": ("name to save this server under", "保存此服务所用的名称"),
    "opt.full-name": ("full name", "姓名"),
    "cmd.user": (
        "Manage accounts: add, change, disable, remove, transfer; approve requests",
        "账号：添加、修改、停用、删除、移交；批准申请",
    ),
    "about.user": (
        "An admin manages accounts; a leader sees the members of the group and approves requests "
        "to join it:\n"
        "  danlu user add alice --full-name 'Alice Li' --group vision\n"
        "  danlu user requests; danlu user approve bob\n"
        "When someone leaves:\n"
        "  danlu user disable bob --stop-jobs\n"
        "  danlu user hand-over bob alice\n"
        "  danlu user remove bob\n"
        "Disabling takes effect at once, even for open terminals. Names are never reused.",
        "管理员管理账号；组长可以看到本组的人，并批准申请加入本组的人：\n"
        "  danlu user add alice --full-name '李雷' --group vision\n"
        "  danlu user requests; danlu user approve bob\n"
        "有人离开时：\n"
        "  danlu user disable bob --stop-jobs\n"
        "  danlu user hand-over bob alice\n"
        "  danlu user remove bob\n"
        "停用立即生效，包括已打开的终端。名称不会再次使用。",
    ),
    "opt.role": ("admin or member", "admin 或 member"),
    "opt.user.group": ("group to join (repeatable)", "加入的组；可重复"),
    "opt.lead": ("group to lead (repeatable)", "担任组长的组；可重复"),
    "opt.uid": ("uid on the machine", "系统用户编号"),
    "opt.gid": ("gid on the machine", "系统组编号"),
    "opt.trusted": (
        "without root: confirms that all users of this server trust each other",
        "没有 root 权限时：表示所有使用者互相信任",
    ),
    "opt.stop-jobs": ("also stop waiting and running jobs", "同时停止等待和运行中的任务"),
    "opt.status": (
        "only active, disabled or removed accounts",
        "只显示 active、disabled 或 removed",
    ),
    "cmd.group": ("Manage groups, their members and leaders", "组：成员与组长"),
    "about.group": (
        "  danlu group add vision --note 'computer vision'\n"
        "  danlu group add-member vision alice --leader\n"
        "  danlu group add-member vision bob carol\n"
        "  danlu group join abcd-efgh-jkmn-pqrs\n"
        "An admin creates groups, appoints leaders and adds members; leaders invite (danlu invite) "
        "and remove members; anyone may leave.",
        "  danlu group add vision --note '计算机视觉'\n"
        "  danlu group add-member vision alice --leader\n"
        "  danlu group add-member vision bob carol\n"
        "  danlu group join abcd-efgh-jkmn-pqrs\n"
        "管理员建组、指定组长、添加成员；组长可邀请（danlu invite）和移出成员；任何人都可以退出。",
    ),
    "opt.leader": ("make them a leader", "担任组长"),
    "opt.no-leader": ("no longer a leader", "不再担任组长"),
    "cmd.token": (
        "Manage tokens for scripts, and see where you are logged in",
        "脚本用的令牌，以及登录记录",
    ),
    "about.token": (
        "A token is shown once, when it is created:\n"
        "  export DANLU_TOKEN=$(danlu token create --label ci --expires 30d)\n"
        "  danlu token create --label dashboard --read-only",
        "令牌只在创建时显示一次：\n"
        "  export DANLU_TOKEN=$(danlu token create --label ci --expires 30d)\n"
        "  danlu token create --label dashboard --read-only",
    ),
    "opt.token.label": ("what it is for", "用途"),
    "opt.token.read-only": ("may read, but not change anything", "只能读取，不能修改"),
    "opt.token.expires": (
        "when it expires, such as 30d (default 90d)",
        "何时失效，如 30d（默认 90d）",
    ),
    "opt.token.user": ("someone else's (admins)", "其他人的（管理员）"),
    "cmd.invite": ("Manage invitation codes", "注册用的邀请码"),
    "about.invite": (
        "  danlu invite create --group vision --uses 30 --expires 7d\n"
        "Leaders can invite to the group they lead, admins to any group or none.",
        "  danlu invite create --group vision --uses 30 --expires 7d\n"
        "组长可以邀请加入自己的组，管理员可以邀请加入任何组。",
    ),
    "opt.invite.group": ("group they will join", "加入的组"),
    "opt.uses": ("how many people can use it (default 1)", "可供多少人使用（默认 1）"),
    "opt.invite.expires": (
        "when it expires, such as 7d (default 14d)",
        "何时失效，如 7d（默认 14d）",
    ),
    "cmd.audit": (
        "Show who did what, when and from where (admins)",
        "谁在何时何地做了什么（管理员）",
    ),
    "about.audit": (
        "The newest lines, oldest first. The audit log is append-only.\n"
        "  danlu audit --by alice --since 1d\n"
        "  danlu audit --act login.failed",
        "显示最新的记录，按时间先后排列。记录不能修改或删除。\n"
        "  danlu audit --by alice --since 1d\n"
        "  danlu audit --act login.failed",
    ),
    "opt.by": ("only actions of this person", "只显示此人的操作"),
    "opt.act": ("only this action, such as user.disabled", "只显示此操作，如 user.disabled"),
    "opt.thing": ("only actions on this object", "只显示对此对象的操作"),
    "opt.audit.since": (
        "since: 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "此时刻之后：2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
}
