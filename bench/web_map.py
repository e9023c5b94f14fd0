"""The map of 1,600 GPUs in a browser: how soon it is drawn, and what a wave of changes costs."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench.guard import PASSWORD, Member
from bench.measure import Options, median, note
from bench.server import Danlu
from bench.table import Goal, Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MODELS = {"a800": (96, "A800"), "rtx": (72, "RTX4090"), "v": (32, "V100")}
CONFIG = "[server]\ncircle_of_trust = true\n" + "".join(
    f'[[nodes]]\nname = "{stem}-{number:02}"\ncpus = 64\nmemory = "512G"\ngpus = "8:{model}"\n'
    for stem, (count, model) in MODELS.items()
    for number in range(1, count + 1)
)
SLOW_FRAME = 50.0  # ms
# On this page only the benchmark itself asks for frames: neither they nor what runs in them count.
OWN = "FireAnimationFrame"
SCRIPT = ("FunctionCall", "EvaluateScript", "RunMicrotasks", "TimerFire", "MinorGC", "MajorGC")
CATEGORIES = "devtools.timeline,v8.execute,blink.user_timing"

# Notes when all canvases have been drawn, as the page itself sees it.
DRAWN = """
const look = () => {
    const all = [...document.querySelectorAll('.small-map canvas')];
    if (all.length === 3 && all.every((each) => each.style.height !== ''))
        requestAnimationFrame(() => { window.drawnAt = performance.now(); });
    else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""

# Passes on what the server sends, and lets more be added: nobody can start 1,600 jobs at once.
# Added are changes of nodes that were sent before, as the server tells them with brief=true.
ADDS = """
const real = window.fetch;
window.fetch = async (...asked) => {
    const answer = await real(...asked);
    if (!String(asked[0]).includes('/stream')) return answer;
    const added = new TransformStream();
    const writer = added.writable.getWriter();
    const text = new TextDecoder();
    let heard = '';
    (async () => {
        for await (const part of answer.body) {
            heard += text.decode(part, { stream: true });
            await writer.write(part);
        }
    })();
    const nodes = () => {
        const line = heard.split('\\n').find((each) => each.startsWith('data: {"nodes":['));
        return line === undefined ? null : JSON.parse(line.slice(6)).nodes;
    };
    window.waves = (count) => {
        const board = nodes();
        return Array.from({ length: count }, (_, wave) => {
            const usage = {};
            const changed = board.map((node) => {
                const busy = (gpu) => (gpu.index * 13 + wave * 29) % 101;
                usage[node.name] = node.gpus.map((gpu) => [busy(gpu), 9000]);
                const gpus = node.gpus.map((gpu) => {
                    const owner = 'user' + ((gpu.index + wave) % 7);
                    const jobs = [`${owner}/job-${wave + 1}`];
                    const since = 1763250000.123456 + wave;
                    return (gpu.index + wave) % 3 === 0
                        ? { state: 'free' }
                        : { state: 'used', jobs, owner, since };
                });
                const { name, up, cpus_free, memory_free } = node;
                return { name, up, cpus_free, memory_free, gpus };
            });
            const say = (event, data) => `event: ${event}\\ndata: ${JSON.stringify(data)}\\n\\n`;
            const told = say('nodes', { nodes: changed, gone: [] });
            return new TextEncoder().encode(told + say('usage', { nodes: usage }));
        });
    };
    window.wave = (told) => writer.write(told);
    return new Response(added.readable, answer);
};
"""

# Frames go on also while nothing changes, so that a late one is seen.
WAVES = """async (count) => {
    const told = window.waves(count);
    let goes = true;
    const frame = () => goes && requestAnimationFrame(frame);
    requestAnimationFrame(frame);
    await new Promise((done) => setTimeout(done, 1000));
    for (const each of told) {
        performance.mark('wave');
        window.wave(each);
        await new Promise((done) => setTimeout(done, 1000));
    }
    performance.mark('wave');
    goes = false;
}"""


def rows(options: Options) -> Iterator[Row]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        note("the map is not measured: it needs Chromium and requirements/dev.txt")
        return
    from playwright.sync_api import sync_playwright

    with (
        Danlu(8, CONFIG) as danlu,
        danlu.client() as admin,
        sync_playwright() as playwright,
    ):
        member = Member(danlu, admin, "ann")
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            signed_in = _sign_in(browser, danlu, member)
            for slower, goal in ((1, 600), (4, 1500)):
                times = options.times(5, 2)
                drawn = [_drawn(browser, danlu, signed_in, slower) for _ in range(times)]
                what = "1,600 GPUs drawn" + (f", CPU x {slower} slower" if slower > 1 else "")
                yield Row(f"{what} (ms)", median(drawn), goal=Goal("at most", goal, "ms"))
            script, frames = _waves(browser, danlu, signed_in, 5 if options.quick else 20)
            what = "a wave that changes all 1,600"
            yield Row(f"{what}: script (ms)", median(script), goal=Goal("at most", 8, "ms"))
            slow = sum(frame > SLOW_FRAME for frame in frames)
            yield Row(f"{what}: longest frame (ms)", max(frames))
            yield Row(f"{what}: frames over 50 ms", slow, goal=Goal("at most", 0, "frames"))
        finally:
            browser.close()


def _sign_in(browser: Browser, danlu: Danlu, member: Member) -> Any:
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(danlu.url)
    page.locator("input[name=user]").fill(member.name)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button.primary").click()
    page.locator(".small-map canvas").first.wait_for()
    state = context.storage_state()
    context.close()
    return state


def _page(browser: Browser, signed_in: Any, script: str) -> Page:
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en-GB", storage_state=signed_in
    )
    context.add_init_script(script)
    return context.new_page()


