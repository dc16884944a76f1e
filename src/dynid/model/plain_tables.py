"""Tables for `str()` and for notebooks, from plain text."""

import html
from collections.abc import Iterable, Sequence


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A table in columns of one width.

    Args:
        header: Titles of the columns.
        rows: Cells; those that are no text are written with `str`.
        right: Indices of the columns that are aligned to the right.

    >>> print(text_table(("name", "value"), [("m1", "3.7"), ("mx1", "0.25")], right=[1]))
    name  value
    m1      3.7
    mx1    0.25
    """
    lines = [[str(cell) for cell in line] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.rjust if k in right else str.ljust for k in range(len(header))]
    return "\n".join(
        "  ".join(align(cell, width) for align, cell, width in zip(aligned, line, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for notebooks, without a caption where that is empty; all texts are escaped.

    >>> html_table("1 < 2", ["name"], [["m1"]])
    '<table><caption>1 &lt; 2</caption><tr><th>name</th></tr><tr><td>m1</td></tr></table>'
    """
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in header)]
    lines += ["".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows]
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
