"""The guides say what the code does: keys, defaults, limits, reasons, examples and links."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from danlu.cli import codes
from danlu.server.settings import ConfigError, load
from danlu.spec import completion, forms, read, refs, request, ties, units
from danlu.spec import fields as readers
from danlu.spec.complete import complete, read_submissions
from danlu.spec.defaults import Defaults
from danlu.spec.states import MEANINGS, Retry, State
from tests.docs.markdown import ROOT, Block, Page, all_pages, page

JOB_GUIDES = ("docs/job-file.md", "docs/job-file.zh.md")
ADMIN_GUIDES = ("docs/admin.md", "docs/admin.zh.md")
IMAGE_GUIDES = ("docs/images.md", "docs/images.zh.md", "docs/registry.md", "docs/registry.zh.md")
READMES = ("README.md", "README.zh-CN.md")
PAGES = all_pages()
TRANSLATED = [
    ("README.md", "README.zh-CN.md"),
    *(
        (each.name.removesuffix(".zh.md") + ".md", each.name)
        for each in PAGES
        if each.name.endswith(".zh.md")
    ),
]
DEFAULTS = Defaults()
TABLES = (
    "server",
    "database",
    "limits",
    "login",
    "metrics",
    "engine",
    "engines",
    "registries",
    "registry",
    "nodes",
    "uids",
    "users",
    "groups",
    "volumes",
    "defaults",
    "environments",
    "scheduler",
    "queues",
    "quotas",
    "kinds",
)
NAMED = (
    "volumes",
    "users",
    "groups",
    "engines",
    "registries",
    "registry.mirrors",
    "queues",
    "quotas.users",
    "quotas.groups",
    "kinds",
)
# Their own keys are names too: models of GPUs, numbers of an order.
LEAVES = ("models", "settings", "user_quotas", "group_quotas")


def blocks(names: tuple[str, ...], language: str) -> list[Any]:
    found = [block for name in names for block in page(name).blocks(language)]
    return [pytest.param(block, id=block.place) for block in found]


job_guide = pytest.mark.parametrize("guide", [page(name) for name in JOB_GUIDES], ids=JOB_GUIDES)
admin_guide = pytest.mark.parametrize(
    "guide", [page(name) for name in ADMIN_GUIDES], ids=ADMIN_GUIDES
)
translated = pytest.mark.parametrize(
    ("one", "other"), [(page(one), page(other)) for one, other in TRANSLATED], ids=str
)


# Examples


@pytest.mark.parametrize("block", blocks((*JOB_GUIDES, *IMAGE_GUIDES, *READMES), "yaml"))
def test_every_job_shown_is_accepted(block: Block) -> None:
    assert read_submissions(block.text)


@pytest.mark.parametrize("block", blocks((*ADMIN_GUIDES, *IMAGE_GUIDES, *READMES), "toml"))
def test_every_configuration_shown_can_be_loaded(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "danlu.toml"
    file.write_text(block.text)
    file.chmod(0o600)
    load(file)


@pytest.mark.parametrize("name", [*JOB_GUIDES, *ADMIN_GUIDES, *READMES])
def test_every_guide_shows_examples_that_are_checked(name: str) -> None:
    assert page(name).blocks("yaml", "toml")


# The job file


@job_guide
def test_the_guide_has_a_row_for_every_key_of_a_job(guide: Page) -> None:
    assert set(request.JOB_KEYS) | set(request.ROLE_KEYS) <= guide.rows().keys()


@job_guide
@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("command", readers.LONGEST_WORD),
        ("command", forms.MOST_WORDS),
        ("gpus", forms.MOST_GPUS),
        ("gpus", forms.SMALLEST_FRACTION),
        ("memory", units.format_size(request.SMALLEST_MEMORY)),
        ("shm", units.format_size(request.SMALLEST_SHM)),
        ("env", forms.MOST_VARIABLES),
        ("mounts", ties.MOST_MOUNTS),
        ("ports", ties.MOST_PORTS),
        ("count", DEFAULTS.max_tasks),
        ("roles", completion.MOST_ROLES),
        ("priority", request.HIGHEST_PRIORITY),
        ("after", ties.MOST_DEPENDENCIES),
        ("array", DEFAULTS.max_array),
        ("retries", request.MOST_RETRIES),
        ("grace", units.format_duration(completion.GRACE)),
        ("grace", units.format_duration(request.LONGEST_GRACE)),
        ("log_cap", units.format_size(DEFAULTS.log_cap)),
        ("log_cap", units.format_size(request.SMALLEST_LOG_CAP)),
        ("log_cap", units.format_size(DEFAULTS.max_log_cap)),
    ],
)
def test_the_row_of_a_key_names_its_limit(guide: Page, key: str, limit: object) -> None:
    assert re.search(rf"(?<![\w.]){re.escape(str(limit))}(?![\w.])", " ".join(guide.rows()[key]))


@job_guide
def test_the_limits_of_a_file_and_of_indexes_are_named(guide: Page) -> None:
    for limit in (units.format_size(read.LARGEST_FILE), read.MOST_JOBS, refs.LARGEST_INDEX):
        assert re.search(rf"\b{limit}\b", guide.prose, re.ASCII)


@job_guide
def test_what_is_filled_in_is_what_the_table_shows(guide: Page) -> None:
    table = next(t for t in guide.tables() if t[0] == ["`gpus`", "`cpus`", "`memory`", "`shm`"])
    assert len(table) > 3
    for gpus, *shown in table[1:]:
        need = complete({"command": "x", "gpus": gpus}).roles[0].resources
        filled = [f"{need.cpus:g}", units.format_size(need.memory), units.format_size(need.shm)]
        assert shown == filled, gpus


@job_guide
def test_every_reason_is_explained_with_its_state_and_whether_it_is_tried_again(
    guide: Page,
) -> None:
    chinese = guide.name.endswith(".zh.md")
    words = {
        Retry.NEVER: "否" if chinese else "never",
        Retry.BUDGET: "`retries`",
        Retry.PLATFORM: "平台" if chinese else "platform",
        Retry.ALWAYS: "总是" if chinese else "always",
    }
    table = next(t for t in guide.tables() if t[-1][0] == f"`{list(MEANINGS)[-1]}`")
    shown = [tuple(row[:3]) for row in table[1:]]
    assert shown == [
        (f"`{reason}`", f"`{what.state}`", words[what.retry]) for reason, what in MEANINGS.items()
    ]
    for row, what in zip(table[1:], MEANINGS.values(), strict=True):
        assert row[3], row[0]
        assert row[4] or not what.advice, row[0]


@job_guide
def test_every_state_is_explained(guide: Page) -> None:
    table = next(t for t in guide.tables() if t[1][0] == "`queued`")
    assert [row[0] for row in table[1:]] == [f"`{state}`" for state in State]


# danlu.toml


def known_keys(tmp_path: Path) -> set[str]:
    """Every key the server takes, as it lists them itself where it meets an unknown one."""
    file = tmp_path / "danlu.toml"

    def known(text: str) -> list[str]:
        file.write_text(f"{text}\nzzzzzzzz = 1\n")
        with pytest.raises(ConfigError) as refused:
            load(file)
        return refused.value.message.en.partition("known: ")[2].split(", ")

    sections = {
        "server": "[server]",
        "database": "[database]",
        "limits": "[limits]",
        "login": "[login]",
        "metrics": "[metrics]",
        "engine": "[engine]",
        "engines.NAME": '[engines.x]\nkind = "local"',
        "registries.NAME": "[registries.x]",
        "registry": "[registry]",
        "registry.mirrors.NAME": "[registry.mirrors.x]",
        "nodes": "[[nodes]]",
        "volumes.NAME": '[volumes.x]\nsource = "/x"',
        "uids": "[uids]",
        "users.NAME": "[users.x]\nuid = 5000",
        "groups.NAME": "[groups.x]\ngid = 5000",
        "defaults": "[defaults]",
        "environments": "[environments]",
        "scheduler": "[scheduler]",
        "queues.NAME": "[queues.x]",
        "quotas.users.NAME": "[quotas.users.x]",
        "quotas.groups.NAME": "[quotas.groups.x]",
        "kinds.NAME": "[kinds.train]",
    }
    tables = {section.partition(".")[0] for section in sections}
    top = set(known(""))
    assert tables <= top
    nested = {f"{section}.{key}" for section, text in sections.items() for key in known(text)}
    return (top - tables) | (nested - {"registry.mirrors"})


def flat(values: dict[str, Any], prefix: str = "") -> set[str]:
    keys: set[str] = set()
    for key, value in values.items():
        inner = value if isinstance(value, list) else [value]
        for each in inner:
            name = "NAME" if prefix[:-1] in NAMED else key
            deeper = isinstance(each, dict) and key not in LEAVES
            keys |= flat(each, f"{prefix}{name}.") if deeper else {prefix + name}
    return keys


@admin_guide
def test_the_guide_has_a_row_for_every_key_of_the_configuration_and_for_no_other(
    guide: Page, tmp_path: Path
) -> None:
    documented = {
        key for key in guide.rows() if key == "data" or re.match(rf"({'|'.join(TABLES)})\.\w", key)
    }
    # Files of the data folder look like keys.
    documented -= {"server.json", "server.lock", "metrics.db"}
    assert documented == known_keys(tmp_path)


@admin_guide
def test_the_complete_example_sets_every_key_that_has_an_effect(
    guide: Page, tmp_path: Path
) -> None:
    example = max((block.text for block in guide.blocks("toml")), key=len)
    assert flat(tomllib.loads(example)) == known_keys(tmp_path)


@admin_guide
def test_the_defaults_shown_are_those_of_the_code(guide: Page) -> None:
    rows = guide.rows()
    for entry in fields(Defaults):
        if entry.name.startswith(("node_", "environment")):
            continue  # learned from the nodes, or of a table of its own
        shown, value = rows[f"defaults.{entry.name}"][1], getattr(DEFAULTS, entry.name)
        if value is None:
            assert shown in ("none", "无"), entry.name
        else:
            number = units.parse_size(shown) if shown[-1].isalpha() else float(shown)
            assert number == value, entry.name


@admin_guide
def test_every_exit_code_of_the_command_line_is_explained(guide: Page) -> None:
    table = next(t for t in guide.tables() if any(row[0] == "128+n" for row in t))
    numbers = {
        codes.OK,
        codes.TROUBLE,
        codes.USAGE,
        codes.NOT_FOUND,
        codes.DENIED,
        codes.CONFLICT,
        codes.INTERNAL,
        codes.NEVER_RAN,
    }
    assert {row[0] for row in table[1:]} == {str(number) for number in numbers} | {"128+n"}


# All pages


@pytest.mark.parametrize("one", PAGES, ids=lambda one: one.name)
def test_every_link_leads_somewhere(one: Page) -> None:
    assert [link for link in one.links() if not leads_somewhere(one, link)] == []


def leads_somewhere(one: Page, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True  # of another site: nothing that can be looked up here
    path, _, anchor = unquote(link).partition("#")
    target = (one.path.parent / path).resolve() if path else one.path
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in page(str(target.relative_to(ROOT))).anchors()


@translated
def test_both_languages_have_the_same_headings(one: Page, other: Page) -> None:
    levels = [level for level, _ in one.headings()]
    assert levels == [level for level, _ in other.headings()]


@translated
def test_both_languages_have_the_same_tables(one: Page, other: Page) -> None:
    def shape(each: Page) -> list[tuple[int, int]]:
        return [(len(table), len(table[0])) for table in each.tables()]

    assert shape(one) == shape(other)


@translated
def test_both_languages_show_the_same_examples(one: Page, other: Page) -> None:
    # Read, so that only comments may differ.
    for language, parse in (("yaml", _yaml), ("toml", tomllib.loads), ("ini", str)):
        ours = [parse(block.text) for block in one.blocks(language)]
        assert ours == [parse(block.text) for block in other.blocks(language)]


def _yaml(text: str) -> list[Any]:
    return list(yaml.load_all(text, yaml.BaseLoader))
