"""Who may what: every route asked by every kind of person. A route without a row fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import httpx
import pytest
from fastapi.routing import APIWebSocketRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from danlu.api.app import create_app
from danlu.api.services import Services
from tests.api.lab import PATIENCE, Job, Lab
from tests.api.matrix import NOT_TRIED, PEOPLE, ROUTES, SOCKETS, Row
from tests.api.society import PASSWORD, Society, Someone, caller, elsewhere
from tests.support.server import DanluServer


def routes(found: Iterable[Any], prefix: str = "") -> Iterator[str]:
    for route in found:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from routes(included.routes, "/api/v1")
        elif isinstance(route, APIWebSocketRoute):
            yield f"{prefix}{route.path}"
        else:
            for method in route.methods - {"HEAD"}:
                yield f"{method} {prefix}{route.path}"


def test_every_route_has_a_row() -> None:
    app = create_app(cast(Services, None))
    known = {*ROUTES, *SOCKETS}
    assert set(routes(app.routes)) == known
    document = app.openapi()["paths"]
    listed = {f"{method.upper()} {path}" for path, each in document.items() for method in each}
    assert listed <= known


class World:
    """A member of a group with a leader, and things of theirs, made anew where they get spent."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.society = society = Society(lab)
        self._spare: dict[str, str] = {}
        self.group, self.other = society.group(), society.group()
        self.member = society.person(self.group)
        self.leader = society.person(leads=self.group)
        # A leader, too: of another group, that gives no right here.
        self.outsider = society.person(leads=self.other)
        self.chief = society.person()
        society.admin.do("PATCH", f"/users/{self.chief.name}", {"role": "admin"})
        self._makers: dict[str, Callable[[], str]] = {
            "ref": lambda: self.job()["id"],
            "group": lambda: self.group,
            "member": lambda: self.member.name,
            "fresh": society.name,
            "token": self._token,
            "invite": lambda: str(self._invite()["id"]),
            "request": self._request,
            "victim": lambda: self._victim(),
            "joined": lambda: self._victim(self.group),
            "disabled": self._disabled,
            "empty": society.group,
            "secret": lambda: "some",
            "hidden": self._secret,
            "volume": self._volume,
            "node": lambda: "n1",
            "queue": self._queue,
            "user_word": lambda: "user",
            "quota": self._quota,
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
            return caller(self.lab.server, None)
        scope = "read" if person == "reader" else "all"
        someone = who.get(person, self.member)
        return self.society.session(someone, scope, expired=person == "expired").http

    def token(self, person: str) -> str | None:
        header: str | None = self.caller(person).headers.get("authorization")
        return header

    def _acting(self) -> Someone:
        return self.society.session(self.member)

    def _token(self) -> str:
        return str(self._acting().do("POST", "/tokens", {"label": "spent"})["id"])

    def _invite(self) -> Any:
        return self.society.admin.do("POST", "/invites", {"group": self.group})

    def _request(self) -> str:
        name = self.society.name()
        order = {"name": name, "password": PASSWORD, "group": self.group}
        with caller(self.lab.server, None) as http:
            assert http.post("/sign-up", json=order).status_code == 201
        return name

    def _victim(self, *groups: str) -> str:
        name = self.society.name()
        self.society.admin.do("POST", "/users", {"name": name, "groups": list(groups)})
        return name

    def _disabled(self) -> str:
        name = self._victim()
        self.society.admin.do("POST", f"/users/{name}/disable")
        return name

    def _volume(self) -> str:
        name = self.society.name("v")
        order = {"name": name, "source": "/srv", "everywhere": False, "groups": [self.group]}
        self.society.admin.do("POST", "/volumes", order)
        return name

    def _queue(self) -> str:
        name = self.society.name("q")
        self.society.admin.do("PUT", f"/queues/{name}", {})
        return name

    def _quota(self) -> str:
        name = self._victim()
        self.society.admin.do("PUT", f"/quotas/user/{name}", {"gpus": 1000})
        return name

    def _secret(self) -> str:
        self._acting().do("PUT", "/secrets/hidden", {"value": "x"})
        return "hidden"


@pytest.fixture(scope="module")
def world(server: DanluServer) -> Iterator[World]:
    lab = Lab(server)
    world = World(lab)
    yield world
    lab.clear()
    # The server is shared: what others rely on is as it was.
    world.society.admin.do("POST", "/nodes/n1/resume")
    for queue in lab.get("/queues")["queues"]:
        for name in (queue["name"], *queue["merged"]):
            lab.http.delete(f"/queues/{name}")
    world.society.close()


def ask(world: World, http: httpx.Client, route: str, row: Row) -> httpx.Response:
    method, path = route.split(" ")
    body = dict(row.body) if isinstance(row.body, dict) else row.body
    names = {"ref": "ref", **row.names} if "{ref}" in path else row.names
    used: dict[str, str] = {}
    for name, thing in names.items():
        made = used[thing] = world.make(thing)
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", made)
        else:
            body = {**(body or {}), name: made}
    url = f"{world.lab.server.url}{path}" + (f"?{row.query}" if row.query else "")
    with http.stream(method, url, json=body) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer  # it would never end
        answer.read()
    if answer.status_code >= 400:
        for thing, made in used.items():
            world.keep(thing, made)
    return answer


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("route", ROUTES)
def test_who_may_what(world: World, route: str, person: str) -> None:
    row = ROUTES[route]
    expected = row.expected()[person]
    if expected == NOT_TRIED:
        return
    with world.caller(person) as http:
        answer = ask(world, http, route, row)
    assert answer.status_code == expected, answer.text if answer.is_stream_consumed else ""
    if expected >= 400:
        error = answer.json()["error"]
        assert error["message_en"] and error["message_zh"]


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("path", SOCKETS)
def test_who_may_go_into_a_task(world: World, path: str, person: str) -> None:
    row = SOCKETS[path]
    job = world.job(command="sleep 1000", stdin="pipe", held=False)
    world.lab.until(job, "running")
    url = world.lab.server.url.replace("http", "ws", 1) + path.replace("{ref}", job["id"])
    header = world.token(person)
    with connect(
        f"{url}?{row.query}",
        additional_headers={"Authorization": header} if header else None,
        open_timeout=PATIENCE,
        close_timeout=5,
        proxy=None,
        source_address=(elsewhere(), 0),
    ) as socket:
        try:
            socket.recv(timeout=PATIENCE if row.expected()[person] != 200 or row.query else 0.3)
            code = 200
        except TimeoutError:
            code = 200
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd is not None else 0
    world.lab.stop(job, now=True)
    assert code == row.expected()[person]


def test_what_one_may_not_see_is_told_like_what_is_not_there(world: World) -> None:
    job, nothing = world.job(), "01890000-0000-7000-8000-000000000000"
    with world.caller("outsider") as http:
        for route, row in ROUTES.items():
            if "{ref}" not in route:
                continue
            method, path = route.split(" ")
            answers = []
            for ref in (job["id"], nothing):
                url = f"{world.lab.server.url}{path.replace('{ref}', ref)}?{row.query}"
                answer = http.request(method, url, json=row.body)
                answers.append((answer.status_code, answer.text.replace(ref, "REF")))
            assert answers[0] == answers[1], route
    assert world.lab.kinds(job) == ["submitted"], "nothing was done to it"


def test_every_change_leaves_a_line(world: World) -> None:
    """In the audit log; what starts a job, in the job's own events, with the address."""
    silent = []
    for route, row in ROUTES.items():
        if route.startswith("GET") or row.expected()["admin"] not in (200, 201):
            continue
        if route == "POST /api/v1/jobs/convert":
            continue  # it changes nothing
        with world.caller("admin") as http:
            before = world.society.acts()[-1]["seq"]
            answer = ask(world, http, route, row)
            assert answer.status_code in (200, 201), (route, answer.text)
            made = answer.json().get("jobs") if "jobs" in route else None
            after = [line for line in world.society.acts() if line["seq"] > before]
        mine = [line for line in after if line["actor"] in (world.chief.name, "-")]
        if route in ("POST /api/v1/jobs", "POST /api/v1/jobs/{ref}/rerun"):
            assert made
            first = world.lab.events(made[0])[0]
            assert first["actor"] == world.chief.name
            assert first["data"]["from"].startswith("127.7.")
        elif not mine or not mine[-1]["address"].startswith("127.7."):
            silent.append(route)
        else:
            line = mine[-1]
            assert line["en"] and line["zh"] and "?" not in json.dumps(line["en"])
    assert silent == []
