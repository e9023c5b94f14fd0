"""Without root all tasks run as one system user, so everyone with an account must be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.access.errors import Clash
from danlu.spec.text import Text
from danlu.store import users
from danlu.store.meta import get_meta, put_meta
from danlu.store.tx import Tx

_SAID = "circle_of_trust"


@dataclass(frozen=True, slots=True)
class Circle:
    """Whether accounts are isolated, and whether the admin trusts everyone anyway."""

    apart: bool  # every user has their own uid
    trusted: bool = False  # danlu.toml: [server] circle_of_trust = true

    def admit(self, tx: Tx, trusted: bool = False) -> None:
        """Called before a second account is created; once the admin has agreed, it stays so. Raises
        Clash.
        """
        if self.apart or self.trusted or users.count_users(tx) == 0:
            return
        if trusted:
            put_meta(tx, _SAID, "yes")
        elif get_meta(tx, _SAID) != "yes":
            raise Clash(
                "circle_of_trust",
                Text(
                    "This server does not run as root: all tasks would run as the same system "
                    "user and could read and kill each other. Run it as root, or, if all its "
                    "users trust each other, confirm that with danlu user add --trusted or "
                    "circle_of_trust = true under [server] in danlu.toml",
                    "服务器不是以 root 运行：所有人的任务都会以同一个系统用户运行，可以互相读取和"
                    "终止。请用 root 运行；如果所有使用者互相信任，请明确说明：danlu user add "
                    "--trusted，或在 danlu.toml 的 [server] 下写 circle_of_trust = true",
                ),
            )
