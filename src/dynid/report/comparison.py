"""Two results side by side: which parameters differ by more than their uncertainty, and how errors changed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynid.report.figure import Section
from dynid.report.parameter_figures import ParameterRow, error_figure, parameter_rows
from dynid.report.subject import Subject


@dataclass(frozen=True)
class Difference:
    """How one base parameter differs between two results.

    Attributes:
        name: The parameter.
        expression: The linear combination of standard parameters that it is.
        unit: Its unit.
        first: Value in the first result.
        second: Value in the second.
        change: The difference relative to the first value; None where that is within three standard deviations of zero.
        stds: The difference in standard deviations of the difference.
        significant: Whether it is significant, with all parameters compared.
    """

    name: str
    expression: str
    unit: str
    first: float
    second: float
    change: float | None
    stds: float
    significant: bool


def differences(rows: Sequence[ParameterRow], confidence: float) -> list[Difference]:
    """Differences of the parameters that both results have, largest in standard deviations first.

    With n parameters compared, each is tested at `(1 - confidence) / n` (Bonferroni), so that the chance of any false
    alarm is at most `1 - confidence`.
    """
    from scipy.stats import norm

    pairs = [(row, *row.estimates) for row in rows]
    both = [(row, a, b) for row, a, b in pairs if a and b and a.expression == b.expression]
    limit = float(norm.ppf(1.0 - (1.0 - confidence) / max(2 * len(both), 1)))
    found = []
    for row, first, second in both:
        spread, gap = math.hypot(first.std, second.std), second.value - first.value
        stds = gap / spread if spread else math.copysign(math.inf, gap) if gap else 0.0
        found.append(
            Difference(
                name=row.name,
                expression=row.expression,
                unit=row.unit,
                first=first.value,
                second=second.value,
                change=gap / abs(first.value) if abs(first.value) > 3.0 * first.std else None,
                stds=stds,
                significant=abs(stds) > limit,
            )
        )
    return sorted(found, key=lambda difference: -abs(difference.stds))


def compared(subjects: Sequence[Subject]) -> Iterator[Section]:
    """The section that comes first when two results are compared."""
    rows = parameter_rows(subjects)
    confidence = subjects[0].result.record.confidence
    found = differences(rows, confidence)
    records = {subject.name: subject.result.record for subject in subjects}
    commanded = all(record.commands is not None for record in records.values())
    rows_of = [[joint.rows for joint in record.joints] for record in records.values()]
    shown = [k for k, counts in enumerate(zip(*rows_of, strict=True)) if any(counts) or commanded]
    errors = {
        name: [
            (record.commands.rollout if record.commands and commanded else record).joints[k].relative_error
            for k in shown
        ]
        for name, record in records.items()
    }
    joints = [subjects[0].result.record.joints[k].name for k in shown]
    data = {
        "subjects": subjects,
        "differences": found,
        "only": [row.name for row in rows if row.name not in {difference.name for difference in found}],
        "confidence": confidence,
        "commanded": commanded,
        "figure": error_figure("compared-errors", joints, errors),
    }
    yield Section("comparison", "Comparison", "comparison.html", data)
