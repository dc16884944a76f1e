"""What users should know about their logs and estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.estimate import Estimate
from dynid.estimation.robust import RobustFit
from dynid.findings import Finding, Severity, prose
from dynid.model.chunks import Chunk
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import Sign
from dynid.robot.robot import Joint

FEWEST_ROWS = 10
"""Rows for each parameter below which an estimate is not to be trusted."""

LARGEST_STD = 10.0
"""Relative deviation [%] above which a parameter counts as badly known."""

SATURATED = 0.02
"""Share of samples at one and the same extreme torque from which it looks like a limit."""

POOR_FIT = 0.3
"""Relative error of a joint above which its data and the model do not go together."""

DIFFERS = 1.5
"""Ratio of bootstrap deviations to those of white errors from which both are shown."""

CONDITION = 1e4
"""Condition number above which some combinations are hardly excited."""


def findings_on_samples(model: DynamicModel, segments: Sequence[Chunk]) -> tuple[Finding, ...]:
    """Findings on torques that are constant or saturated, and on positions beyond the robot's limits."""
    torque = np.concatenate([segment.torque for segment in segments])
    found: list[Finding] = []
    for row, joint in enumerate(model.row_names):
        found += _of_row(f"joint '{joint}'", torque[:, row])
    positions = np.concatenate([segment.q for segment in segments])
    for joint in model.robot.independent_joints:
        found += _beyond_limits(joint, positions[:, joint.q])
    return tuple(found)


def findings_on_rest(model: DynamicModel, logs: Sequence[Sequence[Chunk]]) -> tuple[Finding, ...]:
    """Findings on joints that move in none of the logs."""
    segments = [segment for log in logs for segment in log]
    if not segments:
        return ()
    velocity = np.concatenate([segment.v[:, model.rows] for segment in segments])
    still = [joint for joint, moved in zip(model.row_names, np.ptp(velocity, axis=0) > 0.0, strict=True) if not moved]
    text = "it never moves: lock it, or move it"
    return tuple(prose(Severity.WARNING, f"joint '{joint}'", text) for joint in still)


