"""Variables of other platforms' languages, from where the tasks of a gang were placed.

One file for each language. A job gets the words and meanings of the language it was written in
(docs/variables.md has the table); a variable that the job sets itself wins over these.
"""

from collections.abc import Callable

from danlu.engines.variables import determined, dlc, openpai, slurm
from danlu.engines.variables.gang import Gang
from danlu.spec.job import Variables

Speak = Callable[[Gang, int], dict[str, str]]

_LANGUAGES: dict[Variables, Speak] = {
    Variables.OPENPAI: openpai.variables,
    Variables.DLC: dlc.variables,
    Variables.DETERMINED: determined.variables,
    Variables.SLURM: slurm.variables,
}


def speaker(language: Variables) -> Speak | None:
    """What makes the variables of one task; None for Danlu's own language."""
    return _LANGUAGES.get(language)
