"""What the residual of each joint follows: the clues to what a model lacks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.correlation import autocorrelation, correlation_samples
from dynid.estimation.error_stretches import error_stretches
from dynid.estimation.least_squares import Estimate
from dynid.estimation.quantiles import chi_square_quantile
from dynid.findings import Finding, has
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, DynamicModel

BINS = 24
"""Bins that positions and velocities are sorted into."""

SLOW_BINS = 6
"""Bins of times and temperatures: these change slowly, and so do errors that last."""


@dataclass(frozen=True)
class ResidualThresholds:
    """When a residual is said to follow something.

    Shown on 80 simulated joints for each cause, and with white and lasting noise (table in `docs/processing.md`,
    `tests/estimation/test_residuals.py`).
    """

    false_alarm: float = 0.001
    """Probability of a false alarm for each quantity of each joint: with six joints and seven quantities, one log in
    25."""

    followed_share: float = 0.15
    """Share of the residual's variance from which it is said to follow something: less is not worth another term."""

    lasting_samples: float = 3.0
    """Samples that residuals last from which they are said not to be white; white ones last one."""


RESIDUAL_THRESHOLDS = ResidualThresholds()


@dataclass(frozen=True, eq=False)
class Following:
    """How a residual follows a quantity.

    Attributes:
        what: The quantity.
        share: Share of the residual's variance that the means of bins explain, less what chance would.
        is_clear: Whether that is more than chance would make it.
        centres: Means of the quantity in each bin, shape (bins,).
        means: Means of the residual in each bin [N m or N], shape (bins,); for friction, of the residual times the sign
            of velocity.
    """

    what: str
    share: float
    is_clear: bool
    centres: Array
    means: Array


@dataclass(frozen=True, eq=False)
class JointDiagnostics:
    """What the residual of one joint is like; the data for its plots.

    Attributes:
        joint: Name of the row.
        period: Time between samples [s].
        autocorrelation: At lags of 0, 1, ... samples, shape (lags,).
        lasting: For how many samples residuals last; 1 for white ones.
        follows: What they may follow.
    """

    joint: str
    period: float
    autocorrelation: Array
    lasting: float
    follows: tuple[Following, ...]

    @property
    def clearest(self) -> Following | None:
        """What the residual follows most; None where it follows nothing."""
        least = RESIDUAL_THRESHOLDS.followed_share
        clear = [follow for follow in self.follows if follow.is_clear and follow.share >= least]
        return max(clear, key=lambda follow: follow.share, default=None)

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {
            "name": self.joint,
            "period": self.period,
            "autocorrelation": [round(float(value), 4) for value in self.autocorrelation],
            "correlation_samples": self.lasting,
            "follows": [
                {
                    "what": one.what,
                    "share": one.share,
                    "clear": one.is_clear,
                    "centres": one.centres.tolist(),
                    "means": one.means.tolist(),
                }
                for one in self.follows
            ],
        }


def analyse_residuals(
    logs: Sequence[PreparedLog],
    base: BaseParameters,
    estimate: Estimate,
    noticed: Sequence[Finding],
    lost: bool = False,
) -> tuple[tuple[JointDiagnostics, ...], tuple[Finding, ...]]:
    """Analyse the residuals of the longest log.

    Args:
        logs: The logs.
        base: The base parameters.
        estimate: Their estimate.
        noticed: Findings so far.
        lost: Whether the form of rows has lost parameters: then residuals of single joints mean nothing.
    """
    if not logs:
        return (), ()
    longest = max(logs, key=lambda log: sum(map(len, log.segments)))
    diagnostics = residual_diagnostics(base.model, longest, base.to_standard(estimate.values))
    found = findings_on_residuals(diagnostics, has(noticed, "friction-missing"))
    return diagnostics, tuple(one for one in found if not lost or one.code == "residuals-autocorrelated")


