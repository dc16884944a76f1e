"""Choices about the processing of a log, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A choice and its reason.

    Attributes:
        key: What was chosen, as the experiment file calls it.
        text: What was chosen and why, in a sentence.
    """

    key: str
    text: str
