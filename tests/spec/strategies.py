"""Any job there can be, for properties that must hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from danlu.spec.job import (
    NO_FILES,
    After,
    Array,
    Command,
    Dependency,
    Files,
    GpuRequest,
    JobSpec,
    Kind,
    Mount,
    NodeChoice,
    Processes,
    Resources,
    Role,
    RunAs,
    Sampling,
    Search,
    Stdin,
    Variables,
)
from danlu.spec.search import grid_size
from danlu.spec.units import G, M, T

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", fullmatch=True)
variables = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
labels = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,31}", fullmatch=True)

# What YAML 1.1 readers turn into something else, beside any text that a program can be given.
texts = st.one_of(
    st.sampled_from(
        [
            "no",
            "on",
            "~",
            "null",
            "",
            "1e-3",
            "010",
            "0x1f",
            "1:30:00",
            "1_000",
            ".inf",
            "true",
            "2024-01-01",
            "- x",
            "a: b",
            "# x",
            "*x",
            "&x",
            "!x",
            "%x",
            "@x",
            "`x`",
            "'",
            '"',
            "\\",
            " lead",
            "trail ",
            "line\nline\n",
            "\n",
            "\ttab",
            "a\r\nb",
            "中文",
            "😀",
            "\x1b[0m",
            "\u2028x",
            "\x85",
            "\ufeffx",
            "<<",
            "=",
            "a #b",
            "{x}",
            "[x]",
            "? x",
            "|",
            ">",
            "1.",
            "1e5",
        ]
    ),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\x1b\x85"),
        max_size=60,
    ),
)
words = texts.filter(lambda text: bool(text.strip()))
lines = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40
).filter(lambda text: bool(text.strip()))

commands = st.one_of(
    st.builds(lambda text: Command(RunAs.SHELL, (text,)), words),
    st.builds(
        lambda first, rest: Command(RunAs.ARGV, (first, *rest)), words, st.lists(texts, max_size=4)
    ),
    st.builds(
        lambda path, rest: Command(RunAs.SCRIPT, (path, *rest)), lines, st.lists(texts, max_size=4)
    ),
    st.just(Command(RunAs.TOOL, ("environment",))),
    st.just(Command(RunAs.TOOL, ("tensorboard", "/userhome/logs"))),
)
models = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9 _.+/()-]{0,20}[A-Za-z0-9)])?", fullmatch=True)
gpus = st.one_of(
    st.just(GpuRequest()),
    st.builds(GpuRequest, st.integers(1, 4096), st.none() | models),
    st.builds(
        lambda model, indexes: GpuRequest(len(indexes), model, None, tuple(sorted(indexes))),
        st.none() | models,
        st.sets(st.integers(0, 4095), min_size=1, max_size=4),
    ),
    st.builds(
        lambda model, fraction: GpuRequest(1, model, fraction),
        st.none() | models,
        st.floats(0.01, 0.99),
    ),
)


@st.composite
def resources(draw: st.DrawFn) -> Resources:
    memory = draw(st.integers(4 * M, 8 * T) | st.sampled_from([G, 64 * G, 3 * T, 5 * M + 1]))
    return Resources(
        gpus=draw(gpus),
        cpus=draw(st.floats(0.01, 1000) | st.integers(1, 256).map(float)),
        memory=memory,
        shm=draw(st.integers(M, memory)),
    )


mounts = st.lists(
    st.builds(
        Mount,
        names,
        st.from_regex(r"/[a-zA-Z0-9_]{4,10}(/[a-zA-Z0-9_ ]{1,10}){0,2}", fullmatch=True),
        st.booleans(),
        st.just("") | st.from_regex(r"[a-z0-9_ ]{1,8}(/[a-z0-9_]{1,8})?", fullmatch=True),
    ).filter(lambda mount: not mount.folder or bool(mount.folder.strip())),
    max_size=3,
    unique_by=lambda mount: mount.path,
).map(tuple)


@st.composite
def roles(draw: st.DrawFn, name: str) -> Role:
    env = draw(st.dictionaries(variables, texts, max_size=4))
    secrets = draw(st.dictionaries(variables, names, max_size=2))
    need = draw(resources())
    command = draw(commands)
    whole = need.gpus.count > 0 and need.gpus.fraction is None
    several = whole and command.run_as is not RunAs.TOOL
    return Role(
        name=name,
        count=draw(st.integers(1, 8)),
        command=command,
        resources=need,
        image=draw(st.none() | lines),
        env=env,
        secrets={key: secret for key, secret in secrets.items() if key not in env},
        mounts=draw(mounts),
        ports=draw(st.dictionaries(labels.map(str.lower), st.integers(1, 20), max_size=3)),
        workdir=draw(st.none() | lines.map(lambda line: "/" + line)),
        processes=draw(st.sampled_from(Processes)) if several else Processes.ONE,
        min_failed=draw(st.integers(0, 8)),
        min_succeeded=draw(st.integers(0, 8)),
    )


references = st.one_of(
    st.builds(lambda name, number: f"{name}-{number}", names, st.integers(1, 999)),
    st.builds(lambda name, number: f"bob/{name}-{number}.7", names, st.integers(1, 999)),
    st.just("01890a5d-ac96-774b-bcce-b302099a8057"),
)
arrays = st.builds(
    Array,
    st.one_of(
        st.lists(st.integers(0, 999_999_999), min_size=1, max_size=8, unique=True).map(tuple),
        st.builds(
            lambda start, count, step: tuple(range(start, start + count * step, step)),
            st.integers(0, 1000),
            st.integers(1, 50),
            st.integers(1, 9),
        ),
    ),
    st.none() | st.integers(1, 999),
)


values = st.one_of(
    st.integers(-(10**15), 10**15),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    texts,
    st.none(),
)
parameters = st.one_of(
    values,
    st.builds(lambda vals: {"type": "categorical", "vals": vals}, st.lists(values, min_size=1)),
    st.builds(
        lambda low, span: {"type": "double", "minval": low, "maxval": low + span, "count": 2},
        st.floats(-1e9, 1e9),
        st.floats(0, 1e9),
    ),
    st.builds(
        lambda low, span: {"type": "int", "minval": low, "maxval": low + span, "count": 3},
        st.integers(-1000, 1000),
        st.integers(0, 1000),
    ),
)
searches = st.builds(
    Search,
    st.dictionaries(
        variables, parameters | st.dictionaries(variables, values, min_size=1), max_size=4
    ).filter(lambda space: grid_size(Search(space)) < 10_000),
    st.sampled_from(Sampling),
    st.integers(0, 2**32 - 1),
)
nodes = st.builds(
    NodeChoice, *[st.lists(names, max_size=3, unique=True).map(tuple) for _ in range(3)]
)
files = st.builds(Files, *[st.none() | lines] * 3, st.booleans())


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    role_names = draw(
        st.just(["main"])
        | st.lists(
            st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    seconds = st.integers(1, 10**8).map(float) | st.floats(1, 1e8)
    all_roles = tuple(draw(roles(name)) for name in role_names)
    has_tool = any(role.command.run_as is RunAs.TOOL for role in all_roles)
    return JobSpec(
        name=draw(names),
        kind=draw(st.sampled_from(Kind)),
        roles=all_roles,
        queue=draw(st.just("default") | names),
        group=draw(st.none() | names),
        priority=draw(st.integers(-1000, 1000)),
        time_limit=draw(st.none() | seconds),
        retries=draw(st.integers(-2, 100)),
        grace=draw(st.just(10.0) | st.floats(0, 3600)),
        after=tuple(
            draw(
                st.lists(
                    st.builds(Dependency, references, st.sampled_from(After)),
                    max_size=3,
                    unique=True,
                )
            )
        ),
        array=draw(st.none() | arrays),
        stdin=draw(st.sampled_from(Stdin)),
        split_output=draw(st.booleans()),
        log_cap=draw(st.none() | st.integers(4096, 64 * G)),
        held=draw(st.booleans()),
        variables=draw(st.sampled_from(Variables)),
        search=draw(st.none() | searches),
        files=NO_FILES if has_tool else draw(files),
        nodes=draw(nodes),
        preemptible=draw(st.booleans()),
    )
