"""The words of a `#SBATCH` line are those a shell would find."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.dialects.sbatch_options import Unreadable, split_words

WORDS = st.lists(st.text("ab \t'\"\\#=-$%中", max_size=8), max_size=5)


@given(WORDS)
def test_words_in_quotes_come_back_whole(words: list[str]) -> None:
    assert split_words(shlex.join(words)) == words


@given(st.text("ab \"'\\=-", max_size=20))
def test_any_line_is_split_as_a_shell_splits_it(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError as error:
        if "quotation" in str(error):  # shlex also minds a backslash at the end; sbatch does not
            with pytest.raises(Unreadable):
                split_words(line)
        return
    assert split_words(line) == expected


def test_a_comment_ends_the_line_only_before_a_word() -> None:
    assert split_words('-J "my job" -p a#b # the rest') == ["-J", "my job", "-p", "a#b"]
