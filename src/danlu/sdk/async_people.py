# ruff: noqa: ASYNC109 - a timeout that goes along with the request
"""The requests of `people`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.people import LONG
from danlu.sdk.wire import segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncPeople:
    """Everything about people."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def users(
        self, *, status: str | None = None, group: str | None = None
    ) -> list[model.User]:
        """The accounts you may see: all for an admin, their group's for a leader, else your own."""
        found = await self._do("GET", target("/users", {"status": status, "group": group}))
        answer: list[model.User] = found["users"]
        return answer

    async def user(self, name: str) -> model.User:
        answer: model.User = await self._do("GET", f"/users/{segment(name)}")
        return answer

    async def add_user(self, name: str, **values: Any) -> model.UserWithPassword:
        """`values`: full_name, role, groups, leads, uid, gid, trusted. The answer contains a
        one-time password, shown only once.
        """
        answer: model.UserWithPassword = await self._do("POST", "/users", {"name": name, **values})
        return answer

    async def change_user(self, name: str, **values: Any) -> model.User:
        """`values`: full_name, role, uid, gid."""
        answer: model.User = await self._do("PATCH", f"/users/{segment(name)}", values)
        return answer

    async def disable_user(self, name: str, *, stop_jobs: bool = False) -> model.User:
        """Takes effect at once."""
        path, order = (f"/users/{segment(name)}/disable", {"stop_jobs": stop_jobs})
        answer: model.User = await self._do("POST", path, order)
        return answer

    async def enable_user(self, name: str) -> model.User:
        answer: model.User = await self._do("POST", f"/users/{segment(name)}/enable", {})
        return answer

    async def reset_password(self, name: str) -> model.UserWithPassword:
        """Sets a one-time password for someone who forgot theirs."""
        answer: model.UserWithPassword = await self._do(
            "POST", f"/users/{segment(name)}/password", {}
        )
        return answer

    async def remove_user(self, name: str) -> model.User:
        """Permanent; the name is never reused."""
        answer: model.User = await self._do("DELETE", f"/users/{segment(name)}")
        return answer

    async def hand_over(self, name: str, to: str) -> model.HandOver:
        """Transfers ended jobs and files of a disabled or removed user to another."""
        path = f"/users/{segment(name)}/hand-over"
        answer: model.HandOver = await self._do("POST", path, {"to": to}, LONG)
        return answer

    async def groups(self) -> list[model.Group]:
        """Your groups; an admin sees all."""
        answer: list[model.Group] = (await self._do("GET", "/groups"))["groups"]
        return answer

    async def group(self, name: str) -> model.Group:
        answer: model.Group = await self._do("GET", f"/groups/{segment(name)}")
        return answer

    async def add_group(self, name: str, note: str = "") -> model.Group:
        answer: model.Group = await self._do("POST", "/groups", {"name": name, "note": note})
        return answer

    async def change_group(self, name: str, note: str) -> model.Group:
        answer: model.Group = await self._do("PATCH", f"/groups/{segment(name)}", {"note": note})
        return answer

    async def remove_group(self, name: str) -> model.Group:
        answer: model.Group = await self._do("DELETE", f"/groups/{segment(name)}")
        return answer

    async def put_member(self, group: str, user: str, leader: bool | None = None) -> model.Group:
        """For admins: adds a member; `leader` sets whether they lead (None: unchanged)."""
        path = f"/groups/{segment(group)}/members/{segment(user)}"
        answer: model.Group = await self._do("PUT", path, {"leader": leader})
        return answer

    async def join(self, code: str) -> model.Group:
        """Joins the group an invitation is for."""
        answer: model.Group = await self._do("POST", "/groups/join", {"code": code})
        return answer

    async def remove_member(self, group: str, user: str) -> model.Group:
        answer: model.Group = await self._do(
            "DELETE", f"/groups/{segment(group)}/members/{segment(user)}"
        )
        return answer

    async def tokens(self, user: str | None = None) -> list[model.Token]:
        answer: list[model.Token] = (await self._do("GET", target("/tokens", {"user": user})))[
            "tokens"
        ]
        return answer

    async def ssh_keys(self) -> list[model.SshKey]:
        answer: list[model.SshKey] = (await self._do("GET", "/ssh-keys"))["keys"]
        return answer

    async def add_ssh_key(self, key: str, label: str = "") -> model.SshKey:
        """`key`: one line of a .pub file."""
        answer: model.SshKey = await self._do("POST", "/ssh-keys", {"key": key, "label": label})
        return answer

    async def remove_ssh_key(self, key_id: str) -> model.SshKey:
        answer: model.SshKey = await self._do("DELETE", f"/ssh-keys/{segment(key_id)}")
        return answer

    async def make_token(
        self, label: str = "", *, scope: str = "all", expires_in: float | None = None
    ) -> model.NewToken:
        """`scope`: all, or read. The answer's `token` is shown only once."""
        order: dict[str, Any] = {"label": label, "scope": scope}
        if expires_in is not None:
            order["expires_in"] = expires_in
        answer: model.NewToken = await self._do("POST", "/tokens", order)
        return answer

    async def revoke_token(self, id: str) -> model.Token:
        answer: model.Token = await self._do("DELETE", f"/tokens/{segment(id)}")
        return answer

    async def sessions(self) -> list[model.Token]:
        answer: list[model.Token] = (await self._do("GET", "/sessions"))["tokens"]
        return answer

    async def end_sessions(self) -> int:
        """Ends all your other sessions."""
        return int((await self._do("DELETE", "/sessions"))["ended"])

    async def logout(self) -> None:
        """Revokes the token this client uses."""
        await self._do("POST", "/logout", {})

    async def sign_up(self, name: str, password: str, **values: Any) -> model.SignedUp:
        """`values`: code (of an invitation), or group and note; full_name."""
        order = {"name": name, "password": password, **values}
        answer: model.SignedUp = await self._do("POST", "/sign-up", order)
        return answer

    async def requests(self) -> list[model.Applicant]:
        """The requests you may decide on."""
        answer: list[model.Applicant] = (await self._do("GET", "/requests"))["requests"]
        return answer

    async def approve(self, name: str) -> model.User:
        answer: model.User = await self._do("POST", f"/requests/{segment(name)}/approve", {})
        return answer

    async def decline(self, name: str) -> model.Applicant:
        answer: model.Applicant = await self._do("POST", f"/requests/{segment(name)}/decline", {})
        return answer

    async def invites(self) -> list[model.Invite]:
        answer: list[model.Invite] = (await self._do("GET", "/invites"))["invites"]
        return answer

    async def invite(
        self,
        group: str | None = None,
        *,
        uses: int = 1,
        expires_in: float | None = None,
        note: str = "",
    ) -> model.NewInvite:
        """The answer's `code` is shown only once."""
        order: dict[str, Any] = {"group": group, "uses": uses, "note": note}
        if expires_in is not None:
            order["expires_in"] = expires_in
        answer: model.NewInvite = await self._do("POST", "/invites", order)
        return answer

    async def revoke_invite(self, id: str) -> model.Invite:
        answer: model.Invite = await self._do("DELETE", f"/invites/{segment(id)}")
        return answer

    async def audit(
        self,
        *,
        actor: str | None = None,
        act: str | None = None,
        thing: str | None = None,
        since: float | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> model.AuditPage:
        """Who did what, when and from where; newest first. For admins."""
        query = {
            "actor": actor,
            "act": act,
            "thing": thing,
            "since": since,
            "limit": limit,
            "before": before,
        }
        answer: model.AuditPage = await self._do("GET", target("/audit", query))
        return answer

    async def _do(
        self,
        method: str,
        path: str,
        values: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        body = None if values is None else dumps(values).encode()
        again = method in ("GET", "PUT", "PATCH")
        answer = await self._calls._ask(
            method, BASE + path, body, timeout=timeout, repeatable=again
        )
        return as_json(answer)
