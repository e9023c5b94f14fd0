"""The web pages' files: who is served what, and with which promises."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from danlu.api import pages
from danlu.api.problems import install

BROWSER = {"accept": "text/html,application/xhtml+xml"}


def served(folder: Path) -> TestClient:
    app = FastAPI()
    install(app)
    pages.install(app, folder)
    return TestClient(app)


@pytest.fixture
def built(tmp_path: Path) -> TestClient:
    folder = tmp_path / "web"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><p>pages")
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "assets" / "index-1a2b.js").write_text("plain")
    (folder / "assets" / "index-1a2b.js.gz").write_bytes(b"packed")
    (tmp_path / "secret").write_text("not yours")
    return served(folder)


@pytest.mark.parametrize("path", ["/", "/jobs/alice~mnist-3", "/a/b/c?x=1", "/sign-up"])
def test_every_page_has_an_address_that_can_be_sent(built: TestClient, path: str) -> None:
    answer = built.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert "pages" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


def test_what_is_named_by_its_content_is_kept_for_ever(built: TestClient) -> None:
    answer = built.get("/assets/index-1a2b.js", headers={"accept-encoding": "identity"})
    assert answer.text == "plain"
    assert "immutable" in answer.headers["cache-control"]
    assert "javascript" in answer.headers["content-type"]
    assert "max-age" not in built.get("/icon.svg").headers["cache-control"]


def test_who_takes_compressed_files_gets_them(built: TestClient) -> None:
    with built.stream(
        "GET", "/assets/index-1a2b.js", headers={"accept-encoding": "gzip"}
    ) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert b"".join(answer.iter_raw()) == b"packed"


def test_no_script_but_our_own_files_runs(built: TestClient) -> None:
    policy = built.get("/", headers=BROWSER).headers["content-security-policy"]
    script = re.search(r"script-src ([^;]+)", policy)
    assert script is not None and script[1] == "'self'"
    assert "frame-ancestors 'none'" in policy
    assert "object-src 'none'" in policy


@pytest.mark.parametrize("path", ["/", "/jobs/alice~mnist-3", "/assets/index-1a2b.js"])
def test_only_the_headers_can_be_asked_for(built: TestClient, path: str) -> None:
    plain = {**BROWSER, "accept-encoding": "identity"}
    whole, head = built.get(path, headers=plain), built.head(path, headers=plain)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == whole.headers


def test_the_headers_of_what_is_missing_say_so(built: TestClient) -> None:
    assert built.head("/danlu/v1/no-such-route").status_code == 404
    assert built.head("/nothing.txt").status_code == 404


@pytest.mark.parametrize(
    "path", ["/assets/gone-9z.js", "/danlu/v1/no-such-route", "/api/v2/jobs", "/nothing.txt"]
)
def test_programs_are_told_what_is_missing(built: TestClient, path: str) -> None:
    answer = built.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["message_zh"]


@pytest.mark.parametrize(
    "path", ["/../secret", "/..%2fsecret", "/assets/../../secret", "/%2e%2e/secret"]
)
def test_no_path_leads_out_of_the_folder(built: TestClient, path: str) -> None:
    assert "not yours" not in built.get(path).text
    assert "not yours" not in built.get(path, headers=BROWSER).text


def test_only_looking_is_answered(built: TestClient) -> None:
    assert built.post("/jobs", headers=BROWSER).status_code == 404


def test_without_built_pages_the_address_says_how_to_get_them(tmp_path: Path) -> None:
    answer = served(tmp_path / "nothing").get("/", headers=BROWSER)
    assert answer.status_code == 200
    assert "make web" in answer.text
    assert "还没有构建" in answer.text


MANIFEST = {
    "index.html": {"file": "assets/index-1.js", "css": ["assets/i-1.css"], "imports": ["_w.js"]},
    "_w.js": {"file": "assets/words-1.js"},
    "_rows.js": {"file": "assets/rows-1.js", "css": ["assets/rows-1.css"], "imports": ["_w.js"]},
    "src/files/page.tsx": {
        "file": "assets/page-1.js",
        "css": ["assets/page-1.css"],
        "imports": ["_w.js", "_rows.js", "index.html"],
        "dynamicImports": ["src/files/preview.tsx"],
    },
    "src/files/preview.tsx": {"file": "assets/preview-1.js"},
    "src/job/page.tsx": {"file": "assets/page-2.js", "imports": ["index.html"]},
}


@pytest.mark.parametrize(
    ("path", "ahead"),
    [
        ("/", []),
        ("/files", ["page-1.js", "rows-1.js", "page-1.css", "rows-1.css"]),
        ("/files/userhome/a/b", ["page-1.js", "rows-1.js", "page-1.css", "rows-1.css"]),
        ("/jobs/alice~mnist-3", ["page-2.js"]),
        ("/jobs", []),  # not in this manifest
        ("/filesystem/x", []),
    ],
)
def test_a_page_names_its_parts_with_the_first_answer(
    tmp_path: Path, path: str, ahead: list[str]
) -> None:
    """All that it needs besides what every page needs, and nothing that it may need later."""
    (tmp_path / ".vite").mkdir()
    (tmp_path / ".vite/manifest.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "index.html").write_text("<!doctype html><p>pages")
    links = served(tmp_path).get(path, headers=BROWSER).headers.get("link", "")
    assert re.findall(r"</assets/([^>]+)>", links) == ahead
    for each in filter(None, links.split(", ")):
        script = each.partition(">")[0].endswith(".js")
        # As the pages themselves ask for them; otherwise browsers would fetch them twice.
        told = "; rel=modulepreload" if script else "; rel=preload; as=style; crossorigin"
        assert each.endswith(told)


def test_the_parts_that_are_named_are_those_of_the_pages() -> None:
    source = Path(__file__).parents[2].joinpath("web/src/app.tsx").read_text()
    names = dict(re.findall(r"const (\w+) = lazy\(\(\) => import\(\"./([^\"]+)\"\)\)", source))
    names["FilesPage"] = "files/page"
    routes = re.findall(r'path="/([a-z-]+)(/[^"]+)?" element={<(\w+) />}', source)
    found = {}
    for first, more, element in routes:
        if element not in names:
            continue
        module = f"src/{names[element]}.tsx"
        if not more or more == "/*" or more.endswith("?"):
            found[first] = module
        if more:
            found[f"{first}/*"] = module
    for page, module in pages.PAGES.items():
        assert found.get(page) == module, page


def test_a_built_page_is_kept_in_memory(tmp_path: Path) -> None:
    """A page has a dozen files, and threads that read each of them come to their turn late."""
    (tmp_path / "assets").mkdir()
    script = tmp_path / "assets/index-1a2b.js"
    script.write_text("x" * 1000)
    font = tmp_path / "assets/font.woff2"
    font.write_bytes(b"f" * 1000)
    client = served(tmp_path)
    whole = client.get("/assets/index-1a2b.js")
    script.unlink()
    assert client.get("/assets/index-1a2b.js").content == whole.content == b"x" * 1000
    assert client.get("/assets/font.woff2").content == b"f" * 1000
    font.write_bytes(b"g")
    assert client.get("/assets/font.woff2").content == b"g"
