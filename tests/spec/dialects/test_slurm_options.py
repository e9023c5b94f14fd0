"""Slurm's options are written down once, for scripts, for the commands and for steps."""

from __future__ import annotations

from danlu.cli.shims import submitting
from danlu.spec.dialects import sbatch_options
from danlu.steps import options as step_options
from danlu.steps import slurm_options


def groups(prefix: str) -> list[set[str]]:
    names = [prefix, *(f"{prefix}_{more}" for more in ("OF_JOBS", "IN_FILES", "OF_STEPS"))]
    return [set(getattr(slurm_options, name)) for name in names]


def test_no_option_is_in_two_groups() -> None:
    for prefix in ("VALUED", "FLAGS", "OPTIONAL"):
        found = groups(prefix)
        assert sum(map(len, found)) == len(set.union(*found)), prefix


def test_what_a_command_reads_the_script_of_a_job_may_say() -> None:
    told = {*submitting.VALUED, *submitting.FLAGS, *submitting.OPTIONAL}
    assert told <= sbatch_options.LONG


def test_a_letter_means_one_option() -> None:
    for module in (sbatch_options, submitting, step_options):
        letters = [short for short in {**module.VALUED, **module.FLAGS}.values() if short]
        assert len(letters) == len(set(letters)), module.__name__


def test_all_readers_take_the_same_letters_from_the_table() -> None:
    table = {**slurm_options.VALUED, **slurm_options.FLAGS}
    for module in (sbatch_options, step_options):
        known = {**module.VALUED, **module.FLAGS}
        assert {name: known[name] for name in table} == table
