"""A user's own `#SBATCH` lines: what Danlu does not decide itself reaches Slurm as written."""

from __future__ import annotations

from danlu.engines.slurm.directives import options_of
from danlu.spec.dialects.convert import convert
from danlu.spec.dialects.language import Dialect, Options

SCRIPT = """#!/bin/bash
#SBATCH -J train -N 2 --ntasks-per-node=4 --gres=gpu:3090:2
#SBATCH --account=lab --qos "very high"
#SBATCH --mail-type=END,FAIL --mail-user=me@example.org
#SBATCH --array=1-9 --dependency=afterok:7 --output=x.log --uid=0
# a comment
#SBATCH -C 'rtx3090&ib' --exclusive

srun python train.py
#SBATCH --reservation=late
"""


def test_what_danlu_does_not_decide_is_passed_on() -> None:
    assert options_of(("--shell", SCRIPT)) == [
        "--account=lab",
        "--qos='very high'",
        "--mail-type=END,FAIL",
        "--mail-user=me@example.org",
        "--constraint='rtx3090&ib'",
        "--exclusive",
    ]


def test_a_command_that_is_no_batch_script_has_none() -> None:
    assert options_of(("python", "train.py")) == []


def test_nothing_can_be_smuggled_in() -> None:
    text = "#!/bin/sh\n#SBATCH --comment=danlu:x:y --account='a\\nb'\n#SBATCH --chdir=/ --wrap=x\n"
    assert all("comment" not in option for option in options_of((text,)))
    assert all("\n" not in option for option in options_of((text,)))


def _converted(*words: str) -> tuple[str, ...]:
    found = convert(SCRIPT.encode(), Dialect.SBATCH, options=Options(words=words))
    return found.jobs[0].spec.roles[0].command.words


def test_the_command_line_is_passed_on_as_well_and_wins() -> None:
    options = options_of(_converted("--qos=low", "-p", "gpu", "--reservation", "my lab"))
    assert "--qos=low" in options
    assert "--reservation='my lab'" in options
    assert "--account=lab" in options
    assert not any("partition" in option or "very high" in option for option in options)


def test_a_command_line_that_danlu_understands_leaves_the_script_as_it_is() -> None:
    assert _converted("-p", "gpu", "--gres=gpu:1")[0] == SCRIPT
