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
from dynid.logs.processing.automatic import Prepared
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
"""Parameters whose columns are one and the same, or none, while a joint moves one way at speed."""


def findings_on_directions(model: DynamicModel, logs: Sequence[Prepared], form: RowForm) -> tuple[Finding, ...]:
    """Warnings on joints that move one way only: their friction cannot be told apart."""
    return tuple(_directions(model, logs, form)) if model.observed is Observed.TORQUES else ()


def _directions(model: DynamicModel, logs: Sequence[Prepared], form: RowForm) -> Iterator[Finding]:
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
        whats = [f"{' and '.join(alike)} look alike"] if len(alike) > 1 else []
        whats += [f"{name} never acts" for name in unknown]
        if whats:
            leave = "all but one of these" if len(alike) > 1 else unknown[0]
            text = f"it moves {way} only, in all {len(velocity)} rows that count, so {' and '.join(whats)}; move it "
            text += f"both ways, or leave {leave} out of the terms for it"
            yield prose(Severity.WARNING, f"joint '{joint.name}'", text)


def findings_on_nonlinear(nonlinear: NonlinearFit, logs: Sequence[Prepared], form: RowForm) -> tuple[Finding, ...]:
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
            text = f"{' + '.join(names)} = {level:.3g}: friction would drive it near rest, so these and "
            velocities = [
                shape.name for shape in model.nonlinear if shape.role is Role.STRIBECK and shape.owner == joint.name
            ]
            text += f"{' and '.join(velocities)} stand for something else, such as sticking; raise velocity_threshold, "
            found.append(prose(Severity.WARNING, f"joint '{joint.name}'", text + "or use coulomb there"))
    return tuple(found)


def _doubtful(
    shape: NonlinearParameter, nonlinear: NonlinearFit, joint: Joint, logs: Sequence[Prepared], form: RowForm
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
    if shape.needs_temperature:
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


def _temperatures(logs: Sequence[Prepared], joint: Joint) -> Array:
    pieces = [s.temperature[:, joint.v.start] for log in logs for s in log.segments if s.temperature is not None]
    return np.concatenate([*pieces, np.full(1, np.nan)][: max(len(pieces), 1)])
