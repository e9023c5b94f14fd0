"""A page of a task in a real browser, whose viewer is signed in to the platform."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.gateway.client import PASSWORD, Client
from tests.gateway.sites import alice, site
from tests.gateway.web import WebServer
from tests.support.browser import chromium

__all__ = ["alice", "site"]

browser = pytest.fixture(chromium, scope="module")


@pytest.fixture(scope="module")
def context(browser: Browser, site: WebServer, alice: Client) -> Iterator[BrowserContext]:
    """Signed in to the platform."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.url}/danlu/v1/version")
    login = json.dumps({"user": alice.name, "password": PASSWORD})
    status = page.evaluate(
        """async body => (await fetch("/danlu/v1/session", {
            method: "POST", body, headers: {"Content-Type": "application/json"}})).status""",
        login,
    )
    assert status == 200
    yield context
    context.close()


def visit(context: BrowserContext, site: WebServer, alice: Client, name: str) -> Page:
    """A job with a program, and its page."""
    ref, port = site.program(alice, name)
    url = alice.call("POST", f"/jobs/{ref}/doors", {"port": port})["url"]
    page = context.new_page()
    answer = page.goto(url)
    assert answer is not None
    assert answer.status == 200
    assert page.url.endswith("/")
    return page


@pytest.fixture(scope="module")
def hostile(context: BrowserContext, site: WebServer, alice: Client) -> Page:
    return visit(context, site, alice, "hostile")


@pytest.fixture(scope="module")
def other(context: BrowserContext, site: WebServer, alice: Client) -> Page:
    return visit(context, site, alice, "other")


TRY = """async ([url, options]) => {
    try {
        const answer = await fetch(url, {credentials: "include", ...options});
        return answer.type == "opaque" ? "opaque" : answer.status;
    } catch (error) { return "refused"; }
}"""


def test_the_page_works_in_the_browser(hostile: Page) -> None:
    told = hostile.evaluate("fetch('/x', {method: 'POST', body: 'hello'}).then(a => a.json())")
    assert told["body"] == "hello"
    assert not any(name == "cookie" for name, _ in told["fields"])
    said = hostile.evaluate(
        """() => new Promise(done => {
            const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws");
            socket.onopen = () => socket.send("hello");
            socket.onmessage = event => done(event.data);
            socket.onerror = () => done("error");
        })"""
    )
    assert said == "hello"


def test_it_reads_no_cookie_of_the_platform(hostile: Page) -> None:
    assert hostile.evaluate("document.cookie") == ""


def test_it_cannot_call_the_platform(hostile: Page, site: WebServer, alice: Client) -> None:
    before = alice.call("GET", "/tokens")["tokens"]
    base = f"{site.url}/danlu/v1"
    assert hostile.evaluate(TRY, [f"{base}/whoami", {}]) == "refused"
    order = {"method": "POST", "body": '{"label": "stolen"}'}
    assert hostile.evaluate(TRY, [f"{base}/tokens", order]) == "refused"
    assert hostile.evaluate(TRY, [f"{base}/tokens", {**order, "mode": "no-cors"}]) == "opaque"
    after = alice.call("GET", "/tokens")["tokens"]
    assert [each["id"] for each in after] == [each["id"] for each in before]


def test_it_cannot_reach_another_door(hostile: Page, other: Page) -> None:
    url = other.url
    assert hostile.evaluate(TRY, [url, {}]) == "refused"
    assert hostile.evaluate(TRY, [url, {"method": "POST", "body": "x"}]) == "refused"
    said = hostile.evaluate(
        """url => new Promise(done => {
            const socket = new WebSocket(url.replace("http", "ws") + "ws");
            socket.onopen = () => done("open");
            socket.onerror = () => done("refused");
        })""",
        url,
    )
    assert said == "refused"
    assert other.evaluate(TRY, [url, {}]) == 200, "whose own page goes on"


def test_it_cannot_show_another_door_in_a_frame(hostile: Page, other: Page) -> None:
    hostile.evaluate(
        """url => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.onload = done;
            frame.src = url;
            document.body.append(frame);
        })""",
        other.url,
    )
    assert "x-forwarded-host" in other.content(), "what the program says"
    assert "x-forwarded-host" not in "".join(frame.content() for frame in hostile.frames[1:])


def test_a_cookie_it_sets_for_another_door_locks_nobody_out(hostile: Page, other: Page) -> None:
    for cookie in other.context.cookies():
        if "danlu-door-" in cookie["name"]:
            toss = "name => { document.cookie = name + '=x; path=/deep' }"
            hostile.evaluate(toss, cookie["name"])
    assert other.evaluate(TRY, [f"{other.url}deep", {}]) == 200


def test_a_door_ends_with_the_sign_in_that_opened_it(other: Page, alice: Client) -> None:
    alice.call("POST", "/logout")
    answer = other.goto(other.url)
    assert answer is not None
    assert answer.status == 401
    assert "danlu open" in other.content()