def _drawn(browser: Browser, danlu: Danlu, signed_in: Any, slower: int) -> float:
    """From the start of the navigation, with nothing in the browser's cache."""
    page = _page(browser, signed_in, DRAWN)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(danlu.url)
    at: float = page.wait_for_function("() => window.drawnAt").json_value()
    page.context.close()
    return at


def _waves(
    browser: Browser, danlu: Danlu, signed_in: Any, count: int
) -> tuple[list[float], list[float]]:
    """Script in ms of each wave, a second each, and the ms between frames."""
    page = _page(browser, signed_in, ADDS)
    page.goto(danlu.url)
    page.locator(".small-map canvas").nth(2).wait_for()
    page.wait_for_timeout(2000)
    trace = page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    trace.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    over: list[bool] = []
    trace.on("Tracing.tracingComplete", lambda _: over.append(True))
    trace.send("Tracing.start", {"categories": CATEGORIES, "transferMode": "ReportEvents"})
    page.evaluate(WAVES, count)
    trace.send("Tracing.end")
    while not over:
        page.wait_for_timeout(50)
    page.context.close()
    return _read(events)


def _read(events: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    marks = sorted(e["ts"] for e in events if e["name"] == "wave" and e["ph"] in "IR")
    thread = next((e["pid"], e["tid"]) for e in events if e["name"] == "wave")
    ours = [e for e in events if (e["pid"], e["tid"]) == thread and e["ph"] == "X"]
    counted = (*SCRIPT, OWN)
    scripts = sorted((e for e in ours if e["name"] in counted), key=lambda e: (e["ts"], -e["dur"]))
    frames = sorted(e["ts"] for e in ours if e["name"] == OWN and marks[0] <= e["ts"] <= marks[-1])
    script = [_cpu(scripts, begin, end) / 1000 for begin, end in itertools.pairwise(marks)]
    return script, [(b - a) / 1000 for a, b in itertools.pairwise(frames)]


def _cpu(scripts: list[dict[str, Any]], begin: float, end: float) -> float:
    """The thread's own time in scripts, which may contain each other: others share the CPU."""
    total, upto = 0.0, begin
    for event in scripts:
        if upto <= event["ts"] < end:
            if event["name"] != OWN:
                total += event.get("tdur", event["dur"])
            upto = event["ts"] + event["dur"]
    return total
