"""Two results side by side: which parameters differ by more than their uncertainty, and how errors changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynid.report.parameter_figures import error_figure, parameter_rows
from dynid.report.section import Section
from dynid.report.subject import Subject


@dataclass(frozen=True)
class Difference:
    """How one base parameter differs between two results.

    Attributes:
        name: The parameter.
        expression: What it stands for.
        unit: Its unit.
        first: Value in the first result.
        second: Value in the second.
        change: The difference relative to the first value; None where that is hardly more than its deviation.
        stds: The difference in standard deviations of the difference.
        significant: Whether it is more than chance, with all parameters looked at.
    """

    name: str
    expression: str
    unit: str
    first: float
    second: float
    change: float | None
    stds: float
    significant: bool


def differences(rows: Sequence[Mapping[str, Any]], confidence: float) -> list[Difference]:
    """Differences of the parameters that both results have, largest in deviations first.

    With n parameters looked at, each is tested at `(1 - confidence) / n` (Bonferroni), so that a difference by chance
    among all of them is as rare as the confidence says.
    """
    from scipy.stats import norm

    both = [row for row in rows if all(estimate is not None for estimate in row["estimates"])]
    both = [row for row in both if len({estimate["expression"] for estimate in row["estimates"]}) == 1]
    limit = float(norm.ppf(1.0 - (1.0 - confidence) / max(2 * len(both), 1)))
    found = []
    for row in both:
        first, second = row["estimates"]
        spread = math.hypot(first["std"], second["std"])
        gap = second["value"] - first["value"]
        stds = gap / spread if spread else math.copysign(math.inf, gap) if gap else 0.0
        found.append(
            Difference(
                row["name"],
                row["expression"],
                row["unit"],
                first["value"],
                second["value"],
                gap / abs(first["value"]) if abs(first["value"]) > 3.0 * first["std"] else None,
                stds,
                abs(stds) > limit,
            )
        )
    return sorted(found, key=lambda difference: -abs(difference.stds))


def compared(subjects: Sequence[Subject]) -> Iterator[Section]:
    """The section that comes first when two results are compared."""
    rows = parameter_rows(subjects)
    found = differences(rows, subjects[0].result.data["confidence"])
    errors = {
        subject.name: [joint["relative_error"] for joint in subject.result.data["joints"]] for subject in subjects
    }
    joints = [joint["name"] for joint in subjects[0].result.data["joints"]]
    data = {
        "subjects": subjects,
        "differences": found,
        "only": [row["name"] for row in rows if row["name"] not in {difference.name for difference in found}],
        "confidence": subjects[0].result.data["confidence"],
        "figure": error_figure("compared-errors", joints, errors),
    }
    yield Section("comparison", "Comparison", "comparison.html", data)
