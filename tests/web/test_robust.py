"""What users type stays text, what adds up does so everywhere, and a server may restart."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.server import DanluServer
from tests.web.harness import CLUSTER, WebHarness

MARKUP = "<img src=x onerror=document.title='owned'><b class=owned>x</b>"


def test_markup_stays_text_on_every_page(web: WebHarness) -> None:
    boss, group = web.people.person(), web.people.group()
    admin = web.people.admin
    admin.do("PATCH", f"/users/{boss.name}", {"role": "admin", "full_name": MARKUP})
    admin.do("PATCH", f"/groups/{group}", {"note": MARKUP})
    admin.do("POST", "/invites", {"group": group, "note": MARKUP})
    volume = web.people.name("v")
    order = {"name": volume, "source": "/srv", "everywhere": False, "note": MARKUP}
    admin.do("POST", "/volumes", order)
    boss.do("POST", "/tokens", {"label": MARKUP})
    admin.do("POST", "/nodes/n4/drain", {"reason": MARKUP})
    command = f"echo '{MARKUP.replace(chr(39), chr(34))}'"
    job = web.queue(boss, name="marks", command=command)
    web.harness.wait(job)
    try:
        page = web.sign_in(web.page(), boss.name)
        for path, shown in {
            "/": None,
            "/?table=1": None,
            "/jobs": "onerror",
            f"/jobs/{job['id']}": "onerror",
            f"/submit?clone={job['id']}": None,
            "/account": "onerror",
            f"/group/{group}": "onerror",
            "/admin/users": "onerror",
            "/admin/groups": "onerror",
            "/admin/invitations": "onerror",
            "/admin/nodes": "onerror",
            "/admin/volumes": "onerror",
            "/admin/audit": None,
        }.items():
            page.goto(f"{web.server.url}{path}")
            expect(page.locator("h1")).to_have_count(1)
            if shown is not None:
                expect(page.locator("main")).to_contain_text(shown)
            expect(page.locator(".owned, img")).to_have_count(0)
            assert page.title() != "owned", path
    finally:
        admin.do("POST", "/nodes/n4/resume")
        admin.do("DELETE", f"/volumes/{volume}")


def test_the_policy_allows_no_inline_script_and_no_style_attribute(web: WebHarness) -> None:
    page = web.page()
    answer = page.goto(web.server.url)
    assert answer is not None
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy["script-src"] == "'self'"
    assert policy["style-src-attr"] == "'none'"
    assert policy["object-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'document.title = "owned"';
            document.body.append(script);
            const styled = '<p style="color: red" id="styled">x</p>';
            document.body.insertAdjacentHTML('beforeend', styled);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.title() != "owned"
    assert page.evaluate("document.getElementById('styled').style.color") == ""


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_adds_up_to_the_same_total(web: WebHarness, lang: str) -> None:
    boss, alice, bob = (web.people.person() for _ in range(3))
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    web.run(alice, name="two", gpus=2, time_limit="2h")
    web.run(bob, name="part", gpus=0.5)
    web.run(bob, name="four", gpus=4, time_limit="1h")
    web.people.admin.do("POST", "/nodes/n4/drain", {"reason": "new fan"})
    web.queue(alice, name="big", gpus=5, count=3, time_limit="1h")
    try:
        page = web.sign_in(web.page(lang), boss.name, "/?table=1")
        cluster = settled(web, page)
        gpus = cluster["gpus"]
        parts = ("free", "used", "reserved", "out", "outside", "unknown")
        assert sum(gpus[part] for part in parts) == gpus["total"] == 20
        rows = page.locator("[data-twin] tbody tr").all()
        columns = [
            [numbers(cell)[0] for cell in row.locator("td").all_inner_texts()[1:7]] for row in rows
        ]
        for total, *each in columns:
            assert sum(each) == total
        sums = [sum(column) for column in zip(*columns, strict=True)]
        out = gpus["out"] + gpus["unknown"]
        shown = [gpus[part] for part in ("free", "used", "reserved", "outside")] + [out]
        assert sums == [gpus["total"], *shown]
        caption = numbers(page.locator("[data-twin] caption").inner_text())
        assert caption == [*shown, gpus["total"]]

        page.goto(web.server.url)
        free = page.locator("[data-figure=free]")
        expect(free.locator("b")).to_have_text(f"{gpus['free']:g}")
        assert numbers(free.locator(".number").inner_text())[1] == gpus["total"]
        expect(page.locator("[data-figure=out] b")).to_have_text(f"{out:g}")
        taken = numbers(page.locator("[data-figure=waiting] .note").inner_text())
        assert taken == [gpus["used"], gpus["total"]]
        whole = {
            node["name"]: sum(gpu["state"] == "free" for gpu in node["gpus"])
            for node in boss.get("/nodes")["nodes"]
        }
        for at, count in enumerate(whole.values()):
            row = page.locator(".gpu-row").nth(at)
            expect(row.locator(".block.free .gpu")).to_have_count(count)

        page.goto(f"{web.server.url}/submit")
        page.get_by_label("YAML").fill("command: sleep 1\ncpus: 1\nmemory: 1G\n")
        expect(page.locator(".mini > div")).to_have_count(len(whole))
        for at, count in enumerate(whole.values()):
            row = page.locator(".mini > div").nth(at)
            expect(row.locator("i")).to_have_count(5)
            expect(row.locator("i.free")).to_have_count(count)

        page.goto(f"{web.server.url}/admin/nodes")
        for name, count in whole.items():
            row = page.get_by_role("row", name=re.compile(rf"^{name} "))
            expect(row.locator("td").nth(2)).to_have_text(f"{count} / 5")
    finally:
        web.people.admin.do("POST", "/nodes/n4/resume")


def settled(web: WebHarness, page: Page) -> dict[str, Any]:
    """The server's numbers, once the page shows the same free ones."""
    expect(page.locator("[data-twin] tbody tr")).to_have_count(4)
    found: dict[str, Any] = web.harness.get("/cluster")
    expect(page.locator("[data-twin] caption")).to_have_text(
        re.compile(rf"^{found['gpus']['free']:g}\b|^\D*{found['gpus']['free']:g}\b")
    )
    return found


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_server_restarts_under_an_open_page(browser: Browser, tmp_path: Path, lang: str) -> None:
    server = DanluServer(tmp_path / "data", CLUSTER).start()
    web = WebHarness(server, browser, None)
    try:
        alice = web.people.person()
        job = web.run(alice, name="stays", gpus=2)
        page = web.sign_in(web.page(lang), alice.name)
        expect(page.locator(".block.mine .gpu")).to_have_count(2)
        server.stop()
        expect(page.locator(".away-bar")).to_be_visible()
        # What was known stays on the page.
        expect(page.locator(".block.mine .gpu")).to_have_count(2)
        server.start()
        expect(page.locator(".live.live")).to_be_visible()
        expect(page.locator(".away-bar")).to_have_count(0)
        web.harness.stop(job, now=True)
        expect(page.locator(".block.mine")).to_have_count(0)
    finally:
        web.close()
        server.cleanup()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_server_that_falls_silent_is_noticed(browser: Browser, tmp_path: Path, lang: str) -> None:
    """Its connections stay open, as they do when a cable is pulled: no browser says anything."""
    server = DanluServer(tmp_path / "data", CLUSTER).start()
    web = WebHarness(server, browser, None)
    assert server.process is not None
    try:
        page = web.sign_in(web.page(lang), web.people.person().name)
        expect(page.locator(".live.live")).to_be_visible()
        server.process.send_signal(signal.SIGSTOP)
        try:
            away = "has not answered since" if lang == "en" else "没有响应"
            expect(page.locator(".away-bar")).to_contain_text(away)
            expect(page.locator(".live.away")).to_be_visible()
        finally:
            server.process.send_signal(signal.SIGCONT)
        expect(page.locator(".live.live")).to_be_visible()
        expect(page.locator(".away-bar")).to_have_count(0)
    finally:
        web.close()
        server.cleanup()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_says_that_the_disk_is_almost_full(
    browser: Browser, tmp_path: Path, lang: str
) -> None:
    # No disk has that much room, so it counts as almost full.
    limits = '\n[limits]\nhomes_free = "1000P"\n'
    server = DanluServer(tmp_path / "data", CLUSTER + limits).start()
    web = WebHarness(server, browser, None)
    try:
        page = web.sign_in(web.page(lang), web.people.person().name)
        for path in ("/", "/jobs", "/submit"):
            page.goto(f"{server.url}{path}")
            bar = page.locator(".disk-bar")
            expect(bar).to_contain_text({"en": "almost full since", "zh": "起快满了"}[lang])
            expect(bar).to_contain_text(
                re.compile({"en": r"\d [A-Z]+ left", "zh": r"剩余 \d"}[lang])
            )
    finally:
        web.close()
        server.cleanup()


def test_what_every_page_needs_is_asked_for_early_and_once(web: WebHarness) -> None:
    page = web.sign_in(web.page(), web.people.person().name)
    expect(page.locator(".gpu-row").first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    page.reload()
    expect(page.locator(".gpu-row").first).to_be_visible()
    expect(page.locator(".live.live")).to_be_visible()
    stream = "stream?nodes=true&brief=true&beat=5"
    assert (asked.count("session"), asked.count(stream)) == (1, 1)
    version = next(name for name in asked if name.startswith("version"))  # asked by the pages
    assert asked.index(stream) < asked.index(version)
    # Who signed out is not asked for again.
    page.evaluate("localStorage.setItem('danlu.in', 'no')")
    page.context.clear_cookies()
    asked.clear()
    page.reload()
    expect(page.locator("input[name=user]")).to_be_visible()
    assert stream not in asked
