"""Files made to be slow, deep or endless are answered soon and with few words."""

from __future__ import annotations

import json
import time

import pytest

from danlu.spec.dialects import Dialect, convert
from danlu.spec.errors import MOST_PROBLEMS, SpecError
from tests.spec.dialects.pace import too_slow

V1 = {"jobName": "a", "image": "x"}
ROLE = {"name": "t", "memoryMB": 512, "command": "x"}
V2 = """protocolVersion: 2
name: a
type: job
prerequisites:
  - {name: i, type: dockerimage, uri: x}
taskRoles:
"""
V2_ROLE = """  r%d:
    dockerImage: i
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: [x]
"""
DETERMINED = "name: a\nentrypoint: x\nsearcher: {name: grid}\nhyperparameters:\n"
SCRIPT = "#!/bin/bash\n"

FILES = {
    "v1 of many keys": json.dumps(
        {**V1, "taskRoles": [ROLE], **{f"k{i}": i for i in range(29_000)}}, indent=1
    ),
    "v1 of many roles": json.dumps(
        {**V1, "taskRoles": [{**ROLE, "name": f"t{i}"} for i in range(5_000)]}, indent=1
    ),
    "v1 of quotes": '{"jobName": ' + '"' * 900_000,
    "v1 of comments": "/*" * 400_000,
    "v1 without an end": '{"a":' * 100_000,
    "v2 of many roles": V2 + "".join(V2_ROLE % i for i in range(2_500)),
    "v2 of references": V2 + (V2_ROLE % 1).replace("[x]", "['" + "<% $" * 30_000 + "']"),
    "dlc of many keys": "\n".join(f"k{i}=1" for i in range(90_000)),
    "dlc of many bad lines": "\n".join(f"hello {i}" for i in range(60_000)),
    "determined of many parameters": DETERMINED
    + "".join(f"  p{i}: {{type: categorical, vals: [1, 2]}}\n" for i in range(4_000)),
    "determined of an endless axis": DETERMINED + "  a: {type: int, minval: 0, maxval: 1e15}\n",
    "sbatch of unknown options": SCRIPT + "".join(f"#SBATCH --nod{i}=1\n" for i in range(30_000)),
    "sbatch of late options": SCRIPT + "x\n" + "".join(f"#SBATCH -x{i}\n" for i in range(50_000)),
    "sbatch of quotes": SCRIPT + "#SBATCH " + '"' * 900_000 + "\nx",
    "dlc of variables that grow": "v0=xxxxxxxx\n"
    + "".join(f"v{i + 1}=$v{i}$v{i}\n" for i in range(60))
    + "dlc submit pytorchjob --name=$v60",
    "dlc of open quotes": "a='x\n" * 100_000 + "dlc submit pytorchjob --name=x",
    "dlc of many commands": "dlc submit pytorchjob\n" * 40_000,
    "sbatch of commas": SCRIPT + "#SBATCH --gres=" + "x," * 16_000 + "\nx",
    "sbatch of many commas": SCRIPT + "#SBATCH --gres=" + "x," * 400_000 + "\nx",
    "sbatch of nodes": SCRIPT + "#SBATCH -w " + "n[1-999]," * 3_000 + "\nx",
    "sbatch of parentheses": SCRIPT + "#SBATCH --gres=" + "gpu(," * 200_000 + "\nx",
}
LANGUAGES = {
    "v1": Dialect.OPENPAI_V1,
    "v2": Dialect.OPENPAI_V2,
    "dlc": Dialect.DLC,
    "determined": Dialect.DETERMINED,
    "sbatch": Dialect.SBATCH,
}


@pytest.mark.parametrize("name", FILES)
def test_an_answer_comes_soon_and_is_short(name: str) -> None:
    # The best of three: a busy machine makes everything slower, an endless loop stays endless.
    assert not too_slow(min(_seconds(name) for _ in range(3)))


def _seconds(name: str) -> float:
    began = time.process_time()
    try:
        found = convert(FILES[name], LANGUAGES[name.partition(" ")[0]])
        assert len(found.notes) <= 200
    except SpecError as error:
        assert len(error.problems) <= MOST_PROBLEMS + 1
        assert all(len(problem.message.en) < 2_000 for problem in error.problems)
    return time.process_time() - began
