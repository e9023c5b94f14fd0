"""What JupyterLab and VS Code show of their environment, and who may do what there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, bob, site_with_tools
from tests.gateway.web import Answer, Door, WebServer, entered

__all__ = ["alice", "bob", "site_with_tools"]

STRIP = "/.danlu/strip"
SAVE = "/.danlu/save"
HOUR = 3600.0


@pytest.fixture(scope="module")
def dev(alice: Client, bob: Client) -> str:
    """Shared with bob. Beside it, one that nobody uses: that is noticed after a while."""
    run(alice, "unused", idle_limit="10m")
    made = run(alice, "dev", time_limit="2h")
    alice.call("PUT", "/environments/dev/shares/bob")
    return made


def run(who: Client, name: str, **keys: Any) -> str:
    who.call("POST", "/environments", {"name": name, "cpus": 1, "memory": "1G", **keys})
    eventually(lambda: state(who, name) == "running")
    return name


def state(who: Client, name: str) -> str:
    return str(who.call("GET", f"/environments/{name}")["state"])


def ends_at(who: Client, name: str) -> float:
    return float(who.call("GET", f"/environments/{name}")["ends_at"])


def at(who: Client, ref: str, door: str = "lab") -> Door:
    return entered(who, ref, {"door": door})


def act(door: Door, what: str, body: Any = None, **fields: str) -> Answer:
    """As a page of the door's own origin does, but for `fields`."""
    sent = {"Origin": door.origin, "X-Danlu-Strip": "1", "Content-Type": "application/json"}
    content = json.dumps({"act": what}) if body is None else body
    return door.ask(STRIP, {**sent, **fields}, method="POST", body=content)


def test_its_owner_sees_the_time_left_and_moves_the_end(alice: Client, dev: str) -> None:
    door = at(alice, dev)
    told = door.ask(STRIP).told
    assert (told["owner"], told["name"]) == ("alice", "dev")
    assert 0 < told["ends_in"] <= 2 * HOUR
    assert (told["acts"], told["saves"]) == (True, False)  # without an image nothing can be saved
    before = ends_at(alice, dev)
    more = act(door, "extend")
    assert more.status == 200
    assert more.told["ends_in"] > told["ends_in"]
    assert ends_at(alice, dev) == pytest.approx(before + HOUR, abs=1)
    assert door.ask(STRIP).field("cache-control") == "no-store"


def test_each_tool_has_it(alice: Client, dev: str) -> None:
    assert at(alice, dev, "code").ask(STRIP).told["name"] == "dev"


def test_it_speaks_the_language_of_the_platforms_page(alice: Client, dev: str) -> None:
    door = at(alice, dev)
    assert door.ask(STRIP, {"Accept-Language": "zh-CN,zh;q=0.9"}).told["language"] == "zh"
    assert door.ask(STRIP, {"Accept-Language": "de, zh"}).told["language"] == "en"
    found = alice.call("POST", f"/jobs/{dev}/doors", {"door": "lab"})
    chosen = Door(found["port"], f"{found['path']}&lang=zh")
    chosen.enter()
    assert chosen.ask(STRIP, {"Accept-Language": "en"}).told["language"] == "zh"
    strange = Door(found["port"], f"{found['path']}&lang=%0d%0aSet-Cookie:x=y")
    assert "x=y" not in str(strange.enter().fields)


def test_it_leads_to_the_platforms_page(site: WebServer, alice: Client, dev: str) -> None:
    door = at(alice, dev)
    assert door.ask(STRIP).told["page"] == f"{site.url}/environments/alice~dev"
    answer = door.ask(SAVE)
    assert answer.status == 303
    assert answer.field("location") == f"{site.url}/environments/alice~dev?save"
    assert door.ask(SAVE, method="POST", body="{}").status == 404


def test_who_it_is_shared_with_sees_it_and_changes_nothing(
    alice: Client, bob: Client, dev: str
) -> None:
    door = at(bob, "alice/dev")
    told = door.ask(STRIP).told
    assert told["name"] == "dev"
    assert (told["acts"], told["saves"]) == (False, False)
    before = ends_at(alice, dev)
    for what in ("extend", "stop"):
        no = act(door, what)
        assert no.status == 403
        assert "alice" in no.told["error"]["en"]
        assert "管理员" in no.told["error"]["zh"]
    assert state(alice, dev) == "running"
    assert ends_at(alice, dev) == before


