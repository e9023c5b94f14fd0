"""Foreign job languages: one module each, all producing native jobs and notes.

`convert` is the entry point. Nothing in a foreign file is dropped silently: each key is honoured,
mapped with a note, or refused with a reason.
"""

from danlu.spec.dialects.convert import convert
from danlu.spec.dialects.draft import Draft, Note
from danlu.spec.dialects.language import Converted, Dialect, NodeSize, Options, Site, SiteVolume
from danlu.spec.dialects.recognise import recognise

__all__ = [
    "Converted",
    "Dialect",
    "Draft",
    "NodeSize",
    "Note",
    "Options",
    "Site",
    "SiteVolume",
    "convert",
    "recognise",
]
