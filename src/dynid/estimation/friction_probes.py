"""Whether friction is missing from a model, and on which joints.

Columns of viscous and Coulomb friction that the model lacks are carried along as *probes*: through filters and
decimation, into the factors of each row. Then each row is fitted alone, with and without its probes. What they take
away of the residual is friction, if it is much of it, large, and brakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.estimation.factors.factors import Factor, Factors
from dynid.findings import Finding
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.parameters import Role, of_joint
from dynid.model.terms import Coulomb, JointTerm, Viscous
from dynid.robot.joints import JointKind

SHARE = 0.3
"""Share of a row's squared residual from which probes are worth a finding."""

SIZE = 0.01
"""Root mean square of what they explain, relative to the row's torque, from which they are."""


@dataclass(frozen=True)
class Probe:
    """What friction would explain on one joint.

    Attributes:
        joint: Name of the joint.
        terms: Terms that the model lacks there.
        share: Share of the squared residual that they would explain.
        torque: Root mean square of the torque that they would explain.
        unit: Its unit.
    """

    joint: str
    terms: tuple[str, ...]
    share: float
    torque: float
    unit: str


def probed(model: DynamicModel) -> DynamicModel:
    """The model with friction on all joints: its own parameters first, then the probes'."""
    if model.observed is not Observed.TORQUES:
        return model
    joints = [joint for joint in model.robot.independent_joints if joint.kind.nv == 1]
    extra: list[JointTerm] = []
    for term, roles in ((Viscous, (Role.VISCOUS,)), (Coulomb, (Role.COULOMB, Role.COULOMB_FORWARD))):
        lacking = [joint.name for joint in joints if not of_joint(model.parameters, joint.name, *roles)]
        if lacking:
            extra.append(term(lacking))
    return DynamicModel(model.robot, (*model.terms, *extra)) if extra else model


def without_probes(factors: Factors, model: DynamicModel) -> Factors:
    """The factors of the model's own parameters."""
    if factors.names == model.names:
        return factors
    own = set(model.names)
    joints = {
        joint: factor.select([name for name in factor.names if name in own]) for joint, factor in factors.joints.items()
    }
    return replace(factors, names=model.names, joints=joints)


def findings_on_friction(logs: Sequence[Factors], base: BaseParameters) -> tuple[Finding, ...]:
    """A finding that names the joints where friction is missing from the model.

    Args:
        logs: Factors of the logs, with probes.
        base: The base parameters of the model, without.
    """
    found = [probe for probe in _probes(logs, base) if probe.share >= SHARE]
    if not found:
        return ()
    return (
        Finding.of(
            "friction-missing",
            "friction",
            joints={probe.joint: probe.share for probe in found},
            torques={probe.joint: f"{probe.torque:.3g} {probe.unit}" for probe in found},
            terms=sorted({term for probe in found for term in probe.terms}, reverse=True),
        ),
    )


def _probes(logs: Sequence[Factors], base: BaseParameters) -> Iterator[Probe]:
    """What friction would explain on each joint, where it is large and brakes."""
    if not logs or logs[0].names == base.model.names:
        return
    whole = logs[0].merged(*logs[1:])
    own = set(base.model.names)
    roles = {parameter.name: parameter.role for parameter in probed(base.model).parameters}
    for joint, factor in whole.joints.items():
        free = factor.without(base.known) if base.known else factor
        extra = [name for name in free.names if name not in own]  # probes, and changes of nonlinear parameters
        terms = tuple(roles[name].value for name in extra if name in roles)
        if not terms or not free.rows:
            continue
        without = free.select([name for name in free.names if name in own])
        x, y = free.solve(), without.solve()
        errors, more = free.residual_squares(x), without.residual_squares(y)
        total = free.residual_squares(np.zeros(len(free.names)))
        if more - errors < SIZE**2 * total or not _brakes(free, extra, x):
            continue
        unit = "N" if base.model.robot.joint(joint).kind is JointKind.PRISMATIC else "N m"
        yield Probe(joint, terms, 1.0 - errors / more, float(np.sqrt((more - errors) / free.rows)), unit)


def _brakes(factor: Factor, extra: Sequence[str], x: np.ndarray) -> bool:
    """Whether the probe that explains most has a positive value, as friction has."""
    columns = [factor.names.index(name) for name in extra]
    sizes = np.linalg.norm(factor.R[:, columns], axis=0) * np.abs(x[columns])
    return bool(x[columns[int(np.argmax(sizes))]] > 0.0)
