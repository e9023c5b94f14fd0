"""What the help says of the commands about people: (en, zh)."""

PEOPLE: dict[str, tuple[str, str]] = {
    "about.login": (
        "Several servers are kept side by side as contexts, each with its own token:\n"
        "  danlu login https://lab.example --context lab\n"
        "  danlu --context lab jobs\n"
        "  danlu context use lab\n"
        "The password is asked for, or read from standard input with --password-stdin.",
        "可以同时保存多个服务，每个上下文有自己的令牌：\n"
        "  danlu login https://lab.example --context lab\n"
        "  danlu --context lab jobs\n"
        "  danlu context use lab\n"
        "密码会提示输入，或用 --password-stdin 从标准输入读取。",
    ),
    "cmd.logout": ("Ends your token and forgets the server", "结束令牌并忘记该服务"),
    "opt.logout.everywhere": ("all your other sessions, too", "同时结束其他所有会话"),
    "cmd.context": ("Lists the servers known here, or changes to one", "列出已知的服务，或切换"),
    "cmd.signup": (
        "Makes yourself an account with an invitation, or asks for one",
        "凭邀请码注册账号，或申请账号",
    ),
    "about.signup": (
        "With a code you are in at once:\n"
        "  danlu signup https://lab.example --user alice --code abcd-efgh-jkmn-pqrs\n"
        "Without one, the leader of the group you name (or an admin) is asked:\n"
        "  danlu signup https://lab.example --user alice --group vision --note 'new student'",
        "有邀请码可立即使用：\n"
        "  danlu signup https://lab.example --user alice --code abcd-efgh-jkmn-pqrs\n"
        "没有邀请码时，由所写组的组长（或管理员）批准：\n"
        "  danlu signup https://lab.example --user alice --group vision --note '新生'",
    ),
    "opt.code": ("the code of an invitation", "邀请码"),
    "opt.signup.group": ("the group you want to be in", "想加入的组"),
    "opt.signup.note": ("a line for whoever decides", "给批准人看的一行说明"),
    "opt.signup.name": ("the name to remember this server by", "保存此服务所用的名称"),
    "opt.full-name": ("the full name, for people to read", "姓名"),
    "cmd.user": (
        "Accounts: add, change, disable, remove, hand over; approve requests",
        "账号：添加、修改、停用、删除、移交；批准申请",
    ),
    "about.user": (
        "An admin manages accounts; a leader sees the people of the group and approves those who "
        "ask for it:\n"
        "  danlu user add alice --full-name 'Alice Li' --group vision\n"
        "  danlu user requests; danlu user approve bob\n"
        "When somebody leaves:\n"
        "  danlu user disable bob --stop-jobs\n"
        "  danlu user hand-over bob alice\n"
        "  danlu user remove bob\n"
        "Disabling holds at once, also for open terminals. A name is never given again.",
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
    "opt.user.group": ("a group to be in; may be repeated", "加入的组；可重复"),
    "opt.lead": ("a group to lead; may be repeated", "担任组长的组；可重复"),
    "opt.uid": ("the uid on the machine", "系统用户编号"),
    "opt.gid": ("the gid on the machine", "系统组编号"),
    "opt.trusted": (
        "without root: says that all who use this server trust each other",
        "没有 root 权限时：表示所有使用者互相信任",
    ),
    "opt.stop-jobs": ("also stops what waits or runs", "同时停止等待和运行中的任务"),
    "opt.status": ("only active, disabled or removed ones", "只显示 active、disabled 或 removed"),
    "cmd.group": ("Groups: who is in them and who leads", "组：成员与组长"),
    "about.group": (
        "  danlu group add vision --note 'computer vision'\n"
        "  danlu group add-member vision alice --leader\n"
        "  danlu group add-member vision bob carol\n"
        "An admin makes groups and says who leads; a leader takes people in and out; anybody may "
        "leave.",
        "  danlu group add vision --note '计算机视觉'\n"
        "  danlu group add-member vision alice --leader\n"
        "  danlu group add-member vision bob carol\n"
        "管理员建组并指定组长；组长添加和移出成员；任何人都可以退出。",
    ),
    "opt.leader": ("they lead the group", "担任组长"),
    "opt.no-leader": ("they do not lead it any more", "不再担任组长"),
    "cmd.token": ("Tokens for scripts, and where you are logged in", "脚本用的令牌，以及登录记录"),
    "about.token": (
        "A token is shown once, when it is made:\n"
        "  export DANLU_TOKEN=$(danlu token create --label ci --expires 30d)\n"
        "  danlu token create --label dashboard --read-only",
        "令牌只在创建时显示一次：\n"
        "  export DANLU_TOKEN=$(danlu token create --label ci --expires 30d)\n"
        "  danlu token create --label dashboard --read-only",
    ),
    "opt.token.label": ("what it is for", "用途"),
    "opt.token.read-only": ("may read, but change nothing", "只能读取，不能修改"),
    "opt.token.expires": ("when it ends, as 30d (default 90d)", "何时失效，如 30d（默认 90d）"),
    "opt.token.user": ("another's, for an admin", "其他人的（管理员）"),
    "cmd.invite": ("Codes to sign up with", "注册用的邀请码"),
    "about.invite": (
        "  danlu invite create --group vision --uses 30 --expires 7d\n"
        "A leader invites to the group they lead, an admin to any or none.",
        "  danlu invite create --group vision --uses 30 --expires 7d\n"
        "组长可以邀请加入自己的组，管理员可以邀请加入任何组。",
    ),
    "opt.invite.group": ("the group they will be in", "加入的组"),
    "opt.uses": ("for how many people (default 1)", "可供多少人使用（默认 1）"),
    "opt.invite.expires": ("when it ends, as 7d (default 14d)", "何时失效，如 7d（默认 14d）"),
    "cmd.audit": ("Who did what, when and from where (admins)", "谁在何时何地做了什么（管理员）"),
    "about.audit": (
        "The newest lines, oldest of them first. Nothing in it can be changed or removed.\n"
        "  danlu audit --by alice --since 1d\n"
        "  danlu audit --act login.failed",
        "显示最新的记录，按时间先后排列。记录不能修改或删除。\n"
        "  danlu audit --by alice --since 1d\n"
        "  danlu audit --act login.failed",
    ),
    "opt.by": ("only what this person did", "只显示此人的操作"),
    "opt.act": ("only this act, as user.disabled", "只显示此操作，如 user.disabled"),
    "opt.thing": ("only what was done to this", "只显示对此对象的操作"),
    "opt.audit.since": (
        "since then: 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "此时刻之后：2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
}
