"""A user's own `#SBATCH` lines: what Danlu does not decide itself reaches Slurm as written."""

from __future__ import annotations

from danlu.engines.slurm.directives import options_of

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
