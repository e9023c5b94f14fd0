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
OWNER_ONLY = "401 404 200 403 403 401 403"
ADMIN_ONLY = "401 403 403 403 200 401 403"
ADMIN_READS = "401 403 403 403 200 401 403"
OWN_IMAGE = "401 404 200 404 200 401 403"
OWN_IMAGE_SEEN = "401 404 200 404 200 401 200"
LETS_IN = "401 404 404 200 200 401 403"
NO_SUCH_FILE = "401 404 404 404 404 401 404"
IN_THE_GROUP = "401 404 200 200 404 401 403"
UPLOADS = "401 412 412 412 412 401 403"

PASSWORD = "a password of many words"
SIGN_UP = {"password": PASSWORD}

ROUTES: dict[str, Row] = {
    "GET /healthz": Row(ALL),
    "GET /metrics": Row("401 403 403 403 200 401 403"),
    # A client for laptops that know nothing of the place yet.
    "GET /light/binary/linux/amd64/dlc": Row(ALL),
    "GET /light/binary/linux/arm64/dlc": Row(ALL),
    "GET /light/binary/darwin/amd64/dlc": Row(ALL),
    "GET /light/binary/darwin/arm64/dlc": Row(ALL),
    # The web pages are for whoever wants to sign in; what they show comes from the routes below.
    "GET /{page:path}": Row(ALL, names={"page:path": "nothing"}),
    "GET /danlu/v1/openapi.json": Row(ALL),
    "GET /danlu/v1/version": Row(ALL),
    # Signing in and out. The old password is wrong: 403, for whoever may try at all.
    "POST /danlu/v1/login": Row(
        "401 401 401 401 401 401 401", {"user": "nobody-there", "password": "wrong"}
    ),
    "POST /danlu/v1/logout": Row("401 200 200 200 200 401 403"),
    "POST /danlu/v1/password": Row(
        "401 403 403 403 403 401 403", {"old": "not the right one", "new": PASSWORD}
    ),
    "GET /danlu/v1/whoami": Row(SIGNED_IN),
    # The same for browsers; with a token it is that token that ends.
    "POST /danlu/v1/session": Row(
        "401 401 401 401 401 401 401", {"user": "nobody-there", "password": "wrong"}
    ),
    "GET /danlu/v1/session": Row(SIGNED_IN),
    "DELETE /danlu/v1/session": Row("401 200 200 200 200 401 403"),
    "POST /danlu/v1/tickets": Row(MAKES, {"path": "/danlu/v1/jobs/x/exec"}),
    "GET /danlu/v1/sessions": Row(SIGNED_IN),
    "DELETE /danlu/v1/sessions": Row(EVERYBODY_CHANGES),
    "GET /danlu/v1/tokens": Row(SIGNED_IN),
    "POST /danlu/v1/tokens": Row(MAKES, {"label": "mine"}),
    "DELETE /danlu/v1/tokens/{id}": Row("401 404 200 404 200 401 403", names={"id": "token"}),
    # SSH keys are one's own: nobody else sees or removes them.
    "GET /danlu/v1/ssh-keys": Row(SIGNED_IN),
    "POST /danlu/v1/ssh-keys": Row(MAKES, {}, names={"key": "new_key"}),
    "DELETE /danlu/v1/ssh-keys/{id}": Row("401 404 200 404 404 401 403", names={"id": "ssh_key"}),
    # Coming in. A stranger may ask; whoever has an account may, too, for another one.
    "POST /danlu/v1/sign-up": Row("201 201 201 201 201 201 201", SIGN_UP, names={"name": "fresh"}),
    "GET /danlu/v1/requests": Row(SIGNED_IN),
    "POST /danlu/v1/requests/{name}/approve": Row(LETS_IN, names={"name": "request"}),
    "POST /danlu/v1/requests/{name}/decline": Row(LETS_IN, names={"name": "request"}),
    "GET /danlu/v1/invites": Row(SIGNED_IN),
    "POST /danlu/v1/invites": Row(
        "401 404 403 201 201 401 403", {"uses": 1}, names={"group": "group"}
    ),
    "DELETE /danlu/v1/invites/{id}": Row(LETS_IN, names={"id": "invite"}),
    # People. A leader sees those of the group; nobody but an admin changes others.
    "GET /danlu/v1/users": Row(SIGNED_IN),
    "POST /danlu/v1/users": Row("401 403 403 403 201 401 403", {}, names={"name": "fresh"}),
    "GET /danlu/v1/users/{name}": Row("401 404 200 200 200 401 200", names={"name": "member"}),
    "PATCH /danlu/v1/users/{name}": Row(
        "401 404 403 403 200 401 403", {"role": "member"}, names={"name": "member"}
    ),
    "DELETE /danlu/v1/users/{name}": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /danlu/v1/users/{name}/disable": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /danlu/v1/users/{name}/enable": Row(ADMIN_ONLY, names={"name": "disabled"}),
    "POST /danlu/v1/users/{name}/password": Row(ADMIN_ONLY, names={"name": "victim"}),
    "POST /danlu/v1/users/{name}/hand-over": Row(
        ADMIN_ONLY, names={"name": "disabled", "to": "member"}
    ),
    # Groups. Members see theirs; leaders invite and remove; admins make them and add members.
    "GET /danlu/v1/groups": Row(SIGNED_IN),
    "POST /danlu/v1/groups": Row("401 403 403 403 201 401 403", {}, names={"name": "fresh"}),
    "POST /danlu/v1/groups/join": Row("401 422 422 422 403 401 403", {"code": "not-a-code"}),
    "GET /danlu/v1/groups/{name}": Row("401 404 200 200 200 401 200", names={"name": "group"}),
    "GET /danlu/v1/groups/{name}/usage": Row(
        "401 404 403 200 200 401 403", names={"name": "group"}
    ),
    "PATCH /danlu/v1/groups/{name}": Row(
        "401 404 403 403 200 401 403", {"note": "x"}, names={"name": "group"}
    ),
    "DELETE /danlu/v1/groups/{name}": Row("401 404 404 404 200 401 403", names={"name": "empty"}),
    "PUT /danlu/v1/groups/{name}/members/{user}": Row(
        "401 404 403 403 200 401 403", {}, names={"name": "group", "user": "victim"}
    ),
    "DELETE /danlu/v1/groups/{name}/members/{user}": Row(
        "401 404 403 200 200 401 403", names={"name": "group", "user": "joined"}
    ),
    "GET /danlu/v1/audit": Row(ADMIN_READS),
    # Jobs.
    "GET /danlu/v1/jobs": Row(SIGNED_IN),
    "POST /danlu/v1/jobs": Row(MAKES, {"command": "true", "held": True}),
    # Reads a file; queues nothing, so it leaves no line.
    "POST /danlu/v1/jobs/convert": Row("401 200 200 200 200 401 403", {"command": "true"}),
    "GET /danlu/v1/jobs/{ref}": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/wait": Row(SEES_JOB, query="timeout=0"),
    "GET /danlu/v1/jobs/{ref}/why": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/events": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/spec": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/metrics": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/logs": Row(SEES_JOB),
    "GET /danlu/v1/jobs/{ref}/logs/search": Row(SEES_JOB, query="q=x"),
    "POST /danlu/v1/jobs/{ref}/stop": Row(CHANGES_JOB, {"now": True}),
    "POST /danlu/v1/jobs/{ref}/hold": Row(CHANGES_JOB),
    "PATCH /danlu/v1/jobs/{ref}": Row(CHANGES_JOB, {"time_limit": "1h"}),
    "POST /danlu/v1/jobs/{ref}/release": Row(CHANGES_JOB),
    # Whoever may see a job may ask for the same, as a job of their own.
    "POST /danlu/v1/jobs/{ref}/rerun": Row("401 404 201 201 201 401 403"),
    # It does not run: 409, for whoever may enter it.
    "POST /danlu/v1/jobs/{ref}/doors": Row("401 404 409 403 409 401 403", {"port": 7860}),
    # Environments. Only its owner starts one: what runs is the owner's job.
    # Curves of a job are for whoever can read its files.
    "GET /danlu/v1/jobs/{ref}/tensorboard": Row("401 404 200 403 403 401 200"),
    "POST /danlu/v1/tensorboards": Row(MAKES, {"folders": ["/userhome"]}),
    "GET /danlu/v1/environments": Row(SIGNED_IN),
    "POST /danlu/v1/environments": Row(MAKES, {"start": False}, names={"name": "fresh"}),
    "GET /danlu/v1/environments/{name}": Row(SEES_JOB, names={"name": "environment"}),
    "PATCH /danlu/v1/environments/{name}": Row(
        OWNER_ONLY, {"time_limit": "1h"}, names={"name": "environment"}
    ),
    # Its job runs without an image, or not at all: 409 for whoever may change it.
    "GET /danlu/v1/environments/{name}/save": Row(
        "401 404 409 403 409 401 403", names={"name": "environment"}
    ),
    "POST /danlu/v1/environments/{name}/save": Row(
        "401 404 409 403 409 401 403", {"image": "x:1"}, names={"name": "environment"}
    ),
    "GET /danlu/v1/jobs/{ref}/save": Row("401 404 409 403 409 401 403"),
    "POST /danlu/v1/jobs/{ref}/save": Row("401 404 409 403 409 401 403", {"image": "x:1"}),
    "GET /danlu/v1/saves": Row(SIGNED_IN),
    "GET /danlu/v1/saves/{id}": Row("401 404 404 404 404 401 404", names={"id": "fresh"}),
    "DELETE /danlu/v1/saves/{id}": Row("401 404 404 404 404 401 403", names={"id": "fresh"}),
    # Images. One's own, unless shared; only admins decide what is ready.
    "GET /danlu/v1/images": Row(SIGNED_IN),
    "POST /danlu/v1/images": Row(MAKES, {}, names={"name": "fresh"}),
    "GET /danlu/v1/images/{image}": Row(OWN_IMAGE_SEEN, names={"image": "own_image"}),
    "PATCH /danlu/v1/images/{image}": Row(
        OWN_IMAGE, {"description": "x"}, names={"image": "own_image"}
    ),
    "DELETE /danlu/v1/images/{image}": Row(OWN_IMAGE, names={"image": "own_image"}),
    "POST /danlu/v1/images/{image}/share": Row(
        OWN_IMAGE, {"kind": "everybody"}, names={"image": "own_image"}
    ),
    "POST /danlu/v1/images/{image}/unshare": Row(
        "401 403 200 403 200 401 403", {"kind": "everybody"}, names={"image": "shared_image"}
    ),
    "POST /danlu/v1/images/{image}/propose": Row(OWN_IMAGE, names={"image": "own_image"}),
    "POST /danlu/v1/images/{image}/accept": Row(
        "401 404 403 404 200 401 403", names={"image": "proposed_image"}
    ),
    "POST /danlu/v1/images/{image}/reject": Row(
        "401 404 403 404 200 401 403", names={"image": "proposed_image"}
    ),
    "POST /danlu/v1/images/{image}/verify": Row(
        "401 404 422 404 422 401 403", {"queue": "none-of-that-name"}, names={"image": "own_image"}
    ),
    "POST /danlu/v1/images/build": Row(
        "401 422 422 422 422 401 403", {"name": "x:1", "base": "debian:12"}
    ),
    "POST /danlu/v1/images/{image}/pull": Row(
        "401 404 202 404 202 401 403", names={"image": "own_image"}
    ),
    "DELETE /danlu/v1/environments/{name}": Row(CHANGES_JOB, names={"name": "environment"}),
    "POST /danlu/v1/environments/{name}/start": Row(OWNER_ONLY, names={"name": "environment"}),
    "POST /danlu/v1/environments/{name}/stop": Row(CHANGES_JOB, names={"name": "working"}),
    "POST /danlu/v1/environments/{name}/extend": Row(CHANGES_JOB, names={"name": "working"}),
    "PUT /danlu/v1/environments/{name}/shares/{user}": Row(
        OWNER_ONLY, names={"name": "environment", "user": "victim"}
    ),
    "DELETE /danlu/v1/environments/{name}/shares/{user}": Row(
        CHANGES_JOB, names={"name": "shared", "user": "chief"}
    ),
    "GET /danlu/v1/stream": Row(SIGNED_IN),
    # Secrets are one's own: the same name is another secret for everybody else.
    "GET /danlu/v1/secrets": Row(SIGNED_IN),
    "PUT /danlu/v1/secrets/{name}": Row(
        EVERYBODY_CHANGES, {"value": "x"}, names={"name": "secret"}
    ),
    "DELETE /danlu/v1/secrets/{name}": Row("401 404 200 404 404 401 403", names={"name": "hidden"}),
    # Volumes: one of the member's group. Those who may use it see it; an admin declares.
    "GET /danlu/v1/volumes": Row(SIGNED_IN),
    "POST /danlu/v1/volumes": Row(
        "401 403 403 403 201 401 403",
        {"source": "/srv", "everywhere": False},
        names={"name": "fresh"},
    ),
    "GET /danlu/v1/volumes/{name}": Row("401 404 200 200 200 401 200", names={"name": "volume"}),
    "PATCH /danlu/v1/volumes/{name}": Row(
        "401 404 403 403 200 401 403", {"note": "x"}, names={"name": "volume"}
    ),
    "DELETE /danlu/v1/volumes/{name}": Row("401 404 403 403 200 401 403", names={"name": "volume"}),
    # Images: a repository of the member's group.
    "GET /danlu/v1/registry": Row(SIGNED_IN),
    "GET /danlu/v1/registry/repositories": Row(ADMIN_READS, query="all=true"),
    "GET /danlu/v1/registry/images": Row(
        "401 404 200 200 200 401 200", query="repository={image}", names={"image": "image"}
    ),
    "DELETE /danlu/v1/registry/images": Row(
        "401 404 200 200 200 401 403", query="repository={image}", names={"image": "image"}
    ),
    "POST /danlu/v1/registry/collect": Row(ADMIN_ONLY, {}),
    # Files are one's own and one's groups'; an admin has no other's.
    "GET /danlu/v1/files/roots": Row(SIGNED_IN),
    "GET /danlu/v1/files/list": Row(SIGNED_IN, query="path=/userhome"),
    "GET /danlu/v1/files/stat": Row(SIGNED_IN, query="path=/userhome"),
    "GET /danlu/v1/files/preview": Row(SIGNED_IN, query="path=/userhome"),
    "GET /danlu/v1/files/search": Row(SIGNED_IN, query="path=/userhome&q=x"),
    "GET /danlu/v1/files/usage": Row(SIGNED_IN, query="path=/userhome"),
    "GET /danlu/v1/files/content": Row(NO_SUCH_FILE, query="path=/userhome/nothing"),
    "GET /danlu/v1/files/archive": Row(SIGNED_IN, query="path=/userhome"),
    "POST /danlu/v1/files/folders": Row(
        "401 404 201 201 404 401 403", {}, names={"path": "shared_folder"}
    ),
    "POST /danlu/v1/files/move": Row(
        IN_THE_GROUP, {"paths": ["/userhome/nothing"]}, names={"to": "shared_folder"}
    ),
    "POST /danlu/v1/files/copy": Row(
        IN_THE_GROUP, {"paths": ["/userhome/nothing"]}, names={"to": "shared_folder"}
    ),
    "POST /danlu/v1/files/delete": Row(EVERYBODY_CHANGES, {"paths": ["/userhome/nothing"]}),
    "GET /danlu/v1/files/bin": Row(SIGNED_IN),
    "POST /danlu/v1/files/bin/restore": Row(EVERYBODY_CHANGES, {"ids": ["userhome~0"]}),
    "POST /danlu/v1/files/bin/empty": Row(EVERYBODY_CHANGES, {"ids": ["userhome~0"]}),
    "GET /danlu/v1/files/operations": Row(SIGNED_IN),
    "GET /danlu/v1/files/operations/{id}": Row(
        "401 404 200 404 404 401 200", names={"id": "operation"}
    ),
    "DELETE /danlu/v1/files/operations/{id}": Row(
        "401 404 200 404 404 401 403", names={"id": "operation"}
    ),
    # The version of the protocol is missing: 412, for whoever may upload at all.
    "OPTIONS /danlu/v1/files/uploads": Row("204 204 204 204 204 204 204"),
    "POST /danlu/v1/files/uploads": Row(UPLOADS),
    "PATCH /danlu/v1/files/uploads/{id}": Row(UPLOADS, names={"id": "upload"}),
    "DELETE /danlu/v1/files/uploads/{id}": Row(UPLOADS, names={"id": "upload"}),
    # Bundles are one's own: nobody has another's by its id.
    "GET /danlu/v1/bundles": Row(SIGNED_IN),
    "POST /danlu/v1/bundles": Row("401 422 422 422 422 401 403", {"not": "a list"}),
    "PUT /danlu/v1/bundles/{id}/contents": Row(
        "401 404 200 404 404 401 403", names={"id": "bundle"}
    ),
    "DELETE /danlu/v1/bundles/{id}": Row("401 404 200 404 404 401 403", names={"id": "bundle"}),
    # Datasets: one the member proposed, on a volume of their group. Only admins decide.
    "GET /danlu/v1/datasets": Row(SIGNED_IN),
    "POST /danlu/v1/datasets": Row(
        MAKES, {"volume": "gdata", "folder": ""}, names={"name": "fresh"}
    ),
    "GET /danlu/v1/datasets/{name}": Row("401 404 200 404 200 401 200", names={"name": "dataset"}),
    "PATCH /danlu/v1/datasets/{name}": Row(
        "401 404 200 404 200 401 403", {"title": "x"}, names={"name": "dataset"}
    ),
    "DELETE /danlu/v1/datasets/{name}": Row(
        "401 404 200 404 200 401 403", names={"name": "dataset"}
    ),
    "POST /danlu/v1/datasets/{name}/accept": Row(
        "401 404 403 404 200 401 403", names={"name": "dataset"}
    ),
    "POST /danlu/v1/datasets/{name}/reject": Row(
        "401 404 403 404 200 401 403", {"reason": "x"}, names={"name": "dataset"}
    ),
    "POST /danlu/v1/datasets/{name}/measure": Row(
        "401 404 409 404 409 401 403", names={"name": "dataset"}
    ),
    "POST /danlu/v1/datasets/{name}/stage": Row(
        "401 404 403 404 409 401 403", {}, names={"name": "dataset"}
    ),
    "DELETE /danlu/v1/datasets/{name}/stage": Row(
        "401 404 403 404 200 401 403", names={"name": "dataset"}
    ),
    "POST /danlu/v1/volumes/{name}/measure": Row(
        "401 404 403 403 200 401 403", names={"name": "volume"}
    ),
    # Storage of one's own: whoever asked sees the request, an admin decides.
    "GET /danlu/v1/volume-requests": Row(SIGNED_IN),
    "POST /danlu/v1/volume-requests": Row(
        MAKES, {"address": "nas:/export"}, names={"name": "fresh"}
    ),
    "POST /danlu/v1/volume-requests/{id}/approve": Row(
        "401 404 403 404 200 401 403", {"source": "/srv"}, names={"id": "storage"}
    ),
    "POST /danlu/v1/volume-requests/{id}/reject": Row(
        "401 404 403 404 200 401 403", {"reason": "x"}, names={"id": "storage"}
    ),
    "DELETE /danlu/v1/volume-requests/{id}": Row(
        "401 404 200 404 200 401 403", names={"id": "storage"}
    ),
    # Disks: everybody sees what their own folders take; the rest is for admins.
    "GET /danlu/v1/disks": Row(SIGNED_IN),
    "GET /danlu/v1/disks/quotas": Row(SIGNED_IN),
    "PUT /danlu/v1/disks/quotas/{of}/{name}": Row(
        ADMIN_ONLY, {"size": "500G"}, names={"of": "user_word", "name": "member"}
    ),
    "DELETE /danlu/v1/disks/quotas/{of}/{name}": Row(
        ADMIN_ONLY, names={"of": "user_word", "name": "disk_quota"}
    ),
    "POST /danlu/v1/disks/clean": Row(ADMIN_ONLY, {"dry_run": True}),
    # The place itself. Who holds which GPU is for all to see.
    "GET /danlu/v1/nodes": Row(SIGNED_IN),
    "GET /danlu/v1/gpus": Row(SIGNED_IN),
    "GET /danlu/v1/server": Row(SIGNED_IN),
    "GET /danlu/v1/nodes/{name}/metrics": Row(SIGNED_IN, names={"name": "node"}),
    "GET /danlu/v1/waiting": Row(SIGNED_IN),
    "GET /danlu/v1/cluster": Row(SIGNED_IN),
    "POST /danlu/v1/nodes/{name}/drain": Row(
        ADMIN_ONLY, names={"name": "node"}, body={"reason": "new fan"}
    ),
    "POST /danlu/v1/nodes/{name}/resume": Row(ADMIN_ONLY, names={"name": "node"}),
    # Queues are for all to choose from; quotas are told to those whom they bind.
    "GET /danlu/v1/queues": Row(SIGNED_IN),
    "PUT /danlu/v1/queues/{name}": Row(ADMIN_ONLY, {"order": "fifo"}, names={"name": "queue"}),
    "DELETE /danlu/v1/queues/{name}": Row(ADMIN_ONLY, names={"name": "queue"}),
    "POST /danlu/v1/queues/{name}/merge": Row(
        ADMIN_ONLY, {"into": "default"}, names={"name": "queue"}
    ),
    "GET /danlu/v1/quotas": Row(SIGNED_IN),
    "PUT /danlu/v1/quotas/{of}/{name}": Row(
        ADMIN_ONLY, {"gpus": 1000}, names={"of": "user_word", "name": "member"}
    ),
    "DELETE /danlu/v1/quotas/{of}/{name}": Row(
        ADMIN_ONLY, names={"of": "user_word", "name": "quota"}
    ),
    # Who asked for what, of everybody.
    "GET /danlu/v1/snapshot": Row(ADMIN_READS),
    "POST /danlu/v1/backup": Row(ADMIN_ONLY),
    "POST /danlu/v1/server/shutdown": Row(f"401 403 403 403 {NOT_TRIED} 401 403"),
}

SOCKETS: dict[str, Row] = {
    # Codes with which the server closes; 200: let in.
    "/danlu/v1/jobs/{ref}/attach": Row("4403 4404 200 4403 200 4403 4403"),
    "/danlu/v1/jobs/{ref}/exec": Row("4403 4404 200 4403 200 4403 4403", query='argv=["true"]'),
}
