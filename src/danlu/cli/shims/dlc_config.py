"""`dlc config`: the server and the login."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.trouble import Trouble, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.shims.flags import Flags
    from danlu.sdk.client import Client

USUAL_PORT = 8080
TOKEN = "dlu_"  # noqa: S105 - how tokens begin; nothing else is ever sent as one


def path_of(flags: Flags) -> str:
    return flags.get("config") or os.path.expanduser("~/.dlc/config")


def configure(flags: Flags) -> int:
    known = _read(path_of(flags))
    endpoint = flags.get("endpoint") or known.get("endpoint", "")
    if not endpoint:
        raise Trouble("--endpoint is missing: the server's host", "缺少 --endpoint：服务器地址", 2)
    server = _reachable(endpoint, flags.get("protocol") or known.get("protocol", ""))
    user = flags.get("username") or flags.get("access_id") or known.get("username", "")
    secret = flags.get("password") or flags.get("access_key")
    if not user:
        raise Trouble("--username is missing", "缺少 --username", 2)
    if not secret:
        import getpass

        secret = getpass.getpass("password: ")
    token = _token(server, user, secret)
    values = {
        "endpoint": endpoint,
        "server": server,
        "username": user,
        "token": token,
        "region": flags.get("region") or known.get("region", ""),
    }
    _write(path_of(flags), values)
    sys.stdout.write(chosen(f"Configured: {user} at {server}\n", f"已配置：{user}，{server}\n"))
    return 0


def _token(server: str, user: str, secret: str) -> str:
    """An access key may be a Danlu token; a password is exchanged for one."""
    from danlu.sdk.client import Client
    from danlu.sdk.errors import ApiError

    if secret.startswith(TOKEN):
        try:
            Client(server, secret).whoami()
            return secret
        except ApiError:
            pass
    try:
        return str(Client(server, "").login(user, secret)["token"])
    except ApiError as error:
        raise Trouble(
            f"{user} cannot log in to {server}: {error.message_en}",
            f"{user} 无法登录 {server}：{error.message_zh}",
        ) from None


def _reachable(endpoint: str, protocol: str) -> str:
    """A bare host is tried at the usual ports: 443, 8080 and 80."""
    from danlu.sdk.client import Client

    endpoint = endpoint.rstrip("/")
    if "://" in endpoint:
        return endpoint
    host, _, port = endpoint.partition(":")
    kinds = [protocol] if protocol in ("http", "https") else ["http", "https"]
    if port:
        tries = [f"{kind}://{endpoint}" for kind in kinds]
    else:
        tries = [f"http://{host}:{USUAL_PORT}", f"https://{host}", f"http://{host}"]
        tries = [each for each in tries if each.partition(":")[0] in kinds]
    cause = ""
    for address in tries:
        try:
            Client(address, "", timeout=5.0).version()
        except Exception as error:
            cause = str(error)
            continue
        return address
    tried = ", ".join(tries)
    raise Trouble(
        f"no server answers at {endpoint} (tried {tried}): {cause}",
        f"{endpoint} 没有服务响应（已尝试 {tried}）：{cause}",
    )


def client(flags: Flags) -> Client:
    from danlu.sdk.client import Client

    known = _read(path_of(flags))
    if known.get("server"):
        return Client(known["server"], known.get("token", ""))
    if flags.has("config"):
        raise Trouble(f"no configuration in {path_of(flags)}", f"{path_of(flags)} 中没有配置")
    from danlu.sdk.context import find
    from danlu.sdk.errors import NoServer

    try:
        where = find(None, None, None)
    except NoServer:
        raise Trouble(
            "not configured yet; run dlc config --username U --password P --endpoint HOST",
            "尚未配置；请运行 dlc config --username U --password P --endpoint HOST",
        ) from None
    return Client(where.server, where.token or "", ca_file=where.ca_file)


def _read(path: str) -> dict[str, str]:
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _write(path: str, values: dict[str, str]) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write("".join(f"{name}={value}\n" for name, value in values.items() if value))
    os.replace(draft, path)
