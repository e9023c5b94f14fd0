"""Environment variables of other platforms, derived from a gang's placement.

One file per platform. A job gets the variables of the platform it was written for (see the table
in docs/variables.md); variables set by the job itself take precedence.
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
    """The function that builds one task's variables; None for Danlu's own jobs."""
    return _LANGUAGES.get(language)
