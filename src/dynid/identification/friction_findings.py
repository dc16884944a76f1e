"""What logs cannot tell of friction, with the evidence and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.row_forms import RowForm
from dynid.findings import Finding, Severity, prose
from dynid.identification.nonlinear_terms import NonlinearFit
from dynid.identification.row_speeds import speeds, threshold_of
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.terms import NonlinearParameter
from dynid.robot.robot import Joint, Robot

SIGNS = ("fs", "fsp", "fsn", "fst", "fl", "off")
"""Symbols whose columns are one and the same, or none, while a joint moves one way at speed."""


def findings_on_directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on joints that move one way only: their friction cannot be told apart."""
    return tuple(_directions(model, logs, form)) if model.observed is Observed.TORQUES else ()


def _directions(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> Iterator[Finding]:
    for joint in model.robot.independent_joints:
        velocity = speeds(logs, joint, form)
        told = [f"{symbol}{joint.number}" for symbol in SIGNS if f"{symbol}{joint.number}" in model.names]
        ways = {np.sign(v) for v in (velocity.min(initial=0.0), velocity.max(initial=0.0)) if v != 0.0}
        if joint.kind.nv != 1 or len(ways) != 1 or not told:
            continue
        way = "forwards" if ways == {1.0} else "backwards"
        silent = {f"fsn{joint.number}"} if way == "forwards" else {f"fsp{joint.number}"}
        unknown = [name for name in told if name in silent]
        alike = [name for name in told if name not in silent]
        whats = [f"{' and '.join(alike)} look alike"] if len(alike) > 1 else []
        whats += [f"{name} never acts" for name in unknown]
        if whats:
            leave = "all but one of these" if len(alike) > 1 else unknown[0]
            text = f"it moves {way} only, in all {len(velocity)} rows that count, so {' and '.join(whats)}; move it "
            text += f"both ways, or leave {leave} out of the terms for it"
            yield prose(Severity.WARNING, f"joint '{joint.name}'", text)


def findings_on_nonlinear(nonlinear: NonlinearFit, logs: Sequence[PreparedLog], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on shapes that the logs do not tell, and on a search that did not end."""
    found: list[Finding] = []
    model = nonlinear.base.model
    for shape in model.nonlinear:
        if shape.name in nonlinear.doubtful:
            found.append(_doubtful(shape, nonlinear, model.robot.joint(shape.owner), logs, form))
    if nonlinear.fit is not None and not nonlinear.fit.converged:
        text = (
            f"the search for shapes did not end within {nonlinear.fit.passes} passes over the logs; take simpler terms"
        )
        found.append(prose(Severity.WARNING, "shapes", text))
    return tuple(found)


def findings_on_breakaway(estimate: Estimate, robot: Robot) -> tuple[Finding, ...]:
    """Warnings on Stribeck friction that would drive its joint near rest: fs + fst is clearly negative."""
    found = []
    for joint in robot.independent_joints:
        names = [f"fs{joint.number}", f"fst{joint.number}"]
        if not all(name in estimate.names for name in names):
            continue
        own = [estimate.names.index(name) for name in names]
        level, std = (
            float(estimate.values[own].sum()),
            float(np.sqrt(estimate.covariance[np.ix_(own, own)].sum())),
        )
        if level < -3.0 * std:
            text = f"{' + '.join(names)} = {level:.3g}: friction would drive it near rest, so these and "
            text += f"vs{joint.number} stand for something else, such as sticking; raise velocity_threshold, "
            found.append(prose(Severity.WARNING, f"joint '{joint.name}'", text + "or use coulomb there"))
    return tuple(found)


def _doubtful(
    shape: NonlinearParameter, nonlinear: NonlinearFit, joint: Joint, logs: Sequence[PreparedLog], form: RowForm
) -> Finding:
    assert nonlinear.fit is not None
    std = nonlinear.fit.stds[shape.name]
    if shape.is_at_bound:
        why = f"the best fit has it at {shape.value:.3g} {shape.unit}, the end of what is looked for"
    elif np.isinf(std):
        why = "no row shows it"
    else:
        why = f"the best fit has it at {shape.value:.3g} +- {std:.2g} {shape.unit}, and its parameter "
        why += f"{nonlinear.fit.significance[shape.name]:.1f} deviations from zero"
    if shape.unit == "1/K":
        temperature = _temperatures(logs, joint)
        seen = f"rows were logged at {temperature.min():.3g} to {temperature.max():.3g} degrees Celsius"
        advice = "record while it warms up, or use viscous there"
    else:
        speed = np.abs(speeds(logs, joint, form))
        unit = shape.unit if shape.unit in ("rad/s", "m/s") else "rad/s or m/s"
        between = f"{speed.min():.3g} to {speed.max():.3g} {unit}" if len(speed) else "no speed at all"
        seen = f"rows that count move at {between}"
        advice = "move it slowly through zero, or use coulomb there"
        threshold = max(threshold_of(log, joint, form) for log in logs)
        if threshold:
            seen += f" (slower than {threshold:.3g} is dropped)"
            advice = "move it slowly through zero, lower processing.velocity_threshold, or use coulomb there"
    text = f"{shape.name} is not told by these logs: {why}, and {seen}; {advice}, or state {shape.name} as known"
    return prose(Severity.WARNING, f"joint '{joint.name}'", text)


def _temperatures(logs: Sequence[PreparedLog], joint: Joint) -> Array:
    pieces = [s.temperature[:, joint.v.start] for log in logs for s in log.segments if s.temperature is not None]
    return np.concatenate([*pieces, np.full(1, np.nan)][: max(len(pieces), 1)])
