"""Signing in with a browser: the cookie, the proof of our own pages, tickets, names and origins."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.api.harness import PATIENCE, Harness
from tests.api.people_harness import (
    PASSWORD,
    PROXY,
    PeopleHarness,
    Someone,
    caller,
    elsewhere,
    through_proxy,
)
from tests.support.server import DanluServer

EXEC = "/danlu/v1/jobs/{ref}/exec"


class Browser:
    """Keeps cookies, and sends what a page of ours would send."""

    def __init__(self, server: DanluServer, address: str | None = None) -> None:
        self.server = server
        self.address = address or elsewhere()
        self.http = caller(server, None, self.address)
        self.csrf = ""

    def sign_in(self, name: str, password: str = PASSWORD, **headers: str) -> httpx.Response:
        order = {"user": name, "password": password}
        answer = self.http.post("/session", json=order, headers=headers)
        if answer.status_code == 200:
            self.csrf = answer.json()["csrf_token"]
        return answer

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        given = {"X-CSRF-Token": self.csrf, "Origin": self.server.url, **headers}
        return self.http.request(method, path, json=body, headers=given)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    @property
    def cookie(self) -> tuple[str, str]:
        ((name, value),) = self.http.cookies.items()
        return name, value


@pytest.fixture
def person(people_harness: PeopleHarness) -> Someone:
    return people_harness.person()


@contextmanager
def browser(server: DanluServer, address: str | None = None) -> Iterator[Browser]:
    found = Browser(server, address)
    try:
        yield found
    finally:
        found.http.close()


@pytest.fixture
def page(server: DanluServer, person: Someone) -> Iterator[Browser]:
    """A browser in which the person is signed in."""
    with browser(server) as found:
        assert found.sign_in(person.name).status_code == 200
        yield found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# -- the cookie -----------------------------------------------------------------------------------


def test_a_browser_signs_in_and_works_without_a_token(server: DanluServer, person: Someone) -> None:
    with browser(server) as page:
        answer = page.sign_in(person.name)
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
        assert "domain" not in cookie and "token" not in answer.json()
        assert page.get("/session").json()["user"] == person.name
        assert page.get("/session").json()["csrf_token"] == page.csrf
        assert page.get("/jobs").status_code == 200
        made = page.ask("POST", "/jobs", {"command": "true", "held": True})
        assert made.status_code == 201 and made.json()["jobs"][0]["owner"] == person.name


def test_only_a_hash_of_the_session_is_stored(server: DanluServer, page: Browser) -> None:
    stored = b"".join(path.read_bytes() for path in server.data.glob("danlu.db*"))
    assert page.cookie[1].encode() not in stored and page.csrf.encode() not in stored


def test_signing_out_ends_the_session_on_the_server(page: Browser) -> None:
    name, secret = page.cookie
    assert page.ask("DELETE", "/session").status_code == 200
    assert not page.http.cookies
    page.http.cookies.set(name, secret)
    assert page.get("/session").status_code == 401


def test_what_a_cookie_holds_is_no_token_and_a_token_no_cookie(
    page: Browser, person: Someone
) -> None:
    name, secret = page.cookie
    with caller(page.server, secret) as http:
        assert http.get("/whoami").status_code == 401
    with caller(page.server, None) as http:
        http.cookies.set(name, person.token)
        assert http.get("/whoami").status_code == 401


def test_without_tls_a_session_is_good_only_where_it_was_made(page: Browser) -> None:
    """Browsers send cookies to every port of a host, also to a neighbour's program there."""
    name, secret = page.cookie
    with caller(page.server, None) as http:
        http.cookies.set(name, secret)
        assert http.get("/session").status_code == 401
    assert page.get("/session").status_code == 200


def test_signing_in_again_ends_the_session_before(page: Browser, person: Someone) -> None:
    name, before = page.cookie
    assert page.sign_in(person.name).status_code == 200
    with browser(page.server, page.address) as other:
        other.http.cookies.set(name, before)
        assert other.get("/session").status_code == 401


