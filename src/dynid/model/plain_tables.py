"""Tables for `str()` and for notebooks, from plain text."""

from __future__ import annotations

import html
from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table in columns of one width.

    Args:
        header: Titles of the columns.
        rows: Cells.
        right: Indices of the columns that are aligned to the right.

    >>> print(text_table(("name", "value"), [("m1", "3.7"), ("mx1", "0.25")], right=[1]))
    name  value
    m1      3.7
    mx1    0.25
    """
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    cells = [
        [
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for notebooks; all texts are escaped.

    >>> html_table("1 < 2", ["name"], [["m1"]])
    '<table><caption>1 &lt; 2</caption><tr><th>name</th></tr><tr><td>m1</td></tr></table>'
    """
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in header)]
    lines += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{html.escape(caption)}</caption>{body}</table>"
