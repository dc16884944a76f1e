"""The verdict on a result, as plain data: can it be trusted, for what, and what should be improved."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Answer(StrEnum):
    """Whether a model can be trusted, overall or for one purpose; the best answer comes first."""

    YES = "yes"
    """It predicts logs that it was not made from, and nothing speaks against it."""
    FITS = "fits; not validated"
    """It fits its own logs, and nothing speaks against it; no held-out log was predicted yet."""
    CARE = "with care"
    """Something is in doubt."""
    NO = "no"
    """Something is certainly wrong, or it predicts hardly anything."""

    @property
    def rank(self) -> int:
        """0 for the best answer."""
        return list(Answer).index(self)


def worst(*answers: Answer) -> Answer:
    """The worst of some answers."""
    return max(answers, key=lambda answer: answer.rank)


@dataclass(frozen=True)
class Use:
    """Whether a model can be trusted for one purpose.

    Attributes:
        purpose: The purpose.
        answer: Whether it can.
        reason: Why, with figures.
    """

    purpose: str
    answer: Answer
    reason: str


@dataclass(frozen=True)
class Verdict:
    """Whether a model can be trusted, and for what.

    Attributes:
        answer: Whether it can be trusted overall.
        headline: The same in a sentence, with what to do.
        reason: What decided, without what to do: short enough for two lines of a terminal, mostly.
        uses: For what.
        improvements: What should be improved, most important first.
        causes: Codes of the findings that decided, most important first; empty where none did.
    """

    answer: Answer
    headline: str
    reason: str = ""
    uses: tuple[Use, ...] = ()
    improvements: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "answer": self.answer.value,
            "headline": self.headline,
            "reason": self.reason,
            "uses": [{"purpose": u.purpose, "answer": u.answer.value, "reason": u.reason} for u in self.uses],
            "improvements": list(self.improvements),
            "causes": list(self.causes),
        }

    def __str__(self) -> str:
        return f"{self.answer.value}: {self.reason}"
