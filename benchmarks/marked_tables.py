"""Tables of pages between marks, so that programs can write them again."""

from __future__ import annotations


def with_table(page: str, name: str, new: str) -> str:
    """A page with another text between the marks of a name."""
    head, start, rest = page.partition(f"<!-- table: {name} -->\n")
    if not start:
        raise SystemExit(f"the page has no mark '<!-- table: {name} -->'")
    return f"{head}{start}{new}\n<!-- end of table -->{rest.partition('<!-- end of table -->')[2]}"
