"""Rows by format string: `%.18i %.9P` (squeue, sinfo), or names with widths `JobID%20` (sacct)."""

from __future__ import annotations

from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Piece:
    def __init__(self, text: str, letter: str = "", width: int = 0, right: bool = False) -> None:
        self.text = text  # text between fields
        self.letter = letter
        self.width = width
        self.right = right


def parse(pattern: str) -> list[Piece]:
    """Without `re`: importing it costs more than everything else here."""
    pieces: list[Piece] = []
    text = ""
    at = 0
    while at < len(pattern):
        found = _field(pattern, at + 1) if pattern[at] == "%" else None
        if found is None:
            text += pattern[at]
            at += 1
            continue
        if text:
            pieces.append(Piece(text))
            text = ""
        piece, at = found
        pieces.append(piece)
    if text:
        pieces.append(Piece(text))
    return pieces


def _field(pattern: str, at: int) -> tuple[Piece, int] | None:
    """`.18i` after a percent sign: right-aligned, 18 wide, field i."""
    right = pattern[at : at + 1] == "."
    at += right
    begin = at
    while pattern[at : at + 1].isdigit():
        at += 1
    letter = pattern[at : at + 1]
    if not (letter.isascii() and letter.isalpha()):
        return None
    return Piece("", letter, int(pattern[begin:at] or 0), right), at + 1


def line(pieces: list[Piece], value: Callable[[str], str]) -> str:
    return "".join(
        piece.text or fit(value(piece.letter), piece.width, piece.right) for piece in pieces
    )


def fit(text: str, width: int, right: bool) -> str:
    """Slurm truncates values that are longer than their field."""
    if not width:
        return text
    return text[:width].rjust(width) if right else text[:width].ljust(width)


def header(pieces: list[Piece], names: Mapping[str, str]) -> str:
    for piece in pieces:
        if piece.letter and piece.letter not in names:
            raise Trouble(
                f"Invalid job format specification: {piece.letter}", f"没有字段 %{piece.letter}"
            )
    return line(pieces, lambda letter: names[letter])
