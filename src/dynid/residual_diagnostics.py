"""What the residual of each joint follows: the clues to what a model lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.data.automatic import Prepared
from dynid.data.decimation import kept_around
from dynid.data.residuals import residuals
from dynid.data.signals import decimated
from dynid.estimation.bootstrap import autocorrelation, correlation_samples
from dynid.findings import Finding, Severity
from dynid.model.dynamic_model import DynamicModel

BINS = 24
"""Bins that positions, velocities, times and temperatures are sorted into."""

SHARE = 0.15
"""Share of the residual's variance from which it is said to follow something."""

LASTING = 3.0
"""Samples that residuals last from which they are said not to be white."""

PIECE = 10_000
"""Samples that are looked at at once, so that memory does not grow with the log."""

ADVICE: Mapping[str, str] = {
    "velocity sign": "friction differs by direction: add the term asymmetric_coulomb",
    "velocity": "friction is not viscous and Coulomb alone: raise velocity_threshold, or look for a Stribeck effect",
    "position": "something depends on the position alone: a spring, a cable, gear ripple, or wrong kinematics",
    "time": "something drifts: friction of a robot that warms up, or an offset; let it run warm, or use shorter logs",
    "temperature": "friction changes with temperature: record at one temperature, or identify each by itself",
}


@dataclass(frozen=True, eq=False)
class Following:
    """How a residual follows a quantity.

    Attributes:
        what: The quantity.
        share: Share of the residual's variance that the means of bins explain, less what chance would.
        centres: Means of the quantity in each bin, shape (bins,).
        means: Means of the residual in each bin [N m or N], shape (bins,).
    """

    what: str
    share: float
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
                    "centres": one.centres.tolist(),
                    "means": one.means.tolist(),
                }
                for one in self.follows
            ],
        }


def diagnose(
    model: DynamicModel, log: Prepared, parameters: Array, temperature: tuple[Array, Array] | None = None
) -> tuple[JointDiagnostics, ...]:
    """Look at what a model leaves of a log's torques.

    Args:
        model: The model.
        log: The log.
        parameters: Standard parameters, shape (parameters,).
        temperature: Stamps [s] and temperatures, where they were logged.
    """
    parts = list(_thinned(model, log, parameters))
    left, v, q, time = (np.concatenate([part[0][k] for part in parts]) for k in range(4))
    counts = np.concatenate([keep for _, keep in parts])
    thresholds = log.processing.velocity_threshold or (0.0,) * v.shape[1]
    period = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    found = []
    for row, joint in enumerate(model.row_names):
        fast = counts[:, row] & (np.abs(v[:, row]) >= thresholds[row])
        e = left[fast, row]
        if joint in log.processing.unmeasured or len(e) < 10 * BINS or not np.any(e):
            continue
        quantities = {
            "velocity sign": np.sign(v[fast, row]),
            "velocity": v[fast, row],
            "position": q[fast, row],
            "time": time[fast] - time[0],
        }
        if temperature is not None:
            quantities["temperature"] = np.interp(time[fast], *temperature)
        lasting = correlation_samples(e)
        follows = tuple(_following(what, x, e, lasting) for what, x in quantities.items() if np.ptp(x) > 0.0)
        found.append(JointDiagnostics(joint, period, autocorrelation(e, 100), lasting, follows))
    return tuple(found)


def _thinned(
    model: DynamicModel, log: Prepared, parameters: Array
) -> Iterator[tuple[tuple[Array, Array, Array, Array], NDArray[np.bool_]]]:
    """Residuals, velocities, positions and times of each segment, decimated as rows are; and which rows count."""
    factors = log.processing.decimate
    step = int(np.prod(factors or (1,)))
    of_joints = [joint.q.start for joint in model.robot.independent_joints]
    for chunk, time in zip(log.segments, log.times, strict=True):
        pieces = [chunk[first : first + PIECE] for first in range(0, len(chunk), PIECE)]
        left = np.concatenate([errors for _, errors in residuals(model, pieces, parameters)])
        v = chunk.v[:, model.rows]
        if factors:
            left, v = decimated(left, factors), decimated(v, factors)
        count = len(left)
        keep = np.ones(left.shape, dtype=bool) if chunk.keep is None else kept_around(chunk.keep, step)[:count]
        yield (left, v, chunk.q[::step][:count, of_joints], time[::step][:count]), keep


def _following(what: str, x: Array, errors: Array, lasting: float) -> Following:
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)[1:-1])) if what != "velocity sign" else [0.0]
    place = np.searchsorted(edges, x)
    counts = np.bincount(place, minlength=len(edges) + 1)
    used = counts > 0
    means = np.bincount(place, errors, len(counts))[used] / counts[used]
    centres = np.bincount(place, x, len(counts))[used] / counts[used]
    total = float(np.var(errors))
    between = float(np.sum(counts[used] * (means - errors.mean()) ** 2) / len(errors))
    chance = (len(means) - 1) * min(lasting, len(errors) / len(means)) / len(errors)
    share = (between / total - chance) / (1.0 - chance) if chance < 1.0 else 0.0
    return Following(what, float(max(0.0, share)), centres, means)


def findings_on_residuals(diagnostics: Sequence[JointDiagnostics]) -> tuple[Finding, ...]:
    """Findings on residuals that are not white, and on what they follow."""
    found: list[Finding] = []
    lasting = [one for one in diagnostics if one.lasting > LASTING]
    if lasting:
        listed = ", ".join(f"'{one.joint}' ({1e3 * one.lasting * one.period:.3g} ms)" for one in lasting)
        text = f"they are not white: those of {listed} last; deviations that assume white errors are too small"
        found.append(Finding(Severity.NOTE, "residuals", text))
    for one in diagnostics:
        best = max(one.follows, key=lambda follow: follow.share, default=None)
        if best is not None and best.share >= SHARE:
            text = f"its residual follows {best.what} ({best.share:.0%} of its variance): {ADVICE[best.what]}"
            found.append(Finding(Severity.NOTE, f"joint '{one.joint}'", text))
    return tuple(found)
