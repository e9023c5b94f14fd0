"""Mutated files become jobs or clear mistakes: no traceback, no minute of thinking.

DANLU_FUZZ=100000 mutates so many files of each language; the ordinary run takes a few hundred, with
another seed every time (DANLU_FUZZ_SEED repeats one).
"""

from __future__ import annotations

import os
import random
import time

import pytest

from danlu.spec.complete import read_submissions
from danlu.spec.dialects import Dialect, convert, recognise
from danlu.spec.errors import SpecError
from danlu.spec.native_yaml import to_yaml
from tests.spec.dialects import corpus
from tests.spec.dialects.mutations import mutate
from tests.spec.dialects.pace import too_slow

COUNT = int(os.environ.get("DANLU_FUZZ", "400"))
SEED = os.environ.get("DANLU_FUZZ_SEED") or str(random.SystemRandom().randrange(2**32))
EVERY = [path.read_text() for path in corpus.files()]


@pytest.mark.parametrize("name", corpus.LANGUAGES)
def test_a_mutated_file_is_a_job_or_a_clear_mistake(name: str) -> None:
    dialect = corpus.LANGUAGES[name]
    texts = [path.read_text() for path in corpus.files(f"{name}_")]
    dice = random.Random(f"{SEED}/{name}")
    jobs = 0
    for number in range(COUNT):
        text = mutate(dice.choice(texts), EVERY if number % 4 == 0 else texts, dice)
        jobs += _one(text, dialect, check_again=number % 20 == 0)
    # Mutations that spoil every file would try nothing but the reader of broken files.
    assert jobs > COUNT // 40, f"seed {SEED}"


def _one(text: str, dialect: Dialect, check_again: bool) -> bool:
    began = time.process_time()  # not the clock: the machine may have others to serve
    try:
        found = convert(text, dialect, options=corpus.OPTIONS, site=corpus.SITE)
    except SpecError as error:
        assert error.problems, _shown(text)
        for problem in error.problems:
            assert problem.message.en, _shown(text)
            assert problem.message.zh, _shown(text)
            more = problem.message.en.startswith("... and ")
            assert problem.line is not None or more, _shown(text)
        return False
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}; {_shown(text)}") from error
    finally:
        assert not too_slow(time.process_time() - began), _shown(text)
    recognise(text)
    if check_again:
        for job in found.jobs:
            assert read_submissions(to_yaml(job.spec))[0].spec == job.spec, _shown(text)
    return True


def _shown(text: str) -> str:
    return f"seed {SEED}, file:\n{text[:3000]}"
