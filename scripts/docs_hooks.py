"""What mkdocs does to pages while it builds: the experiment file's reference comes from its types."""

from __future__ import annotations

from typing import Any

MARK = "<!-- reference of the experiment file -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference where a page asks for it."""
    if MARK not in markdown:
        return markdown
    from dynid.experiment.reference import reference_markdown

    return markdown.replace(MARK, reference_markdown())
