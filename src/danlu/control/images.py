"""What the control loop knows of images: who may use them, and where they could not be pulled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from danlu.access.principal import Principal
from danlu.spec.text import Text

MayUse = Callable[[Principal, str], Awaitable[Text | None]]
"""Why a person may not use an image; None: they may."""


@dataclass(frozen=True, slots=True)
class ImageTrouble:
    """Why a node could not pull an image, and when."""

    text: Text
    at: float


ImageTroubles = dict[tuple[str, str], ImageTrouble]
