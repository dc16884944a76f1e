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
from dynid.model.parameters import Role, of_joint
from dynid.model.terms import NonlinearParameter
from dynid.robot.robot import Joint

ONE_WAY = (
    Role.COULOMB,
    Role.COULOMB_FORWARD,
    Role.COULOMB_BACKWARD,
    Role.STRIBECK,
    Role.LOAD,
    Role.OFFSET,
)
"""Parameters whose columns are the same, or zero, while a joint moves in one direction at speed."""


def findings_on_directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on joints that move in one direction only: their friction parameters are indistinguishable."""
    return tuple(_directions(model, logs, form)) if model.observed is Observed.TORQUES else ()


def _directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> Iterator[Finding]:
    for joint in model.robot.independent_joints:
        velocity = speeds(logs, joint, form)
        own = of_joint(model.parameters, joint.name, *ONE_WAY)
        ways = {np.sign(v) for v in (velocity.min(initial=0.0), velocity.max(initial=0.0)) if v != 0.0}
        if joint.kind.nv != 1 or len(ways) != 1 or not own:
            continue
        way = "forwards" if ways == {1.0} else "backwards"
        silent = Role.COULOMB_BACKWARD if way == "forwards" else Role.COULOMB_FORWARD
        unknown = [parameter.name for parameter in own if parameter.role is silent]
        alike = [parameter.name for parameter in own if parameter.role is not silent]
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
        both = of_joint(model.parameters, joint.name, Role.COULOMB, Role.STRIBECK)
        names = [parameter.name for parameter in both if parameter.name in estimate.names]
        if [parameter.role for parameter in both if parameter.name in names] != [Role.COULOMB, Role.STRIBECK]:
            continue
        own = [estimate.names.index(name) for name in names]
        level, std = (
            float(estimate.values[own].sum()),
            float(np.sqrt(estimate.covariance[np.ix_(own, own)].sum())),
        )
        if level < -3.0 * std:
            velocities = [s.name for s in model.nonlinear if s.role is Role.STRIBECK and s.owner == joint.name]
            values = {"sum": " + ".join(names), "level": level, "velocity": velocities}
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
    if shape.needs_temperature:
        temperature = _temperatures(logs, joint)
        range_: dict[str, Any] = {"lowest": float(temperature.min()), "highest": float(temperature.max())}
        return Finding.of("nonlinear-undetermined-temperature", subject, why=why, **values, **range_)
    speed = np.abs(speeds(logs, joint, form))
    slowest, fastest = (float(speed.min()), float(speed.max())) if len(speed) else (0.0, 0.0)
    threshold = max(threshold_of(log, joint, form) for log in logs)
    code = "nonlinear-undetermined-threshold" if threshold else "nonlinear-undetermined"
    return Finding.of(code, subject, why=why, **values, slowest=slowest, fastest=fastest, threshold=threshold)


def _temperatures(logs: Sequence[PreparedLog], joint: Joint) -> Array:
    pieces = [s.temperature[:, joint.v.start] for log in logs for s in log.segments if s.temperature is not None]
    return np.concatenate([*pieces, np.full(1, np.nan)][: max(len(pieces), 1)])
