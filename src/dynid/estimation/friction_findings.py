"""Friction parameters that logs do not determine, with the evidence and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.row_forms import RowForm
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit, speeds, threshold_of
from dynid.findings import Finding
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.terms import NonlinearParameter
from dynid.robot.robot import Joint

SIGNS = ("fs", "fsp", "fsn", "fst", "fl", "off")
"""Symbols whose columns are one and the same, or none, while a joint moves one way at speed."""


def findings_on_directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on joints that move in one direction only: their friction parameters are indistinguishable."""
    return tuple(_directions(model, logs, form)) if model.observed is Observed.TORQUES else ()


def _directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> Iterator[Finding]:
    for joint in model.robot.independent_joints:
        velocity = speeds(logs, joint, form)
        acting = [f"{symbol}{joint.number}" for symbol in SIGNS if f"{symbol}{joint.number}" in model.names]
        ways = {np.sign(v) for v in (velocity.min(initial=0.0), velocity.max(initial=0.0)) if v != 0.0}
        if joint.kind.nv != 1 or len(ways) != 1 or not acting:
            continue
        way = "forwards" if ways == {1.0} else "backwards"
        silent = {f"fsn{joint.number}"} if way == "forwards" else {f"fsp{joint.number}"}
        unknown = [name for name in acting if name in silent]
        alike = [name for name in acting if name not in silent]
        if len(alike) > 1 or unknown:
            values = {
                "direction": way,
                "rows": len(velocity),
                "alike": alike if len(alike) > 1 else [],
                "silent": unknown,
            }
            code = "direction-single" if not unknown else "direction-single-silent"
            yield Finding.of(code, f"joint '{joint.name}'", **values)


def findings_on_nonlinear(nonlinear: NonlinearFit, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on nonlinear parameters that the logs do not determine, and on a search that did not converge."""
    found: list[Finding] = []
    model = nonlinear.base.model
    for shape in model.nonlinear:
        if shape.name in nonlinear.doubtful:
            found.append(_doubtful(shape, nonlinear, model.robot.joint(shape.owner), logs, form))
    if nonlinear.fit is not None and not nonlinear.fit.converged:
        found.append(Finding.of("nonlinear-search-unfinished", "nonlinear parameters", passes=nonlinear.fit.passes))
    return tuple(found)


def findings_on_breakaway(estimate: Estimate, model: DynamicModel) -> tuple[Finding, ...]:
    """Warnings on Stribeck friction that would drive its joint near rest: fs + fst is clearly negative."""
    found = []
    for joint in model.robot.independent_joints:
        names = [f"fs{joint.number}", f"fst{joint.number}"]
        if not all(name in estimate.names for name in names):
            continue
        own = [estimate.names.index(name) for name in names]
        level, std = (
            float(estimate.values[own].sum()),
            float(np.sqrt(estimate.covariance[np.ix_(own, own)].sum())),
        )
        if level < -3.0 * std:
            values = {"sum": " + ".join(names), "level": level, "velocity": f"vs{joint.number}"}
            found.append(Finding.of("friction-drives-near-rest", f"joint '{joint.name}'", **values))
    return tuple(found)


def _doubtful(
    shape: NonlinearParameter, nonlinear: NonlinearFit, joint: Joint, logs: Sequence[PreparedLog], form: RowForm
) -> Finding:
    assert nonlinear.fit is not None
    std = nonlinear.fit.stds[shape.name]
    subject = f"joint '{joint.name}'"
    values: dict[str, Any] = {"parameter": shape.name, "unit": shape.unit, "value": shape.value}
    if shape.is_at_bound:
        why = "at the end of the range that is searched"
    elif np.isinf(std):
        why = "no row depends on it"
    else:
        distance = nonlinear.fit.significance[shape.name]
        why = f"+- {std:.2g}, and its parameter {distance:.1f} standard deviations from zero"
    if shape.unit == "1/K":
        temperature = _temperatures(logs, joint)
        range_ = {"lowest": float(temperature.min()), "highest": float(temperature.max())}
        return Finding.of("nonlinear-undetermined-temperature", subject, why=why, **values, **range_)
    speed = np.abs(speeds(logs, joint, form))
    slowest, fastest = (float(speed.min()), float(speed.max())) if len(speed) else (0.0, 0.0)
    threshold = max(threshold_of(log, joint, form) for log in logs)
    code = "nonlinear-undetermined-threshold" if threshold else "nonlinear-undetermined"
    return Finding.of(code, subject, why=why, **values, slowest=slowest, fastest=fastest, threshold=threshold)


def _temperatures(logs: Sequence[PreparedLog], joint: Joint) -> Array:
    pieces = [s.temperature[:, joint.v.start] for log in logs for s in log.segments if s.temperature is not None]
    return np.concatenate([*pieces, np.full(1, np.nan)][: max(len(pieces), 1)])
