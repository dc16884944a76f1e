"""What users should know about an estimate."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.factors.row_forms import RowForm
from dynid.estimation.least_squares import Estimate, JointFit
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit, speeds, threshold_of
from dynid.estimation.robust import RobustFit
from dynid.findings import Finding, Severity
from dynid.logs import PreparedLog
from dynid.model import DynamicModel, NonlinearParameter, Observed, Role, Sign, of_joint
from dynid.robot import Joint


@dataclass(frozen=True)
class EstimateThresholds:
    """What is said of an estimate."""

    fewest_rows: int = 10
    """Rows for each parameter below which an estimate is not to be trusted: errors last, so that ten rows are fewer
    independent ones. By judgement; not calibrated."""

    largest_std: float = 10.0
    """Relative standard deviation [%] above which a parameter counts as poorly determined: the usual rule of the field.
    By judgement; the 24 parameters of the TX40 that fall below it agree with published values
    (`tests/logs/test_automatic.py`)."""

    poor_fit: float = 0.3
    """Relative error of a joint above which its data and the model do not agree. By judgement, above the joints of most
    logs in `docs/accuracy.md`; wrists whose torque is nearly all friction exceed it."""

    bootstrap_ratio: float = 1.5
    """Ratio of bootstrap standard deviations to those of white errors from which both are shown: eight to thirty blocks
    make the ratio itself uncertain by a fifth. By judgement; not calibrated."""

    lost_by_bootstrap: float = 0.5
    """Share of the parameters that look well determined for white errors below which those that are so by bootstrap
    make it a warning. By judgement; not calibrated."""

    largest_condition: float = 1e4
    """Condition number of the weighted observation matrix above which some combinations are hardly excited: errors of
    torques weigh ten thousand times as much in the worst as in the best. By judgement; the poorly excited log of
    `docs/verdict.md` has 1e7, the other nine stay below."""

    clearly_negative: float = 3.0
    """Standard deviations from which a value that cannot be negative clearly is: one in 700 by chance, for white
    errors. By judgement; tested in `tests/estimation/test_estimate_findings.py`."""

    slight_torque: float = 0.01
    """Share of a joint's torque that such a value must make up to be worth a word: a joint without friction has one of
    either sign. By judgement; tested in `tests/estimation/test_estimate_findings.py`."""

    large_torque: float = 0.03
    """Share from which it is an error. By judgement; in `benchmarks/verdict_sweep.py` friction of flipped torques makes
    up more, and negative values of imperfect models less."""


ESTIMATE_THRESHOLDS = EstimateThresholds()


def findings_on_estimate(estimate: Estimate, model: DynamicModel, form: RowForm) -> tuple[Finding, ...]:
    """Findings on an estimate: too few rows, poorly determined parameters, poor excitation, impossible values.

    Args:
        estimate: The estimate.
        model: The model.
        form: The rows that it was estimated from.
    """
    found: list[Finding] = []
    n = len(estimate.names)
    rows = estimate.freedom + n
    if rows < ESTIMATE_THRESHOLDS.fewest_rows * n:
        fewest = ESTIMATE_THRESHOLDS.fewest_rows
        found.append(Finding.of("rows-too-few", "data", rows=rows, parameters=n, fewest=fewest))
    if estimate.condition_number > ESTIMATE_THRESHOLDS.largest_condition:
        code = "excitation-poor-of-all-joints" if form.name in ("power", "energy") else "excitation-poor"
        weakest = _weakest(estimate)
        found.append(Finding.of(code, "excitation", condition_number=estimate.condition_number, parameters=weakest))
    bad = [k for k, percent in enumerate(estimate.relative_stds) if percent > ESTIMATE_THRESHOLDS.largest_std]
    if bad:
        worst = {estimate.names[k]: estimate.relative_stds[k] / 100 for k in _most(bad, estimate)}
        values = {"count": len(bad), "total": n, "limit": ESTIMATE_THRESHOLDS.largest_std, "parameters": worst}
        found.append(Finding.of("parameters-poorly-determined", "parameters", **values))
    errors = {joint: fit.relative_error for joint, fit in estimate.joints.items()}
    poor = {joint: error for joint, error in errors.items() if error > ESTIMATE_THRESHOLDS.poor_fit}
    if poor:
        found.append(Finding.of("fit-poor", "fit", joints=poor))
    return (*found, *_impossible_values(estimate, model))


def _most(indices: list[int], estimate: Estimate) -> list[int]:
    """Indices of parameters, the least determined first."""
    return sorted(indices, key=lambda k: -estimate.relative_stds[k])


def findings_on_bootstrap(estimate: Estimate, bootstrap: Bootstrap | None) -> tuple[Finding, ...]:
    """A finding where standard deviations that assume white errors differ much from those of a block bootstrap.

    Residuals of real logs are always autocorrelated, so this is a note; a warning where most parameters that look well
    determined are not.
    """
    if bootstrap is None:
        return ()
    ratio = bootstrap.stds / np.where(estimate.stds > 0.0, estimate.stds, np.inf)
    typical = float(np.median(ratio))
    if 1.0 / ESTIMATE_THRESHOLDS.bootstrap_ratio < typical < ESTIMATE_THRESHOLDS.bootstrap_ratio:
        return ()
    limit = 0.01 * ESTIMATE_THRESHOLDS.largest_std * np.abs(estimate.values)
    white, honest = int(np.sum(estimate.stds <= limit)), int(np.sum(bootstrap.stds <= limit))
    severity = Severity.WARNING if honest < ESTIMATE_THRESHOLDS.lost_by_bootstrap * white else Severity.NOTE
    if typical < 1.0:
        return (Finding.of("std-smaller-by-bootstrap", "standard deviations", severity, ratio=typical),)
    return (
        Finding.of(
            "std-larger-by-bootstrap",
            "standard deviations",
            severity,
            correlation_time=1e3 * bootstrap.correlation_time,
            blocks=bootstrap.blocks,
            seconds=bootstrap.seconds,
            ratio=typical,
            parameters={estimate.names[k]: ratio[k] for k in np.argsort(-ratio)[:5]},
            limit=ESTIMATE_THRESHOLDS.largest_std,
            well_determined=honest,
            well_determined_if_white=white,
        ),
    )


def findings_on_robust(fit: RobustFit) -> tuple[Finding, ...]:
    """How many rows have little weight in a robust estimate."""
    return (Finding.of("rows-downweighted", "estimation.robust", joints=dict(fit.light)),)


def _weakest(estimate: Estimate) -> list[str]:
    """Names of the parameters in the combination that is determined least, by their correlations."""
    stds = np.where(estimate.stds > 0.0, estimate.stds, 1.0)
    _, directions = np.linalg.eigh(estimate.covariance / np.outer(stds, stds))
    share = np.abs(directions[:, -1])
    order = np.argsort(-share)
    return [estimate.names[k] for k in order[:6] if share[k] > 0.2 * share[order[0]]]


def _impossible_values(estimate: Estimate, model: DynamicModel) -> Iterator[Finding]:
    """Friction and motor inertia that are clearly negative.

    Where all of a joint's are, or its fit is poor, its torque or its velocity has the wrong sign; where others are
    clearly positive, terms stand in for each other.
    """
    limits = ESTIMATE_THRESHOLDS
    negative: dict[str, list[str]] = {}
    positive: dict[str, list[str]] = {}
    largest: dict[str, float] = {}
    signed = {p.name: p.joint or p.owner for p in model.parameters if p.link is None and p.sign is Sign.NONNEGATIVE}
    for name, value, std in zip(estimate.names, estimate.values, estimate.stds, strict=True):
        joint = signed.get(name, "")
        share = _torque_share(value, std, estimate.joints.get(joint))
        if joint and abs(value) > limits.clearly_negative * std and share > limits.slight_torque:
            (negative if value < 0.0 else positive).setdefault(joint, []).append(f"{name} = {value:.3g}")
            largest[joint] = max(largest.get(joint, 0.0), share if value < 0.0 else 0.0)
    for joint, values in negative.items():
        fit = estimate.joints.get(joint)
        subject = f"joint '{joint}'"
        if joint in positive and (fit is None or fit.relative_error < limits.poor_fit):
            others = positive[joint]
            yield Finding.of("parameter-negative-beside-positive", subject, negative=values, positive=others)
        else:
            severity = Severity.ERROR if largest[joint] > limits.large_torque else Severity.WARNING
            yield Finding.of("parameter-negative", subject, severity, negative=values)


def _torque_share(value: float, std: float, fit: JointFit | None) -> float:
    """About how much of a joint's torque a parameter of that joint makes up, at least.

    A column of root mean square c has a standard deviation of at least rmse / (c sqrt(rows)).
    """
    if fit is None or not std or not fit.rows:
        return 1.0
    return abs(value) / std * fit.relative_error / fit.rows**0.5


ONE_WAY = (Role.COULOMB, Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD, Role.STRIBECK, Role.LOAD, Role.OFFSET)
"""Parameters whose columns are the same, or zero, while a joint moves in one direction at speed."""


def findings_on_directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on joints that move in one direction only: their friction parameters are indistinguishable."""
    return tuple(_directions(model, logs, form)) if model.observed == Observed.TORQUES else ()


