"""What can be known about a robot: the logic behind `dynid inspect`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.findings import Finding
from dynid.model.base_parameters import DEFAULT_TOLERANCE, BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.terms import parse_terms
from dynid.robot.audit import audit
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Inspection:
    """What can be known about a robot, and what is noticed about its file.

    Attributes:
        base: The base parameters, with their model and robot.
        findings: What is noticed, the most severe first.
    """

    base: BaseParameters
    findings: tuple[Finding, ...]

    @property
    def model(self) -> DynamicModel:
        """The model that was inspected."""
        return self.base.model

    @property
    def robot(self) -> Robot:
        """The robot that was inspected."""
        return self.base.model.robot

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON."""
        model, base = self.model, self.base
        owners = {parameter.name: parameter.owner for parameter in model.parameters}
        values = self.base_values()
        return {
            "robot": self.robot.name,
            "source": self.robot.description.source,
            "gravity": self.robot.gravity.tolist(),
            "observed": model.observed.value,
            "terms": [
                {
                    "term": type(term).__name__,
                    "parameters": [parameter.name for parameter in term.parameters(self.robot)],
                    "needs": sorted(term.needs),
                }
                for term in model.terms
            ],
            "joints": [_joint_data(self.robot, i) for i in range(len(self.robot.joints))],
            "standard_parameter_count": len(model.names),
            "base_parameter_count": len(base),
            "standard_parameters": [
                {"name": p.name, "unit": p.unit, "owner": p.owner, "value": p.reference} for p in model.parameters
            ],
            "base_parameters": [
                {
                    "name": base.names[k],
                    "expression": base.expressions[k],
                    "unit": base.units[k],
                    "owner": owners[base.names[k]],
                    "value": values[k],
                    "coefficients": base.groups[k],
                    "own_part": float(base.own_parts[base.columns[k]]),
                }
                for k in range(len(base))
            ],
            "unidentifiable": list(base.no_effect),
            "only_in_combinations": list(base.only_in_groups),
            "known": dict(base.known),
            "rank_gap": {"kept": base.gap.kept, "dropped": base.gap.dropped, "doubtful": base.gap.is_doubtful},
            "tolerance": base.tolerance,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def base_values(self) -> list[float | None]:
        """The robot file's values of the base parameters; None where the file does not say all of the group."""
        sums = self.base.to_base(self.model.reference)
        rounding = 1e-13 * (np.abs(self.base.regrouping) @ np.abs(np.nan_to_num(self.model.reference)))
        return [
            None if math.isnan(total) else 0.0 if abs(total) <= error else float(total)
            for total, error in zip(sums, rounding, strict=True)
        ]


def inspect_robot(
    source: str | Path,
    *,
    terms: Sequence[str] = (),
    observed: Observed = Observed.TORQUES,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
    known: Mapping[str, float | None] | Iterable[str] = (),
    selection: Literal["natural", "pivoted"] = "natural",
    order: Sequence[str] = (),
    tolerance: float = DEFAULT_TOLERANCE,
    seed: int = 0,
) -> Inspection:
    """Tell what can be known about a robot, and what is wrong with its file.

    Args:
        source: Path of the robot's file, or `builtin:NAME`.
        terms: What the joints add, as `dynid.model.terms.parse_terms` takes it.
        observed: Which rows of the dynamics are measured; a wrench needs and implies a floating base.
        floating_base: Leave the base free in space.
        lock: Joints to hold still, with their positions [rad or m].
        gravity: Gravity [m/s^2] in the base frame, shape (3,).
        known: Parameters that are fixed before the reduction, with their values.
        selection: Which columns are kept; see `find_base_parameters`.
        order: Names of parameters whose columns are tried first.
        tolerance: See `find_base_parameters`.
        seed: Seed of the random states.
    """
    robot = load_robot(source, floating_base=floating_base or observed.is_wrench, lock=lock, gravity=gravity)
    model = DynamicModel(robot, parse_terms(terms, robot), observed)
    base = find_base_parameters(
        model,
        known=known,
        selection=selection,
        order=order,
        tolerance=tolerance,
        rng=np.random.default_rng(seed),
    )
    return Inspection(base, (*audit(robot), *base.findings()))


def _joint_data(robot: Robot, i: int) -> dict[str, Any]:
    joint, link = robot.joints[i], robot.links[i]
    limits = {name: None if math.isinf(value) else value for name, value in vars(joint.limits).items()}
    return {
        "number": joint.number,
        "name": joint.name,
        "type": joint.kind.value,
        "link": link.name,
        "bodies": [body.name for body in link.bodies],
        "follows": None if joint.leader is None else robot.joints[joint.leader].name,
        "limits": limits,
    }
