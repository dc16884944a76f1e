"""What may change while a robot works: a payload at the end of a limb or on a floating base, or a joint's friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dynid.arrays import Array
from dynid.model import DynamicModel, Role, RowBasis
from dynid.robot import SIZE, Robot

FRICTION = {Role.VISCOUS, Role.COULOMB, Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD, Role.STRIBECK}
"""Roles of the parameters that friction changes in."""

LIKELY_MASS, LIKELY_OFFSET = 0.2, 0.15
"""Payloads beforehand: a part of the robot's mass, and the distance of their centres of mass from the last joint, in
parts of the limb's length. Both are standard deviations, wide enough not to matter once a robot moves."""

LEAST_MASS = 1.0
"""Mass [kg] that robots are taken to have at least, and each link of those whose file states none."""


class Cause(StrEnum):
    """What may have changed."""

    PAYLOAD = "payload"
    FRICTION = "friction"
    UNKNOWN = "unknown"
    NOTHING = "nothing"
    """What was noticed did not last."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A change of some parameters.

    Attributes:
        cause: What it is.
        place: Name of the link or the joint.
        parameters: Indices of the parameters in the model.
        stds: Standard deviation of their changes beforehand, shape (parameters,).
        row: Row of the joint among those of the dynamics; -1 for a payload.
    """

    cause: Cause
    place: str
    parameters: tuple[int, ...]
    stds: Array
    row: int = -1


def hypotheses_of(model: DynamicModel, values: Array, spans: Array) -> list[Hypothesis]:
    """What may change of a robot.

    Args:
        model: The model.
        values: Present standard parameters, shape (parameters,).
        spans: Standard deviation of the errors of each row of the dynamics [N m or N], shape (nv,).
    """
    return [*_payloads(model.robot), *_frictions(model, values, spans)]


def mass_of(robot: Robot) -> float:
    """The robot's mass [kg] as its file states it, or `LEAST_MASS` for each link."""
    stated = sum(float(link.parameters[0]) for link in robot.links)
    return max(stated, LEAST_MASS) if stated > 0.0 else LEAST_MASS * len(robot.solid_links)


def _payloads(robot: Robot) -> list[Hypothesis]:
    """One for each link that moves and carries no other, and one for a floating base, which loads are put on."""
    parents = {joint.parent for joint in robot.joints}
    mass, found = mass_of(robot), []
    for block, i in enumerate(robot.solid_links):
        is_base = robot.has_floating_base and i == 0
        if i in parents and not is_base:
            continue
        length = sum(float(np.linalg.norm(robot.joints[k].placement[:3, 3])) for k in robot.chain(i))
        size, offset = LIKELY_MASS * mass, LIKELY_OFFSET * (length or 1.0)
        stds = size * np.array([1.0, *[offset] * 3, *[offset**2] * 6])
        parameters = tuple(range(SIZE * block, SIZE * (block + 1)))
        found.append(Hypothesis(Cause.PAYLOAD, robot.links[i].name, parameters, stds))
    return found


def _frictions(model: DynamicModel, values: Array, spans: Array) -> list[Hypothesis]:
    """One for each joint whose friction the model has."""
    found = []
    for joint in model.robot.axes:
        own = [k for k, p in enumerate(model.parameters) if p.joint == joint.name and p.role in FRICTION]
        if own and joint.v.start in model.row_indices:
            stds = np.maximum(np.abs(values[own]), spans[joint.v.start])
            found.append(Hypothesis(Cause.FRICTION, joint.name, tuple(own), stds, joint.v.start))
    return found


def dry_levels(model: DynamicModel, values: Array) -> Array:
    """Dry friction of each observed row [N m or N], shape (rows,): at rest it takes any value between both signs."""
    found = np.zeros(model.robot.nv)
    for parameter, value in zip(model.parameters, values, strict=True):
        if parameter.role.is_dry and parameter.joint is not None:
            found[model.robot.joint(parameter.joint).v.start] += abs(value)
    return found[list(model.row_indices)]


def columns_of(model: DynamicModel, bases: Sequence[RowBasis], parameters: Sequence[int]) -> Array:
    """What a unit of each parameter adds to the predictors of all rows, right-hand sides included.

    Returns:
        Array of shape (columns of all rows, parameters).
    """
    parts = []
    for basis in bases:
        position = {name: k for k, name in enumerate(basis.names)}
        part = np.zeros((len(basis.columns) + 1, len(parameters)))
        for k, parameter in enumerate(parameters):
            at = position.get(model.names[parameter])
            if at is not None:
                part[:-1, k] = basis.regrouping[:, at]
        parts.append(part)
    return np.concatenate(parts)