def test_nobody_else_gets_in(site: WebServer, alice: Client, bob: Client, dev: str) -> None:
    """Neither without the cookie, nor with that of another door, nor with the platform's own."""
    door = at(alice, dev)
    theirs = at(bob, run(bob, "his"))
    before = ends_at(alice, dev)
    strangers = {
        "nothing": "",
        "of another door": theirs.cookie,
        "its name, another's secret": door.cookie.split("=")[0] + "=" + theirs.cookie.split("=")[1],
        "of the platform": f"danlu-session={alice.token}",
    }
    for why, cookie in strangers.items():
        for token in ("", f"Bearer {alice.token}"):
            fields = {"Cookie": cookie, "Authorization": token}
            assert door.ask(STRIP, fields).status == 401, why
            assert door.ask(SAVE, fields).status == 401, why
            assert act(door, "stop", **fields).status == 401, why
    assert state(alice, dev) == "running"
    assert ends_at(alice, dev) == before


def test_a_page_of_another_origin_cannot_act(alice: Client, dev: str) -> None:
    door = at(alice, dev)
    before = ends_at(alice, dev)
    other = f"http://127.0.0.1:{door.port + 1}"
    for fields in (
        {"Origin": other},
        {"Origin": "null"},
        {"Origin": ""},  # none at all
        {"X-Danlu-Strip": ""},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    ):
        assert act(door, "extend", **fields).status == 403, fields
    for fields in (
        {"Origin": other},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    ):
        assert door.ask(STRIP, fields).status == 403, fields
    assert ends_at(alice, dev) == before


def test_a_request_that_is_none_is_refused(alice: Client, dev: str) -> None:
    door = at(alice, dev)
    for body in ("", "[]", "nothing", '{"act": 1}', '{"act": "delete"}', "[" * 900):
        assert act(door, "", body=body or " ").status == 400, body
    assert act(door, "", body=" " * 1025).status == 413
    assert door.ask(STRIP, method="DELETE").status == 405
    assert act(door, "stop", **{"Transfer-Encoding": "chunked"}, body=iter([b"{}"])).status == 405
    assert state(alice, dev) == "running"


def test_an_ordinary_job_has_none(site: WebServer, bob: Client) -> None:
    ref, port = site.program(bob)
    door = entered(bob, ref, {"port": port})
    assert [door.ask(path).status for path in (STRIP, SAVE)] == [404, 404]


def test_the_task_itself_may_do_nothing_there(site: WebServer, alice: Client, dev: str) -> None:
    """Its programs reach the gateway like everybody else, but have nobody's cookie."""
    door = at(alice, dev)
    ask = (
        "import http.client, sys; "
        f"link = http.client.HTTPConnection('127.0.0.1', {door.port}); "
        f"link.request('POST', '{STRIP}', '{{\"act\": \"stop\"}}', "
        f"{{'Origin': '{door.origin}', 'X-Danlu-Strip': '1'}}); "
        "print(link.getresponse().status)"
    )
    words = ("env", f"ASK={ask}", "sh", "-c", '$DANLU_TOOLS/bin/python -c "$ASK"')
    done = site.cli("exec", dev, "--", *words, env={"DANLU_TOKEN": alice.token})
    assert done.stdout.split() == [b"401"], done
    assert state(alice, dev) == "running"


def test_it_stops_its_environment_and_then_leads_nowhere(alice: Client) -> None:
    door = at(alice, run(alice, "short"))
    assert act(door, "stop").status == 200
    eventually(lambda: state(alice, "short") == "stopped")
    last = alice.call("GET", "/environments/short")["job"]
    assert last["state"] == "stopped"
    eventually(lambda: door.ask(STRIP).status in (401, 404))


def test_access_that_ends_ends_here_too(alice: Client, bob: Client) -> None:
    run(alice, "brief")
    alice.call("PUT", "/environments/brief/shares/bob")
    door = at(bob, "alice/brief")
    assert door.ask(STRIP).status == 200
    alice.call("DELETE", "/environments/brief/shares/bob")
    assert door.ask(STRIP).status in (401, 403, 404)


def test_looking_at_it_does_not_count_as_use(alice: Client, dev: str) -> None:
    """Otherwise a forgotten tab would keep an environment for ever."""
    door = at(alice, "unused")
    eventually(lambda: door.ask(STRIP).told["idle_in"] is not None)
    last = [door.ask(STRIP).told["idle_in"] for _ in range(3)]
    assert last == sorted(last, reverse=True)
    assert act(door, "extend").status == 200
    assert state(alice, "unused") == "running"
