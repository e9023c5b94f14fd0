"""A file with placeholders is called a template, not a file with strange values."""

from __future__ import annotations

import pytest

from danlu.spec.dialects import convert
from danlu.spec.errors import SpecError

SBATCH = "#!/bin/bash\n#SBATCH --time={{ hours }}:00:00\n#SBATCH --gres=gpu:{{gpus}}\npython x.py\n"
DLC = "name=x\ncommand=python x.py\nworkers={{ workers }}\nworker_image=lab/x\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [(SBATCH, ("{{ hours }}", "{{gpus}}")), (DLC, ("{{ workers }}",))],
)
def test_a_placeholder_is_called_one(text: str, shown: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as error:
        convert(text)
    problems = error.value.problems
    assert len(problems) == len(shown)
    for problem, placeholder in zip(problems, shown, strict=True):
        assert f"{placeholder} is a Jinja placeholder" in problem.message.en
        assert f"{placeholder} 是 Jinja 占位符" in problem.message.zh


def test_braces_of_a_command_are_its_own() -> None:
    text = "#!/bin/bash\n#SBATCH --time=x\ndocker ps --format '{{.Names}}'\n"
    with pytest.raises(SpecError, match="is not a time"):
        convert(text)
