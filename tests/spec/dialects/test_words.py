"""The words of a `#SBATCH` line are those sbatch finds: nearly a shell's."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.dialects.sbatch_options import Unreadable, split_words

WORDS = st.lists(st.text("ab \t'\"#=-$%中", max_size=8), max_size=5)


@given(WORDS)
def test_words_in_quotes_come_back_whole(words: list[str]) -> None:
    assert split_words(shlex.join(words)) == words


@given(st.lists(st.text("ab \t'\"\\#=-$%中", min_size=1, max_size=8), max_size=5))
def test_words_with_a_backslash_before_every_letter_come_back_whole(words: list[str]) -> None:
    line = " ".join(re.sub("(.)", r"\\\1", word) for word in words)
    assert split_words(line) == words


@given(st.text("ab \"'=-", max_size=20))
def test_a_line_without_backslashes_is_split_as_a_shell_splits_it(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError:
        with pytest.raises(Unreadable):
            split_words(line)
        return
    assert split_words(line) == expected


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_backslash_keeps_the_next_letter_between_quotes_too(quote: str) -> None:
    line = rf"-J {quote}a\{quote}b\c\\d{quote} \ "
    assert split_words(line) == ["-J", rf"a{quote}bc\d", " "]


def test_a_backslash_at_the_end_is_nothing() -> None:
    assert split_words("-p gpu \\") == ["-p", "gpu"]


def test_a_comment_ends_the_line_within_a_word_too() -> None:
    assert split_words('-J "my job" --mem=4G#B -n 2') == ["-J", "my job", "--mem=4G"]
    assert split_words("-J a # the rest") == ["-J", "a"]


def test_a_sign_that_is_quoted_or_kept_ends_nothing() -> None:
    assert split_words(r"-o '#1' nvcr.io\#cuda " + '"a#b"') == ["-o", "#1", "nvcr.io#cuda", "a#b"]
