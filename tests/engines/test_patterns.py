"""Names of output files: two jobs never write to one file because nobody told them apart."""

from __future__ import annotations

from danlu.steps.patterns import expand

OWN = {"DANLU_JOB": "alice/mnist-3", "DANLU_JOB_NAME": "mnist", "DANLU_NODE": "n1", "USER": "alice"}


def test_a_job_of_danlu_s_own_is_told_by_its_name_and_number() -> None:
    assert expand("logs/%x-%j-%u-%N.out", OWN) == "logs/mnist-3-alice-n1.out"
    assert expand("%4j%%", OWN) == "0003%"


def test_an_element_of_an_array_has_its_index() -> None:
    env = {**OWN, "DANLU_JOB": "alice/mnist-3.7", "DANLU_ARRAY_INDEX": "7"}
    assert expand("%A_%a", env) == "3_7"
    assert expand("%j", env) == "3.7"


def test_slurm_s_words_win_where_they_are_set() -> None:
    env = {**OWN, "SLURM_JOB_ID": "118", "SLURM_JOB_NAME": "s", "SLURMD_NODENAME": "n2"}
    assert expand("%x-%j-%A-%N", env) == "s-118-118-n2"
