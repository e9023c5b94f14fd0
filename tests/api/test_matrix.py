"""Who may what: every route asked by every kind of person. A route without a row fails."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import httpx
import pytest
from fastapi.routing import APIWebSocketRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from danlu.api.app import LATER, create_app
from danlu.api.dav import Dav
from danlu.api.file_uploads import Upload
from danlu.api.later import Later
from danlu.services.services import Services
from tests.api.harness import PATIENCE, Harness, Job
from tests.api.matrix import NOT_TRIED, PEOPLE, ROUTES, SOCKETS, Row
from tests.api.people_harness import (
    PASSWORD,
    PROXY,
    PeopleHarness,
    Someone,
    caller,
    public_key,
    through_proxy,
)
from tests.support.images import push_small, pusher
from tests.support.server import DanluServer
from tests.support.tools import give, tools_venv


def routes(found: Iterable[Any], prefix: str = "") -> Iterator[str]:
    for route in found:
        if isinstance(route, Later | Dav):  # WebDAV: tests/files/test_dav.py
            continue
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from routes(included.routes, "/danlu/v1")
        elif isinstance(route, APIWebSocketRoute):
            yield f"{prefix}{route.path}"
        else:
            for method in route.methods - {"HEAD"}:
                yield f"{method} {prefix}{route.path}"


def test_every_route_has_a_row() -> None:
    app = create_app(cast(Services, None))
    known = {*ROUTES, *SOCKETS}
    document = app.openapi()["paths"]  # loads every route
    assert set(routes(app.routes)) == known
    listed = {f"{method.upper()} {path}" for path, each in document.items() for method in each}
    assert listed <= known


def _key(path: str, keys: set[str]) -> str:
    _, first, *others = path.split("/")
    return first if first in keys else f"{first}/*/{others[-1]}"


def test_modules_loaded_later_have_all_routes_below_their_paths() -> None:
    for names in set(LATER.values()):
        modules = [importlib.import_module(f"danlu.api.{name}") for name in names.split()]
        keys = {key for key, later in LATER.items() if later == names}
        found = {_key(route.path, keys) for each in modules for route in each.router.routes}
        assert found == keys


class AccessHarness:
    """A member of a group with a leader, and things of theirs, made anew where they get spent."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.people_harness = people_harness = PeopleHarness(harness)
        self._spare: dict[str, str] = {}
        self.group, self.other = people_harness.group(), people_harness.group()
        self.member = people_harness.person(self.group)
        self.leader = people_harness.person(leads=self.group)
        # A leader, too: of another group, that gives no right here.
        self.outsider = people_harness.person(leads=self.other)
        self.chief = people_harness.person()
        people_harness.admin.do("PATCH", f"/users/{self.chief.name}", {"role": "admin"})
        self._makers: dict[str, Callable[[], str]] = {
            "ref": lambda: self.job()["id"],
            "group": lambda: self.group,
            "member": lambda: self.member.name,
            "fresh": people_harness.name,
            "token": self._token,
            "new_key": public_key,
            "ssh_key": self._ssh_key,
            "environment": lambda: self._environment(start=False),
            "shared": self._shared,
            "own_image": self._own_image,
            "shared_image": lambda: self._image_after("share", {"kind": "everybody"}),
            "proposed_image": lambda: self._image_after("propose", {}),
            "chief": lambda: self.chief.name,
            "working": lambda: self._environment(start=True),
            "invite": lambda: str(self._invite()["id"]),
            "request": self._request,
            "victim": lambda: self._victim(),
            "joined": lambda: self._victim(self.group),
            "disabled": self._disabled,
            "empty": people_harness.group,
            "secret": lambda: "some",
            "hidden": self._secret,
            "volume": self._volume,
            "image": self._image,
            "bundle": self._bundle,
            "storage": self._storage,
            "dataset": self._dataset,
            "nothing": lambda: "",
            "node": lambda: "n1",
            "queue": self._queue,
            "user_word": lambda: "user",
            "quota": self._quota,
            "disk_quota": self._disk_quota,
            "shared_folder": lambda: f"/mnt/share/{self.group}/{people_harness.name()}",
            "operation": self._operation,
            "upload": lambda: Upload("/userhome/x", "0" * 32, 1, "refuse", "file", None).id,
        }

    def make(self, thing: str) -> str:
        spare = self._spare.pop(thing, None)
        return spare if spare is not None else self._makers[thing]()

    def keep(self, thing: str, made: str) -> None:
        """Nobody did anything to it: it will do for the next one."""
        self._spare[thing] = made

    def job(self, **job: Any) -> Job:
        found = self._acting().submit(group=self.group, **job)
        assert found["group"] == self.group
        return found

    def caller(self, person: str) -> httpx.Client:
        """With a token of its own, so that one who signs out does not sign out the others."""
        who = {"outsider": self.outsider, "leader": self.leader, "admin": self.chief}
        if person == "stranger":
            return caller(self.harness.server, None)
        scope = "read" if person == "reader" else "all"
        someone = who.get(person, self.member)
        return self.people_harness.session(someone, scope, expired=person == "expired").http

    def token(self, person: str) -> str | None:
        header: str | None = self.caller(person).headers.get("authorization")
        return header

    def _acting(self) -> Someone:
        return self.people_harness.session(self.member)

    def _image(self) -> str:
        """In a repository of the group."""
        acting, name = self._acting(), self.people_harness.name("i")
        repository = f"share/{self.group}/{name}"
        with pusher(self.harness.server, acting.name, acting.token, repository) as client:
            push_small(client, repository)
        return repository

    def _token(self) -> str:
        return str(self._acting().do("POST", "/tokens", {"label": "spent"})["id"])

    def _ssh_key(self) -> str:
        return str(self._acting().do("POST", "/ssh-keys", {"key": public_key()})["id"])

    def _environment(self, start: bool) -> str:
        acting, name = self._acting(), self.people_harness.name("e")
        keys = {"name": name, "group": self.group, "start": start}
        if start:
            give(self.harness.server.data, tools_venv())
        made = acting.do("POST", "/environments", keys)["environment"]
        if start:
            self.harness.until(made["job"], "running")
        return f"{acting.name}~{name}"

    def _shared(self) -> str:
        name = self._environment(start=False)
        self._acting().do("PUT", f"/environments/{name}/shares/{self.chief.name}")
        return name

    def _own_image(self) -> str:
        name = f"{self.people_harness.name('i')}:1"
        return str(self._acting().do("POST", "/images", {"name": name})["id"])

    def _image_after(self, act: str, order: dict[str, Any]) -> str:
        id = self._own_image()
        self._acting().do("POST", f"/images/{id}/{act}", order)
        return id

    def _invite(self) -> Any:
        return self.people_harness.admin.do("POST", "/invites", {"group": self.group})

    def _request(self) -> str:
        name = self.people_harness.name()
        order = {"name": name, "password": PASSWORD, "group": self.group}
        with caller(self.harness.server, None) as http:
            assert http.post("/sign-up", json=order).status_code == 201
        return name

    def _victim(self, *groups: str) -> str:
        name = self.people_harness.name()
        self.people_harness.admin.do("POST", "/users", {"name": name, "groups": list(groups)})
        return name

    def _disabled(self) -> str:
        name = self._victim()
        self.people_harness.admin.do("POST", f"/users/{name}/disable")
        return name

    def _volume(self) -> str:
        name = self.people_harness.name("v")
        order = {"name": name, "source": "/srv", "everywhere": False, "groups": [self.group]}
        self.people_harness.admin.do("POST", "/volumes", order)
        return name

    def _queue(self) -> str:
        name = self.people_harness.name("q")
        self.people_harness.admin.do("PUT", f"/queues/{name}", {})
        return name

    def _quota(self) -> str:
        name = self._victim()
        self.people_harness.admin.do("PUT", f"/quotas/user/{name}", {"gpus": 1000})
        return name

    def _disk_quota(self) -> str:
        name = self._victim()
        self.people_harness.admin.do("PUT", f"/disks/quotas/user/{name}", {"size": "500G"})
        return name

    def _operation(self) -> str:
        order = {"paths": ["/userhome/nothing"]}
        return str(self._acting().do("POST", "/files/delete", order)["id"])

    def _dataset(self) -> str:
        name = self.people_harness.name("d")
        order = {"name": name, "volume": "gdata", "folder": ""}
        self._acting().do("POST", "/datasets", order)
        return name

    def _storage(self) -> str:
        order = {"name": self.people_harness.name("s"), "address": "nas:/export"}
        self._acting().do("POST", "/volume-requests", order)
        listed = self._acting().do("GET", "/volume-requests")["requests"]
        return str(listed[-1]["id"])

    def _bundle(self) -> str:
        packed = zlib.compress(json.dumps([["d", self.people_harness.name(), 0o755]]).encode())
        url = f"{self.harness.server.url}/danlu/v1/bundles"
        return str(self._acting().http.post(url, content=packed).json()["id"])

    def _secret(self) -> str:
        self._acting().do("PUT", "/secrets/hidden", {"value": "x"})
        return "hidden"


