"""Messages about the server and signing in to it: (en, zh). Loaded on demand."""

SERVER: dict[str, tuple[str, str]] = {
    "backup.done": ("{file}: {size}, complete", "{file}：{size}，完整"),
    "completion.unknown": (
        "No completion for {shell!r}; available: {known}",
        "没有 {shell!r} 的补全；可用：{known}",
    ),
    "down.done": ("Stopping the server at {server}", "服务 {server} 正在停止"),
    "down.nothing": ("No tasks are running", "没有正在运行的任务"),
    "down.running": (
        "{count} {count:job keeps|jobs keep} running; danlu up adopts {count:it|them} again:",
        "{count} 个任务继续运行；danlu up 会重新接管它们：",
    ),
    "login.done": (
        "Logged in to {server} as {user}; saved as context {name}",
        "已以 {user} 登录 {server}；保存为上下文 {name}",
    ),
    "login.must_change": (
        "This is a one-time password: change it with danlu passwd",
        "这是一次性密码：请用 danlu passwd 修改",
    ),
    "login.no_user": ("User name missing: use --user NAME", "缺少用户名：请指定 --user 用户名"),
    "login.password": ("Password for {user}:", "{user} 的密码："),
    "login.user": ("User:", "用户："),
    "secret.ask": ("Value of {name} (hidden):", "{name} 的值（不显示）："),
    "secret.empty": (
        "{name}: no value; type it, or pipe it in: danlu secret set {name} < file",
        "{name}：没有值；请输入，或从文件读取：danlu secret set {name} < file",
    ),
    "secret.gone": ("{name} deleted", "{name} 已删除"),
    "secret.none": ("No secrets", "没有密钥"),
    "secret.set": (
        "{name} saved; pass it to a job with danlu run --secret VARIABLE={name}",
        "{name} 已设置；danlu run --secret VARIABLE={name} 可交给任务",
    ),
    "server.bad_address": (
        "{address!r} is not a server address; use http://host:port, https://host or unix:/path",
        "{address!r} 不是服务地址；请写 http://主机:端口、https://主机 或 unix:/路径",
    ),
    "passwd.done": ("Password changed", "密码已修改"),
    "passwd.new": ("New password (at least 10 characters):", "新密码（至少 10 个字符）："),
    "passwd.old": ("Current password:", "当前密码："),
    "passwd.twice": (
        "The new passwords do not match; nothing was changed",
        "两次输入的新密码不同；没有修改",
    ),
    "passwd.again": ("New password again:", "再输入一次新密码："),
    "server.login": (
        "Get a valid token with danlu login",
        "运行 danlu login 获取有效令牌",
    ),
    "server.login_instead_of": (
        "The token came from {source} and is not valid here: it may have expired. Set a valid one, "
        "or leave {source} out to use your login (danlu login)",
        "令牌来自 {source}，在这里无效，可能已过期。请换一个有效的，"
        "或去掉 {source} 以使用已保存的登录（danlu login）",
    ),
    "server.asked": (
        "The address was {server}. danlu context list shows the servers you have logged in to",
        "地址是 {server}。danlu context list 列出你登录过的服务",
    ),
    "server.bad_token": (
        "Invalid token: unexpected characters. Copy it again, or run danlu login",
        "令牌无效：含有意外的字符。请重新复制，或运行 danlu login",
    ),
    "server.disk_full": (
        "Warning: the server's disk has been full since {since}. New jobs are refused until space "
        "is freed; output of running jobs may be lost",
        "警告：服务器磁盘自 {since} 起已满。清理空间之前不接受新任务；运行中任务的输出可能丢失",
    ),
    "server.disk_low": (
        "Warning: the server's disk has been almost full since {since}: {free} left. Delete what "
        "you no longer need; running jobs may fill it",
        "警告：服务器磁盘自 {since} 起快满了，剩余 {free}。请删除不再需要的文件；"
        "运行中的任务可能把它写满",
    ),
    "server.ca_file": (
        "Cannot use the certificates in DANLU_CA_FILE: {cause}. It must be a PEM file",
        "无法使用 DANLU_CA_FILE 指定的证书：{cause}。请指定 PEM 格式的文件",
    ),
    "server.no_tls": (
        "{where} does not use TLS ({cause}). Use http:// instead of https://",
        "{where} 不使用 TLS（{cause}）。请把 https:// 改成 http://",
    ),
    "server.untrusted": (
        "Certificate of {where} not trusted: {cause}. For a self-signed one: "
        "DANLU_CA_FILE=cert.pem danlu ...",
        "{where} 的证书不受信任：{cause}。如果是自签名证书：DANLU_CA_FILE=cert.pem danlu ...",
    ),
    "server.lost": (
        "Connection to {where} lost ({cause}); the request may have been processed",
        "与 {where} 的连接中断（{cause}）；请求可能已执行",
    ),
    "server.no_context": (
        "No such context: {name!r}; create it with danlu login URL --name {name}",
        "没有上下文 {name!r}；danlu login URL --name {name} 可创建",
    ),
    "server.none": (
        "No server configured. Start one here with danlu up, or use another with danlu login URL",
        "没有已知的服务。danlu up 在本机启动；danlu login URL 使用其他服务",
    ),
    "server.refused": (
        "The server rejected the request (HTTP {status})",
        "服务拒绝了请求（HTTP {status}）",
    ),
    "server.strange": (
        "Not a Danlu server: {cause}. Check the address",
        "对方不是 Danlu 服务：{cause}。请检查地址",
    ),
    "server.unreachable": (
        "No server at {where}: {cause}. Start it with danlu up, or choose another with --server",
        "{where} 没有服务响应：{cause}。用 danlu up 启动，或用 --server 指定其他服务",
    ),
    "shims.installed": ("{path}  installed", "{path}  已安装"),
    "shims.none": (
        "None of these commands were installed by Danlu in {folder}",
        "{folder} 中没有由 Danlu 安装的这些命令",
    ),
    "shims.not_on_path": (
        "{folder} is not in your PATH; add it: export PATH={folder}:$PATH",
        "{folder} 不在 PATH 中；请加入：export PATH={folder}:$PATH",
    ),
    "shims.real": (
        "Skipped {name}: a real one exists at {real} (--over installs it anyway)",
        "没有安装 {name}：已有真命令 {real}（--over 强制安装）",
    ),
    "shims.removed": ("{path}  removed", "{path}  已删除"),
    "shims.unknown": (
        "No command {name!r} to install; available: {known}",
        "没有可安装的命令 {name!r}；现有：{known}",
    ),
    "shims.verb": ("{verb!r}: use install or remove", "{verb!r}：请写 install 或 remove"),
    "demo.note": (
        "(demo: people, jobs and GPU usage are made up)",
        "（演示：人员、任务和显卡使用情况均为虚构）",
    ),
    "up.cannot": ("Cannot start {program}: {cause}", "无法启动 {program}：{cause}"),
}