def _beyond_limits(joint: Joint, positions: Array) -> Iterator[Finding]:
    """Positions that the joint cannot reach: most often another unit, offset, sign or order of columns."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if joint.kind.nq != 1 or not lower < upper:
        return
    share = float(np.mean((positions < lower - 0.01) | (positions > upper + 0.01)))
    if share > 0.0:
        text = (
            f"{share:.0%} of its positions, from {positions.min():.4g} to {positions.max():.4g}, are beyond its limits "
            f"{lower:.4g} to {upper:.4g}; check the unit, the offset and the order of columns"
        )
        yield prose(Severity.WARNING, f"joint '{joint.name}'", text)


def _of_row(subject: str, torque: Array) -> Iterator[Finding]:
    if np.ptp(torque) == 0.0:
        text = f"its torque is {torque[0]:g} in all {len(torque)} samples: a dead sensor, or a wrong column; check both"
        yield prose(Severity.ERROR, subject, text)
        return
    for extreme in (torque.max(), torque.min()):
        share = float(np.mean(torque == extreme))
        if share >= SATURATED:
            text = f"{share:.0%} of its torques are exactly {extreme:.4g}: saturated? Move more slowly, or cut these"
            yield prose(Severity.WARNING, subject, text)


def findings_on_estimate(
    estimate: Estimate, model: DynamicModel, advice: str = "use one that moves more joints at once, faster and further"
) -> tuple[Finding, ...]:
    """Findings on an estimate: too few rows, badly known parameters, poor excitation, negative friction or inertia.

    Args:
        estimate: The estimate.
        model: The model.
        advice: Which motion to make where this one hardly tells some parameters apart.
    """
    found: list[Finding] = []
    n = len(estimate.names)
    rows = estimate.freedom + n
    if rows < FEWEST_ROWS * n:
        text = f"{rows} rows for {n} parameters are fewer than {FEWEST_ROWS} each; record more, or thin out less"
        found.append(prose(Severity.WARNING, "data", text))
    if estimate.condition_number > CONDITION:
        text = (
            f"the condition number is {estimate.condition_number:.3g}: this motion hardly tells {_weakest(estimate)} "
            f"apart; {advice}"
        )
        found.append(prose(Severity.WARNING, "excitation", text))
    bad = [k for k, percent in enumerate(estimate.relative_stds) if percent > LARGEST_STD]
    if bad:
        worst = sorted(bad, key=lambda k: -estimate.relative_stds[k])
        names = ", ".join(f"{estimate.names[k]} ({estimate.relative_stds[k]:.0f} %)" for k in worst[:8])
        more = f" and {len(bad) - 8} more" if len(bad) > 8 else ""
        text = f"{len(bad)} of {n} have a relative deviation over {LARGEST_STD:g} %: {names}{more}"
        found.append(prose(Severity.NOTE, "parameters", text + "; do not rely on their single values"))
    poor = {joint: fit.relative_error for joint, fit in estimate.joints.items() if fit.relative_error > POOR_FIT}
    if poor:
        listed = ", ".join(f"'{joint}' ({error:.0%})" for joint, error in poor.items())
        text = (
            f"the model leaves much of the torque of {listed}; check columns, units, gear ratios and signs, add terms"
        )
        found.append(prose(Severity.WARNING, "fit", text))
    found += _impossible_values(estimate, model)
    return tuple(found)


def findings_on_bootstrap(estimate: Estimate, bootstrap: Bootstrap | None) -> tuple[Finding, ...]:
    """A finding where deviations that assume white errors differ much from those of a bootstrap.

    Errors of real logs always last, so this is a note; a warning where most parameters that look well known are not.
    """
    if bootstrap is None:
        return ()
    ratio = bootstrap.stds / np.where(estimate.stds > 0.0, estimate.stds, np.inf)
    typical = float(np.median(ratio))
    if 1.0 / DIFFERS < typical < DIFFERS:
        return ()
    worst = np.argsort(-ratio)[:5]
    listed = ", ".join(f"{estimate.names[k]} ({ratio[k]:.1f})" for k in worst)
    limit = 0.01 * LARGEST_STD * np.abs(estimate.values)
    white, honest = int(np.sum(estimate.stds <= limit)), int(np.sum(bootstrap.stds <= limit))
    if typical < 1.0:
        text = f"those by blocks of time are {typical:.1f} times those that assume independent errors (median)"
    else:
        text = (
            f"errors last {1e3 * bootstrap.correlation_time:.3g} ms, so that samples tell less than their number "
            f"suggests: honest deviations, from {bootstrap.blocks} blocks of {bootstrap.seconds:.2g} s drawn anew, are "
            f"{typical:.1f} times those that assume independent errors (median), most for {listed}. By them {honest} "
            f"parameters are known to {LARGEST_STD:g} %, not {white}: read 'by blocks' ('bootstrap_std')"
        )
    severity = Severity.WARNING if honest < 0.5 * white else Severity.NOTE
    return (prose(severity, "deviations", text),)


def findings_on_robust(fit: RobustFit) -> tuple[Finding, ...]:
    """How many rows a robust estimate hardly counts."""
    listed = ", ".join(f"'{joint}' {share:.1%}" for joint, share in fit.light.items())
    text = f"rows that count less than half because of their errors: {listed}"
    return (prose(Severity.NOTE, "estimation.robust", text),)


def _weakest(estimate: Estimate) -> str:
    """Names of the parameters in the combination that is known least, as correlations tell."""
    stds = np.where(estimate.stds > 0.0, estimate.stds, 1.0)
    _, directions = np.linalg.eigh(estimate.covariance / np.outer(stds, stds))
    share = np.abs(directions[:, -1])
    order = np.argsort(-share)
    return ", ".join(estimate.names[k] for k in order[:6] if share[k] > 0.2 * share[order[0]])


def _impossible_values(estimate: Estimate, model: DynamicModel) -> Iterator[Finding]:
    """Friction and motor inertia that are surely negative.

    Where all of a joint's are, or it is fitted badly, its torque or its velocity has the wrong sign; where others are
    surely positive, terms stand in for each other.
    """
    negative: dict[str, list[str]] = {}
    positive: dict[str, list[str]] = {}
    signed = {p.name: p.joint or p.owner for p in model.parameters if p.link is None and p.sign is Sign.NONNEGATIVE}
    for name, value, std in zip(estimate.names, estimate.values, estimate.stds, strict=True):
        if name in signed and abs(value) > 3.0 * std:
            (negative if value < 0.0 else positive).setdefault(signed[name], []).append(f"{name} = {value:.3g}")
    for joint, values in negative.items():
        impossible = f"{' and '.join(values)} cannot be negative"
        fit = estimate.joints.get(joint)
        if joint in positive and (fit is None or fit.relative_error < POOR_FIT):
            text = (
                f"{impossible}, while {' and '.join(positive[joint])}: these terms stand in for each other, or for "
                "something that the model lacks; leave one out, or record more speeds"
            )
            yield prose(Severity.WARNING, f"joint '{joint}'", text)
        else:
            text = f"{impossible}: is the sign of its torque flipped? Check drive.signs"
            yield prose(Severity.ERROR, f"joint '{joint}'", text)