@pytest.fixture(scope="module")
def access_harness(server: DanluServer) -> Iterator[AccessHarness]:
    harness = Harness(server)
    access_harness = AccessHarness(harness)
    yield access_harness
    harness.clear()
    # The server is shared: what others rely on is as it was.
    access_harness.people_harness.admin.do("POST", "/nodes/n1/resume")
    for queue in harness.get("/queues")["queues"]:
        for name in (queue["name"], *queue["merged"]):
            harness.http.delete(f"/queues/{name}")
    access_harness.people_harness.close()


def ask(access_harness: AccessHarness, http: httpx.Client, route: str, row: Row) -> httpx.Response:
    method, path = route.split(" ")
    body = dict(row.body) if isinstance(row.body, dict) else row.body
    names = {"ref": "ref", **row.names} if "{ref}" in path else row.names
    used: dict[str, str] = {}
    query = row.query
    for name, thing in names.items():
        made = used[thing] = access_harness.make(thing)
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", made)
        elif f"{{{name}}}" in query:
            query = query.replace(f"{{{name}}}", made)
        else:
            body = {**(body or {}), name: made}
    url = f"{access_harness.harness.server.url}{path}" + (f"?{query}" if query else "")
    with http.stream(method, url, json=body) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer  # it would never end
        answer.read()
    if answer.status_code >= 400:
        for thing, made in used.items():
            access_harness.keep(thing, made)
    return answer


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("route", ROUTES)
def test_who_may_what(access_harness: AccessHarness, route: str, person: str) -> None:
    row = ROUTES[route]
    expected = row.expected()[person]
    if expected == NOT_TRIED:
        return
    with access_harness.caller(person) as http:
        answer = ask(access_harness, http, route, row)
    assert answer.status_code == expected, answer.text if answer.is_stream_consumed else ""
    if expected >= 400:
        error = answer.json()["error"]
        assert error["message_en"] and error["message_zh"]


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("path", SOCKETS)
def test_who_may_go_into_a_task(access_harness: AccessHarness, path: str, person: str) -> None:
    row = SOCKETS[path]
    job = access_harness.job(command="sleep 1000", stdin="pipe", held=False)
    access_harness.harness.until(job, "running")
    url = access_harness.harness.server.url.replace("http", "ws", 1) + path.replace(
        "{ref}", job["id"]
    )
    header = access_harness.token(person)
    with connect(
        f"{url}?{row.query}",
        additional_headers=through_proxy() | ({"Authorization": header} if header else {}),
        open_timeout=PATIENCE,
        close_timeout=5,
        proxy=None,
        source_address=(PROXY, 0),
    ) as socket:
        try:
            socket.recv(timeout=PATIENCE if row.expected()[person] != 200 or row.query else 0.3)
            code = 200
        except TimeoutError:
            code = 200
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd is not None else 0
    access_harness.harness.stop(job, now=True)
    assert code == row.expected()[person]