def residual_diagnostics(model: DynamicModel, log: PreparedLog, parameters: Array) -> tuple[JointDiagnostics, ...]:
    """What the residual of each joint of a log is like; of a long log, in evenly spread stretches of it.

    Args:
        model: The model.
        log: The log; with its temperature, where that was logged.
        parameters: Standard parameters, shape (parameters,).
    """
    temperature = log.temperature
    left = error_stretches(model, log, parameters)
    period = float(np.median(np.diff(left.time))) if len(left.time) > 1 else 0.0
    axes = {joint.v.start: joint for joint in model.robot.axes}
    found = []
    for row, joint in enumerate(model.row_names):
        e, starts = left.of_row(row)
        if len(e) < 10 * BINS or not np.any(e):
            continue
        counts = left.keep[:, row]
        time = left.time[counts]
        since = time - left.time[0]
        quantities = {"time": (since, e)}
        place = axes.get(model.row_indices[row])
        if place is not None:
            velocity, position = left.v[counts, row], left.q[counts, place.q.start]
            direction = np.sign(velocity)
            quantities = {
                "velocity sign": (direction, e),
                "velocity": (velocity, e),
                "position": (position, e),
                **quantities,
                "friction over time": (since, e * direction),
            }
            if temperature is not None:
                warmth = np.interp(time, *temperature)
                quantities |= {"temperature": (warmth, e), "friction over temperature": (warmth, e * direction)}
        follows = tuple(
            _following(what, x, errors, starts)
            for what, (x, errors) in quantities.items()
            if np.ptp(x) and np.ptp(errors)
        )
        rho, lasting = autocorrelation(e, 100, starts), correlation_samples(e, starts)
        found.append(JointDiagnostics(joint, period, rho, lasting, follows))
    return tuple(found)


def _following(what: str, x: Array, errors: Array, starts: Sequence[int]) -> Following:
    """How errors follow a quantity x, both of shape (samples,), by the means of bins of x; stretches begin at `starts`.

    By chance, errors that last for k samples have means as those of k times fewer white ones. How long they last is
    seen in what the means leave: what follows x is none of it.
    """
    edges = _edges(what, x)
    place = np.searchsorted(edges, x)
    counts = np.bincount(place, minlength=len(edges) + 1)
    used = counts > 0
    all_means = np.bincount(place, errors, len(counts)) / np.maximum(counts, 1)
    means, centres = all_means[used], np.bincount(place, x, len(counts))[used] / counts[used]
    between = float(np.sum(counts[used] * (means - errors.mean()) ** 2) / len(errors) / np.var(errors))
    lasting = correlation_samples(errors - all_means[place], starts)
    freedom = max(len(means) - 1, 1)
    chance = min(freedom * lasting / len(errors), 0.99)
    share = max(0.0, (between - chance) / (1.0 - chance))
    is_clear = between / chance > chi_square_quantile(freedom, RESIDUAL_THRESHOLDS.false_alarm) / freedom
    return Following(what, share, bool(is_clear), centres, means)


def _edges(what: str, x: Array) -> Array:
    """Where bins of a quantity end."""
    if what == "velocity sign":
        return np.zeros(1)
    bins = SLOW_BINS if "time" in what or "temperature" in what else BINS
    return np.unique(np.quantile(x, np.linspace(0.0, 1.0, bins + 1)[1:-1]))


def findings_on_residuals(
    diagnostics: Sequence[JointDiagnostics], friction_is_missing: bool = False
) -> tuple[Finding, ...]:
    """Findings on residuals that are not white, and on what they follow.

    Args:
        diagnostics: What the residuals are like.
        friction_is_missing: Whether that was said: then they follow velocity, and nothing more is said of it.
    """
    found: list[Finding] = []
    last = [one for one in diagnostics if one.lasting > RESIDUAL_THRESHOLDS.lasting_samples]
    lasting = {one.joint: 1e3 * one.lasting * one.period for one in last}
    if lasting:
        found.append(Finding.of("residuals-autocorrelated", "residuals", joints=lasting))
    for one in diagnostics:
        best = one.clearest
        if best is not None and not (friction_is_missing and "velocity" in best.what):
            code = f"residual-follows-{best.what.replace(' ', '-')}"
            found.append(Finding.of(code, f"joint '{one.joint}'", share=best.share))
    return tuple(found)