def _directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> Iterator[Finding]:
    found = speeds(logs, form)
    if found is None:
        return
    for joint in model.robot.independent_joints:
        column, own = joint.v.start, of_joint(model.parameters, joint.name, *ONE_WAY)
        ends = min(float(found.lowest[column]), 0.0), max(float(found.highest[column]), 0.0)
        ways = {math.copysign(1.0, v) for v in ends if v != 0.0}
        if joint.kind.nv != 1 or len(ways) != 1 or not own:
            continue
        way = "forwards" if ways == {1.0} else "backwards"
        silent = Role.COULOMB_BACKWARD if way == "forwards" else Role.COULOMB_FORWARD
        unknown = [parameter.name for parameter in own if parameter.role is silent]
        alike = [parameter.name for parameter in own if parameter.role is not silent]
        if len(alike) > 1 or unknown:
            values = {
                "direction": way,
                "rows": int(found.rows[column]),
                "alike": alike if len(alike) > 1 else [],
                "silent": unknown,
            }
            code = "direction-single" if not unknown else "direction-single-silent"
            yield Finding.of(code, f"joint '{joint.name}'", **values)


def findings_on_nonlinear(nonlinear: NonlinearFit, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on nonlinear parameters that the logs do not determine, and on a search that did not converge."""
    found: list[Finding] = []
    model = nonlinear.base.model
    for parameter in model.nonlinear:
        if parameter.name in nonlinear.doubtful:
            found.append(_doubtful(parameter, nonlinear, model.robot.joint(parameter.owner), logs, form))
    if nonlinear.fit is not None and not nonlinear.fit.converged:
        found.append(Finding.of("nonlinear-search-unfinished", "nonlinear parameters", passes=nonlinear.fit.passes))
    return tuple(found)


def findings_on_breakaway(estimate: Estimate, model: DynamicModel) -> tuple[Finding, ...]:
    """Warnings on Stribeck friction that would drive its joint near rest: fs + fst is clearly negative."""
    found = []
    for joint in model.robot.independent_joints:
        both = of_joint(model.parameters, joint.name, Role.COULOMB, Role.STRIBECK)
        names = [parameter.name for parameter in both if parameter.name in estimate.names]
        if [parameter.role for parameter in both if parameter.name in names] != [Role.COULOMB, Role.STRIBECK]:
            continue
        own = [estimate.names.index(name) for name in names]
        level, std = (
            float(estimate.values[own].sum()),
            float(np.sqrt(estimate.covariance[np.ix_(own, own)].sum())),
        )
        if level < -ESTIMATE_THRESHOLDS.clearly_negative * std:
            velocities = [s.name for s in model.nonlinear if s.role is Role.STRIBECK and s.owner == joint.name]
            values = {"sum": " + ".join(names), "level": level, "velocity": velocities}
            found.append(Finding.of("friction-drives-near-rest", f"joint '{joint.name}'", **values))
    return tuple(found)


def _doubtful(
    parameter: NonlinearParameter, nonlinear: NonlinearFit, joint: Joint, logs: Sequence[PreparedLog], form: RowForm
) -> Finding:
    assert nonlinear.fit is not None
    std = nonlinear.fit.stds[parameter.name]
    subject = f"joint '{joint.name}'"
    values: dict[str, Any] = {"parameter": parameter.name, "unit": parameter.unit, "value": parameter.value}
    if parameter.is_at_bound:
        why = "at the end of the range that is searched"
    elif np.isinf(std):
        why = "no row depends on it"
    else:
        distance = nonlinear.fit.significance[parameter.name]
        why = f"+- {std:.2g}, and its parameter {distance:.1f} standard deviations from zero"
    if parameter.needs_temperature:
        lowest, highest = _temperatures(logs, joint)
        range_: dict[str, Any] = {"lowest": lowest, "highest": highest}
        return Finding.of("nonlinear-undetermined-temperature", subject, why=why, **values, **range_)
    found, column = speeds(logs, form), joint.v.start
    slowest, fastest = 0.0, 0.0
    if found is not None and found.rows[column]:
        slowest, fastest = float(found.slowest[column]), float(found.fastest[column])
    threshold = max(threshold_of(log, joint, form) for log in logs)
    code = "nonlinear-undetermined-threshold" if threshold else "nonlinear-undetermined"
    return Finding.of(code, subject, why=why, **values, slowest=slowest, fastest=fastest, threshold=threshold)


def _temperatures(logs: Sequence[PreparedLog], joint: Joint) -> tuple[float, float]:
    """Lowest and highest temperature of a joint [degrees Celsius]; NaN where none was logged."""
    ends = [log.motion.temperatures[:, joint.v.start] for log in logs if log.motion.temperatures is not None]
    return (float(min(low for low, _ in ends)), float(max(high for _, high in ends))) if ends else (np.nan, np.nan)
