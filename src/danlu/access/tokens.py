"""Tokens: create, list, revoke. A token is shown once, when it is created."""

from __future__ import annotations

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit
from danlu.access.gate import SIGNED_IN, Gate, new_token, token_row
from danlu.access.names import check_text
from danlu.access.principal import Asker
from danlu.spec.text import Text
from danlu.store import users
from danlu.store.rows import TokenRow
from danlu.store.store import Store
from danlu.store.tx import Tx

SCOPES = ("all", "read")
USUAL_SECONDS = 90 * 86400.0
LONGEST_SECONDS = 3660 * 86400.0
MOST = 100


class Tokens:
    def __init__(self, store: Store, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    async def of(self, asker: Asker, user: str | None = None) -> list[TokenRow]:
        name = user or asker.name
        if not rules.sees_tokens(asker.who, name):
            raise NotThere(Text(f"user {name[:40]}", f"用户 {name[:40]}"))

        def query(tx: Tx) -> list[TokenRow]:
            row = users.get_user(tx, name)
            if row is None:
                raise NotThere(Text(f"user {name[:40]}", f"用户 {name[:40]}"))
            return users.tokens_of(tx, row.id)

        return await self._store.read(query)

    async def make(
        self, asker: Asker, label: str, scope: str = "all", lasts: float = USUAL_SECONDS
    ) -> tuple[str, TokenRow]:
        """The token, and the stored row."""
        who = asker.who
        if not rules.makes_tokens(who):
            raise NotAllowed(
                Text(
                    "A personal token cannot create others; sign in with your password (danlu "
                    "login)",
                    "个人令牌不能创建其他令牌；请用密码登录（danlu login）",
                ),
            )
        if scope not in SCOPES:
            raise Unfit(
                "scope", Text(f"must be one of {', '.join(SCOPES)}", f"请写 {'、'.join(SCOPES)}")
            )
        if not 0 < lasts <= LONGEST_SECONDS:
            raise Unfit("expires_in", Text("must be at most ten years", "请写不超过十年的时间"))
        token = new_token()
        row = token_row(
            who.user_id,
            token,
            check_text(label, "label"),
            kind="personal",
            scope=scope,
            address=asker.address,
            lasts=lasts,
        )

        def op(tx: Tx) -> None:
            mine = [t for t in users.tokens_of(tx, who.user_id) if t.kind == "personal"]
            if len(mine) >= MOST:
                raise Clash(
                    "too_many_tokens",
                    Text(
                        f"You have {len(mine)} tokens; revoke some first (danlu token list)",
                        f"你已有 {len(mine)} 个令牌；请先撤销一些（danlu token list）",
                    ),
                )
            users.insert_token(tx, row)
            note(tx, asker, "token.made", row.id, label=row.label, scope=scope)

        await self._store.write(op)
        return token, row

    async def revoke(self, asker: Asker, token_id: str) -> TokenRow:
        def op(tx: Tx) -> TokenRow:
            row = users.get_token(tx, token_id)
            owner = users.get_user_by_id(tx, row.user_id) if row is not None else None
            if row is None or owner is None or not rules.sees_tokens(asker.who, owner.name):
                raise NotThere(Text(f"token {token_id[:40]}", f"令牌 {token_id[:40]}"))
            if row.kind == "machine":
                raise Clash(
                    "machine_token",
                    Text(
                        "This token belongs to the server on its own machine; revoking it would "
                        "only create a new one",
                        "这是服务器在本机使用的令牌；撤销后它会再建一个",
                    ),
                )
            if row.kind in SIGNED_IN and row.user_id == asker.who.user_id:
                _ends_sign_ins(asker)
            users.revoke(tx, row.id)
            note(tx, asker, "token.revoked", row.id, user=owner.name, label=row.label)
            return row

        row = await self._store.write(op)
        self._gate.forget([row.user_id])
        return row

    async def end_sessions(self, asker: Asker) -> int:
        """All of the principal's tokens except this one."""
        _ends_sign_ins(asker)
        who = asker.who

        def op(tx: Tx) -> int:
            ended = users.revoke_kinds(tx, who.user_id, SIGNED_IN, but=who.token_id)
            note(tx, asker, "sessions.ended", who.name, count=ended)
            return ended

        ended = await self._store.write(op)
        self._gate.forget([who.user_id])
        return ended

    async def logout(self, asker: Asker) -> None:
        """Ends the token used for this request; the machine's own token stays."""
        who = asker.who
        if who.kind == "machine":
            raise Clash(
                "machine_token",
                Text(
                    "This token belongs to the server on its own machine and cannot be signed out",
                    "这是服务器在本机使用的令牌；无需退出",
                ),
            )

        def op(tx: Tx) -> None:
            users.revoke(tx, who.token_id)
            note(tx, asker, "logout", who.name)

        await self._store.write(op)
        self._gate.forget([who.user_id])


def _ends_sign_ins(asker: Asker) -> None:
    if not rules.ends_sign_ins(asker.who):
        raise NotAllowed(
            Text(
                "A personal token ends no sessions; sign in with your password (danlu login)",
                "个人令牌不能结束会话；请用密码登录（danlu login）",
            ),
        )