def test_sessions_are_listed_beside_tokens_and_revoked_like_them(
    page: Browser, person: Someone
) -> None:
    listed = person.get("/sessions")["tokens"]
    (mine,) = [each for each in listed if each["kind"] == "browser"]
    assert mine["address"] == page.address and "httpx" in mine["label"]
    assert mine["id"] in [each["id"] for each in person.get("/tokens")["tokens"]]
    person.do("DELETE", f"/tokens/{mine['id']}")
    assert page.get("/session").status_code == 401


def test_signing_out_everywhere_ends_browsers_too(page: Browser, person: Someone) -> None:
    person.do("DELETE", "/sessions")
    assert page.get("/session").status_code == 401


def test_a_changed_password_ends_the_other_browsers(
    page: Browser, person: Someone, server: DanluServer
) -> None:
    with browser(server) as other:
        other.sign_in(person.name)
        order = {"old": PASSWORD, "new": "another 密码 of mine"}
        assert page.ask("POST", "/password", order).status_code == 200
        assert other.get("/session").status_code == 401
    assert page.get("/session").status_code == 200


@pytest.mark.parametrize("idle", [False, True])
def test_a_session_ends_by_age_and_by_not_being_used(
    page: Browser, person: Someone, server: DanluServer, idle: bool
) -> None:
    """As the database has it after 8 days without use, or after 31 days of use every day."""
    day, now = 86400.0, time.time()
    with closing(sqlite3.connect(server.data / "danlu.db", timeout=PATIENCE)) as db, db:
        ((id, created, expires),) = db.execute(
            "SELECT id, created_at, expires_at FROM tokens WHERE kind = 'browser' AND user_id = "
            "(SELECT id FROM users WHERE name = ?)",
            (person.name,),
        )
        assert abs(expires - created - 7 * day) < 60
        if idle:
            db.execute("UPDATE tokens SET expires_at = ? WHERE id = ?", (now - day, id))
        else:
            # Used once more on the last of its days: that does not make it any longer.
            db.execute(
                "UPDATE tokens SET created_at = ?, last_used_at = ?, expires_at = ? WHERE id = ?",
                (now - 29.9 * day, now - 2 * day, now + 5 * day, id),
            )
    person.do("PUT", "/secrets/any", {"value": "x"})
    time.sleep(5.5)  # for so long a good session is remembered
    if idle:
        assert page.get("/session").status_code == 401
        return
    assert page.get("/session").status_code == 200
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with closing(sqlite3.connect(server.data / "danlu.db", timeout=PATIENCE)) as db:
            ((expires,),) = db.execute("SELECT expires_at FROM tokens WHERE id = ?", (id,))
        if expires < now + day:
            return
        time.sleep(0.1)
    raise AssertionError("its use made it last longer than 30 days")


def test_a_one_time_password_opens_nothing_but_the_change_of_it(
    server: DanluServer, people_harness: PeopleHarness
) -> None:
    made = people_harness.admin.do("POST", "/users", {"name": people_harness.name()})
    with browser(server) as page:
        answer = page.sign_in(made["name"], made["password"])
        assert answer.json()["must_change_password"] is True
        assert code(page.get("/jobs")) == (403, "change_password")
        assert code(page.ask("POST", "/tickets", {"path": EXEC})) == (403, "change_password")
        order = {"old": made["password"], "new": PASSWORD}
        assert page.ask("POST", "/password", order).status_code == 200
        assert page.get("/jobs").status_code == 200


def test_a_wrong_password_sets_no_cookie(server: DanluServer, person: Someone) -> None:
    with browser(server) as page:
        answer = page.sign_in(person.name, "wrong")
        assert answer.status_code == 401 and "set-cookie" not in answer.headers


# -- other people's pages -------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_a_page_that_cannot_read_the_csrf_token_changes_nothing(page: Browser, token: str) -> None:
    headers = {"X-CSRF-Token": token}
    for method, path, body in (
        ("POST", "/jobs", {"command": "true"}),
        ("PUT", "/secrets/x", {"value": "x"}),
        ("DELETE", "/session", None),
        ("POST", "/tickets", {"path": EXEC}),
    ):
        assert code(page.ask(method, path, body, **headers)) == (403, "csrf"), path
    assert page.get("/session").status_code == 200