def test_what_one_may_not_see_is_told_like_what_is_not_there(access_harness: AccessHarness) -> None:
    job, nothing = access_harness.job(), "01890000-0000-7000-8000-000000000000"
    with access_harness.caller("outsider") as http:
        for route, row in ROUTES.items():
            if "{ref}" not in route:
                continue
            method, path = route.split(" ")
            answers = []
            for ref in (job["id"], nothing):
                url = f"{access_harness.harness.server.url}{path.replace('{ref}', ref)}?{row.query}"
                answer = http.request(method, url, json=row.body)
                answers.append((answer.status_code, answer.text.replace(ref, "REF")))
            assert answers[0] == answers[1], route
    assert access_harness.harness.kinds(job) == ["submitted"], "nothing was done to it"


# A dry run is all that the matrix does to disks.
UNCHANGING = (
    "POST /danlu/v1/jobs/convert",
    "POST /danlu/v1/tickets",
    "POST /danlu/v1/disks/clean",
)
STARTING = (
    "POST /danlu/v1/jobs",
    "POST /danlu/v1/jobs/{ref}/rerun",
    "POST /danlu/v1/tensorboards",
)


def test_every_change_leaves_a_line(access_harness: AccessHarness) -> None:
    """In the audit log; what starts a job, in the job's own events, with the address."""
    silent = []
    for route, row in ROUTES.items():
        if route.startswith("GET") or row.expected()["admin"] not in (200, 201):
            continue
        if route in UNCHANGING or "/v1/files/" in route:
            continue  # what people do in their own folders is as in a terminal
        with access_harness.caller("admin") as http:
            before = access_harness.people_harness.acts()[-1]["seq"]
            answer = ask(access_harness, http, route, row)
            assert answer.status_code in (200, 201), (route, answer.text)
            told = answer.json() if route in STARTING else {}
            made = told.get("jobs") or [told.get("job")]
            after = [line for line in access_harness.people_harness.acts() if line["seq"] > before]
        mine = [line for line in after if line["actor"] in (access_harness.chief.name, "-")]
        if route in STARTING:
            first = access_harness.harness.events(made[0])[0]
            assert first["actor"] == access_harness.chief.name
            assert first["data"]["from"].startswith("10.7.")
        elif not mine or not mine[-1]["address"].startswith("10.7."):
            silent.append(route)
        else:
            line = mine[-1]
            assert line["en"] and line["zh"] and "?" not in json.dumps(line["en"])
    assert not silent, "\n".join(silent)
