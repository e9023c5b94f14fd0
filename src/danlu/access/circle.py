"""Without root all tasks run as one user of the machine: whoever is let in must be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.access.errors import Clash
from danlu.store import users
from danlu.store.meta import get_meta, put_meta
from danlu.store.tx import Tx

_SAID = "circle_of_trust"


@dataclass(frozen=True, slots=True)
class Circle:
    """Whether accounts are kept apart on the machine, and whether the admin trusts all anyway."""

    apart: bool  # every user has a uid of their own
    trusted: bool = False  # danlu.toml: [server] circle_of_trust = true

    def admit(self, tx: Tx, trusted: bool = False) -> None:
        """Before a second account is made. Once the admin has said it, it holds. Raises Clash."""
        if self.apart or self.trusted or users.count_users(tx) == 0:
            return
        if trusted:
            put_meta(tx, _SAID, "yes")
        elif get_meta(tx, _SAID) != "yes":
            raise Clash(
                "circle_of_trust",
                "This server does not run as root: everybody's tasks would run as the same user of "
                "the machine and could read and end each other's. Run it as root; or, if all who "
                "use it trust each other, say so: danlu user add --trusted, or circle_of_trust = "
                "true below [server] in danlu.toml",
                "服务器不是以 root 运行：所有人的任务都会以同一个系统用户运行，可以互相读取和终止。"
                "请用 root 运行；如果所有使用者互相信任，请明确说明：danlu user add --trusted，"
                "或在 danlu.toml 的 [server] 下写 circle_of_trust = true",
            )
