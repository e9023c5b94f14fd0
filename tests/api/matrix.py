"""Every route and what each kind of person is answered: the table of the test of the same name.

The columns: a stranger; a member of another group; the member the thing belongs to; the leader of
that member's group; an admin; the member with an expired token; the member with a token that may
only read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PEOPLE = ("stranger", "outsider", "member", "leader", "admin", "expired", "reader")
NOT_TRIED = 0


@dataclass(frozen=True)
class Row:
    answers: str  # one status a person, in the order of PEOPLE
    body: Any = None
    query: str = ""
    names: dict[str, str] = field(default_factory=dict)  # {name} -> which thing of the world

    def expected(self) -> dict[str, int]:
        return dict(zip(PEOPLE, (int(word) for word in self.answers.split()), strict=True))


ALL = "200 200 200 200 200 200 200"
SIGNED_IN = "401 200 200 200 200 401 200"
EVERYBODY_CHANGES = "401 200 200 200 200 401 403"
MAKES = "401 201 201 201 201 401 403"
SEES_JOB = "401 404 200 200 200 401 200"
CHANGES_JOB = "401 404 200 403 200 401 403"
ADMIN_ONLY = "401 403 403 403 200 401 403"
ADMIN_READS = "401 403 403 403 200 401 403"
LETS_IN = "401 404 404 200 200 401 403"

PASSWORD = "a password of many words"
SIGN_UP = {"password": PASSWORD}

ROUTES: dict[str, Row] = {
    "GET /healthz": Row(ALL),
    # A client for laptops that know nothing of the place yet.
    "GET /light/binary/linux/amd64/dlc": Row(ALL),
    "GET /light/binary/linux/arm64/dlc": Row(ALL),
    "GET /light/binary/darwin/amd64/dlc": Row(ALL),
    "GET /light/binary/darwin/arm64/dlc": Row(ALL),
    "GET /api/v1/openapi.json": Row(ALL),
    "GET /api/v1/version": Row(ALL),
    # Signing in and out. The old password is wrong: 403, for whoever may try at all.
    "POST /api/v1/login": Row(
        "401 401 401 401 401 401 401", {"user": "nobody-there", "password": "wrong"}
    ),
    "POST /api/v1/logout": Row("401 200 200 200 200 401 403"),
    "POST /api/v1/password": Row(
        "401 403 403 403 403 401 403", {"old": "not the right one", "new": PASSWORD}
    ),
    "GET /api/v1/whoami": Row(SIGNED_IN),
    "GET /api/v1/sessions": Row(SIGNED_IN),
    "DELETE /api/v1/sessions": Row(EVERYBODY_CHANGES),
    "GET /api/v1/tokens": Row(SIGNED_IN),
    "POST /api/v1/tokens": Row(MAKES, {"label": "mine"}),
    "DELETE /api/v1/tokens/{id}": Row("401 404 200 404 200 401 403", names={"id": "token"}),
    # Coming in. A stranger may ask; whoever has an account may, too, for another one.
    "POST /api/v1/sign-up": Row("201 201 201 201 201 201 201", SIGN_UP, names={"name": "fresh"}),
    "GET /api/v1/requests": Row(SIGNED_IN),
    "POST /api/v1/requests/{name}/approve": Row(LETS_IN, names={"name": "request"}),
    "POST /api/v1/requests/{name}/decline": Row(LETS_IN, names={"name": "request"}),
    "GET /api/v1/invites": Row(SIGNED_IN),
    "POST /api/v1/invites": Row(
        "401 404 403 201 201 401 403", {"uses": 1}, names={"group": "group"}
    ),
    "DELETE /api/v1/invites/{id}": Row(LETS_IN, names={"id": "invite"}),
    # People. A leader sees those of the group; nobody but an admin changes others.
    "GET /api/v1/users": Row(SIGNED_IN),
    "POST /api/v1/users": Row("401 403 403 403 201 401 403", {}, names={"name": "fresh"}),
    "GET /api/v1/users/{name}": Row("401 404 200 200 200 401 200", names={"name": "member"}),
    "PATCH /api/v1/users/{name}": Row(
        "401 404 403 403 200 401 403", {"role": "member"}, names={"name": "member"}
    ),
    "DELETE /api/v1/users/{name}": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /api/v1/users/{name}/disable": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /api/v1/users/{name}/enable": Row(ADMIN_ONLY, names={"name": "disabled"}),
    "POST /api/v1/users/{name}/password": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /api/v1/users/{name}/hand-over": Row(
        ADMIN_ONLY, names={"name": "disabled", "to": "member"}
    ),
    # Groups. Members see theirs; leaders take in and put out; admins make them and say who leads.
    "GET /api/v1/groups": Row(SIGNED_IN),
    "POST /api/v1/groups": Row("401 403 403 403 201 401 403", {}, names={"name": "fresh"}),
    "GET /api/v1/groups/{name}": Row("401 404 200 200 200 401 200", names={"name": "group"}),
    "PATCH /api/v1/groups/{name}": Row(
        "401 404 403 403 200 401 403", {"note": "x"}, names={"name": "group"}
    ),
    "DELETE /api/v1/groups/{name}": Row("401 404 404 404 200 401 403", names={"name": "empty"}),
    "PUT /api/v1/groups/{name}/members/{user}": Row(
        "401 404 403 200 200 401 403", {}, names={"name": "group", "user": "victim"}
    ),
    "DELETE /api/v1/groups/{name}/members/{user}": Row(
        "401 404 403 200 200 401 403", names={"name": "group", "user": "joined"}
    ),
    "GET /api/v1/audit": Row(ADMIN_READS),
    # Jobs.
    "GET /api/v1/jobs": Row(SIGNED_IN),
    "POST /api/v1/jobs": Row(MAKES, {"command": "true", "held": True}),
    # Reads a file; queues nothing, so it leaves no line.
    "POST /api/v1/jobs/convert": Row("401 200 200 200 200 401 403", {"command": "true"}),
    "GET /api/v1/jobs/{ref}": Row(SEES_JOB),
    "GET /api/v1/jobs/{ref}/wait": Row(SEES_JOB, query="timeout=0"),
    "GET /api/v1/jobs/{ref}/why": Row(SEES_JOB),
    "GET /api/v1/jobs/{ref}/events": Row(SEES_JOB),
    "GET /api/v1/jobs/{ref}/spec": Row(SEES_JOB),
    "GET /api/v1/jobs/{ref}/logs": Row(SEES_JOB),
    "GET /api/v1/jobs/{ref}/logs/search": Row(SEES_JOB, query="q=x"),
    "POST /api/v1/jobs/{ref}/stop": Row(CHANGES_JOB, {"now": True}),
    "POST /api/v1/jobs/{ref}/hold": Row(CHANGES_JOB),
    "POST /api/v1/jobs/{ref}/release": Row(CHANGES_JOB),
    # Whoever may see a job may ask for the same, as a job of their own.
    "POST /api/v1/jobs/{ref}/rerun": Row("401 404 201 201 201 401 403"),
    "GET /api/v1/stream": Row(SIGNED_IN),
    # Secrets are one's own: the same name is another secret for everybody else.
    "GET /api/v1/secrets": Row(SIGNED_IN),
    "PUT /api/v1/secrets/{name}": Row(EVERYBODY_CHANGES, {"value": "x"}, names={"name": "secret"}),
    "DELETE /api/v1/secrets/{name}": Row("401 404 200 404 404 401 403", names={"name": "hidden"}),
    # Volumes: one of the member's group. Those who may use it see it; an admin declares.
    "GET /api/v1/volumes": Row(SIGNED_IN),
    "POST /api/v1/volumes": Row(
        "401 403 403 403 201 401 403",
        {"source": "/srv", "everywhere": False},
        names={"name": "fresh"},
    ),
    "GET /api/v1/volumes/{name}": Row("401 404 200 200 200 401 200", names={"name": "volume"}),
    "PATCH /api/v1/volumes/{name}": Row(
        "401 404 403 403 200 401 403", {"note": "x"}, names={"name": "volume"}
    ),
    "DELETE /api/v1/volumes/{name}": Row("401 404 403 403 200 401 403", names={"name": "volume"}),
    # The place itself. Who holds which card is for all to see.
    "GET /api/v1/nodes": Row(SIGNED_IN),
    "GET /api/v1/gpus": Row(SIGNED_IN),
    "GET /api/v1/server": Row(SIGNED_IN),
    "GET /api/v1/cluster": Row(SIGNED_IN),
    "POST /api/v1/nodes/{name}/drain": Row(ADMIN_ONLY, names={"name": "node"}),
    "POST /api/v1/nodes/{name}/resume": Row(ADMIN_ONLY, names={"name": "node"}),
    # Queues are for all to choose from; quotas are told to those whom they bind.
    "GET /api/v1/queues": Row(SIGNED_IN),
    "PUT /api/v1/queues/{name}": Row(ADMIN_ONLY, {"order": "fifo"}, names={"name": "queue"}),
    "DELETE /api/v1/queues/{name}": Row(ADMIN_ONLY, names={"name": "queue"}),
    "POST /api/v1/queues/{name}/merge": Row(
        ADMIN_ONLY, {"into": "default"}, names={"name": "queue"}
    ),
    "GET /api/v1/quotas": Row(SIGNED_IN),
    "PUT /api/v1/quotas/{of}/{name}": Row(
        ADMIN_ONLY, {"gpus": 1000}, names={"of": "user_word", "name": "member"}
    ),
    "DELETE /api/v1/quotas/{of}/{name}": Row(
        ADMIN_ONLY, names={"of": "user_word", "name": "quota"}
    ),
    # Who asked for what, of everybody.
    "GET /api/v1/snapshot": Row(ADMIN_READS),
    "POST /api/v1/backup": Row(ADMIN_ONLY),
    "POST /api/v1/server/shutdown": Row(f"401 403 403 403 {NOT_TRIED} 401 403"),
}

SOCKETS: dict[str, Row] = {
    # Codes with which the server closes; 200: let in.
    "/api/v1/jobs/{ref}/attach": Row("4403 4404 200 4403 200 4403 4403"),
    "/api/v1/jobs/{ref}/exec": Row("4403 4404 200 4403 200 4403 4403", query='argv=["true"]'),
}
