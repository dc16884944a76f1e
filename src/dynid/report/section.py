"""A report is sections: each with a title, a template and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report.

    Attributes:
        key: Its name in links.
        title: Its title.
        template: The template that shows it.
        data: What the template needs.
    """

    key: str
    title: str
    template: str
    data: Mapping[str, Any]
