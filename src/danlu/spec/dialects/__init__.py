"""Foreign job languages: one file for each, all ending in native jobs and notes.

`convert` is the way in. Nothing of a foreign file is dropped in silence: each key is honoured, or
mapped with a note, or refused with the reason.
"""

from danlu.spec.dialects.convert import convert
from danlu.spec.dialects.draft import Draft, Note
from danlu.spec.dialects.language import Converted, Dialect, Options, Site, SiteVolume
from danlu.spec.dialects.recognise import recognise

__all__ = [
    "Converted",
    "Dialect",
    "Draft",
    "Note",
    "Options",
    "Site",
    "SiteVolume",
    "convert",
    "recognise",
]