def test_the_csrf_token_of_somebody_else_is_of_no_use(
    page: Browser, server: DanluServer, people_harness: PeopleHarness
) -> None:
    with browser(server) as attacker:
        attacker.sign_in(people_harness.person().name)
        stolen = {"X-CSRF-Token": attacker.csrf}
        assert code(page.ask("POST", "/jobs", {"command": "true"}, **stolen)) == (403, "csrf")


def test_no_page_of_another_origin_uses_the_cookie(page: Browser) -> None:
    """Not even one of another port of the same host: that may be a neighbour's notebook."""
    other_port = f"http://127.0.0.1:{page.server.port + 1}"
    for origin in ("https://evil.example", other_port, "null", f"https://{page.server.url[7:]}x"):
        answer = page.ask("POST", "/jobs", {"command": "true"}, Origin=origin)
        assert code(answer) == (403, "cross_site"), origin
        assert code(page.get("/stream", Origin=origin)) == (403, "cross_site")
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}
        assert code(page.get("/jobs", **headers)) == (403, "cross_site")
    assert page.get("/jobs", **{"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_another_site_signs_nobody_in(server: DanluServer, person: Someone) -> None:
    """Or the victim would work, and type secrets, in the attacker's account."""
    with browser(server) as page:
        answer = page.sign_in(person.name, Origin="https://evil.example")
        assert code(answer) == (403, "cross_site") and not page.http.cookies


def test_a_name_that_is_not_ours_is_not_believed(page: Browser, person: Someone) -> None:
    """DNS rebinding: the attacker's name points here, so the origins are the same."""
    headers = {"Host": "evil.example", "Origin": "http://evil.example"}
    answer = page.ask("POST", "/jobs", {"command": "true"}, **headers)
    assert code(answer) == (421, "unknown_host")
    assert 'hosts = ["evil.example"]' in answer.json()["error"]["message_en"]
    assert 'hosts = ["evil.example"]' in answer.json()["error"]["message_zh"]
    assert code(page.sign_in(person.name, **headers)) == (421, "unknown_host")
    own = f"localhost:{page.server.port}"
    assert page.ask(
        "POST", "/jobs", {"command": "true"}, Host=own, Origin=f"http://{own}"
    ).is_success


def test_a_program_with_a_token_may_use_any_name(person: Someone) -> None:
    answer = person.http.get("/whoami", headers={"Host": "gpu.lab.example"})
    assert answer.status_code == 200


def test_names_of_the_file_are_known_and_then_no_others(tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("hosts")
    server = DanluServer(folder / "data", '[server]\nhosts = ["gpu.lab.example"]\n')
    server.start()
    try:
        with caller(server, server.token) as http:
            for host, status in (
                ("gpu.lab.example", 200),
                (f"GPU.lab.example:{server.port}", 200),
                ("localhost", 200),
                ("192.0.2.7:8080", 200),
                ("[::1]:8080", 200),
                ("evil.example", 421),
                ("gpu.lab.example.evil.example", 421),
            ):
                assert http.get("/whoami", headers={"Host": host}).status_code == status, host
    finally:
        server.cleanup()


def test_under_tls_the_cookie_is_bound_to_tls_and_to_this_host(tmp_path_factory: Any) -> None:
    """Here TLS is a proxy's, whose word is taken where danlu.toml names it."""
    folder = tmp_path_factory.mktemp("proxied")
    server = DanluServer(folder / "data", f'[server]\nproxies = ["{PROXY}"]\n')
    server.start()
    try:
        password = next(
            line.rpartition(" ")[2]
            for line in server.log.read_text().splitlines()
            if "one-time" in line
        )
        with browser(server, "127.0.0.1") as page:
            far = {
                "X-Forwarded-Proto": "https",
                "X-Forwarded-For": "192.0.2.9",
                "Host": "localhost",
            }
            answer = page.sign_in("admin", password, **far, Origin="https://localhost")
            name, _, rest = answer.headers["set-cookie"].partition("=")
            assert name.startswith("__Host-danlu-") and "; secure" in rest.lower()
            cookie = f"{name}={rest.partition(';')[0]}"
            # From anywhere: no neighbour's program gets to see it.
            far.update({"X-Forwarded-For": "198.51.100.7", "Cookie": cookie})
            assert page.get("/session", **far).json()["user"] == "admin"
            assert page.get("/session", **far, Origin="http://localhost").status_code == 403
            far["X-Forwarded-Proto"] = "http"
            assert page.get("/session", **far).status_code == 401
    finally:
        server.cleanup()


# -- tickets --------------------------------------------------------------------------------------


class Socket:
    def __init__(self, harness: Harness, page: Browser) -> None:
        self.harness, self.page = harness, page
        order = {"command": "sleep 1000"}
        job = page.ask("POST", "/jobs", order).json()["jobs"][0]
        harness.until(job, "running")
        self.job = job
        self.path = EXEC.replace("{ref}", job["id"])

    def ticket(self, path: str | None = None) -> str:
        answer = self.page.ask("POST", "/tickets", {"path": path or self.path})
        assert answer.status_code == 201 and answer.json()["expires_in"] <= 60
        return str(answer.json()["ticket"])

    def open(self, ticket: str, origin: str | None = None, cookie: bool = False) -> int:
        """200, or the code with which the server closes."""
        url = f"{self.page.server.url.replace('http', 'ws', 1)}{self.path}"
        headers = {"Cookie": "=".join(self.page.cookie)} if cookie else {}
        with connect(
            f'{url}?argv=["echo","hi"]&ticket={ticket}',
            additional_headers=headers | through_proxy(),
            origin=origin or self.page.server.url,  # type: ignore[arg-type]
            open_timeout=PATIENCE,
            proxy=None,
            source_address=(PROXY, 0),
        ) as socket:
            try:
                return 200 if b"hi" in bytes(socket.recv(timeout=PATIENCE)) else 0
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 0


@pytest.fixture
def socket(harness: Harness, page: Browser) -> Iterator[Socket]:
    found = Socket(harness, page)
    yield found
    harness.stop(found.job, now=True)


def test_a_ticket_opens_one_socket_once(socket: Socket) -> None:
    ticket = socket.ticket()
    assert socket.open(ticket) == 200
    assert socket.open(ticket) == 4403, "played back"


def test_a_ticket_is_good_for_its_purpose_only(socket: Socket) -> None:
    ticket = socket.ticket(socket.path.replace("/exec", "/attach"))
    assert socket.open(ticket) == 4403
    assert socket.open("x" * 43) == 4403
    assert socket.open("") == 4403


def test_a_cookie_alone_opens_no_socket(socket: Socket) -> None:
    assert socket.open("", cookie=True) == 4403


def test_no_page_of_another_origin_uses_a_ticket(socket: Socket) -> None:
    assert socket.open(socket.ticket(), origin="https://evil.example") == 4403


def test_a_ticket_ends_with_the_session_it_came_from(socket: Socket) -> None:
    ticket = socket.ticket()
    assert socket.page.ask("DELETE", "/session").status_code == 200
    assert socket.open(ticket) == 4403


def test_a_ticket_gives_nobody_more_than_they_have(
    socket: Socket, people_harness: PeopleHarness, server: DanluServer
) -> None:
    with browser(server) as other:
        other.sign_in(people_harness.person().name)
        answer = other.ask("POST", "/tickets", {"path": socket.path})
        assert socket.open(answer.json()["ticket"]) == 4404, "another's job is not there"


def test_a_token_for_reading_gets_no_ticket(people_harness: PeopleHarness, person: Someone) -> None:
    reader = people_harness.with_token(person, scope="read")
    assert reader.do("POST", "/tickets", {"path": EXEC}, expect=403)["error"]["code"] == "read_only"


def test_nobody_hoards_tickets(page: Browser) -> None:
    statuses = [page.ask("POST", "/tickets", {"path": EXEC}).status_code for _ in range(101)]
    assert statuses == [201] * 100 + [429]
