"""Text into lines of a width, so that paths are broken at their slashes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

_PIECE = re.compile(r"\s+|[^\s/]*/+|[^\s/]+")
"""What is never broken where it fits on a line: a space, a directory with its slash, a word."""


def wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most `cells` cells, broken at spaces, else at slashes, else anywhere."""
    lines = [""]
    for word in re.findall(r"\s+|\S+", text):
        fits = cell_len(lines[-1]) + cell_len(word) <= cells
        if not fits and cell_len(word) <= cells:
            lines.append("" if word.isspace() else word)
            continue
        for piece in [word] if fits else _pieces(word, cells):
            if cell_len(lines[-1]) + cell_len(piece) > cells:
                lines.append("")
            lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(word: str, cells: int) -> Iterator[str]:
    for piece in _PIECE.findall(word):
        yield from chop_cells(piece, max(1, cells)) if cell_len(piece) > cells else [piece]
