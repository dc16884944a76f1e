"""What is odd about episodes of learning data sets: actions that are no positions, normalised positions, no names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first import guesses
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.naming import ACTIONS
from dynid.findings import Finding
from dynid.logs import data_set_of


def findings_on_actions(
    found: Sequence[Candidate],
    position: Candidate,
    aligned: Callable[[Candidate], Candidate | None],
    values: Callable[[Candidate], Array],
) -> Iterator[Finding]:
    """Why actions do not stand in for torques: positions do not follow them, but change with them.

    Args:
        found: All groups of columns.
        position: The measured positions, in the joints' order.
        aligned: The columns of a group that belong to the joints of the log; None where they do not fit.
        values: Numbers of a group, shape (samples, columns).
    """
    actions = [one for one in found if one.role == "position" and one.words & ACTIONS]
    own = next((one for each in actions if (one := aligned(each)) is not None), None)
    if own is None or len(values(own)) < 3:
        return
    q, action = values(position), values(own)
    steps = _correlation(action[:-1], np.diff(q, axis=0))
    if steps > guesses.THRESHOLDS.follows:
        yield Finding.of("actions-are-deltas", "position_command", columns=own.shown, correlation=steps)
    else:
        yield Finding.of("actions-not-followed", "position_command", columns=own.shown)


def _correlation(one: Array, other: Array) -> float:
    """The correlation of columns, as the median over those that change."""
    if one.shape != other.shape:
        return 0.0
    known = np.isfinite(one).all(axis=1) & np.isfinite(other).all(axis=1)
    one, other = one[known], other[known]
    changing = np.flatnonzero((np.ptp(one, axis=0) > 0.0) & (np.ptp(other, axis=0) > 0.0)) if known.any() else ()
    return float(np.median([np.corrcoef(one[:, k], other[:, k])[0, 1] for k in changing])) if len(changing) else 0.0


def findings_on_positions(place: Candidate, unit: object, q: Array) -> Iterator[Finding]:
    """Doubts about the joints and the unit of positions of a data set.

    Args:
        place: The columns of positions.
        unit: Their unit, as guessed.
        q: Positions as logged, shape (samples, joints).
    """
    data_set = data_set_of(place.file)
    names = [str(column) for column in place.stated]
    if data_set is not None and names and all(name.endswith("]") for name in names):
        yield Finding.of("joints-unnamed", "positions", columns=names)
    largest = float(np.nanmax(np.abs(q)))
    touches = abs(largest - 100.0) < guesses.THRESHOLDS.full_scale
    if unit == "deg" and (touches or (data_set is not None and largest < 100.0)):
        yield Finding.of("positions-normalised", "positions", largest=largest)
