"""Inspecting a robot: what is identifiable, and what is wrong with its file."""

import html
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.model.base_parameters import THRESHOLDS, BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.observation_requests import in_posture, on_ground, on_pivot
from dynid.model.observed import CENTRE_OF_PRESSURE, WRENCH
from dynid.model.plain_tables import html_table, text_table
from dynid.model.scale import Scale, scale_of
from dynid.model.terms.parsing import Term, findings_on_default
from dynid.robot import Robot, as_robot, audit

_HEADER = ("#", "base parameter", "robot file", "unit", "link or joint")


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """What is identifiable of a robot, and what was noticed about its file.

    Attributes:
        base_parameters: The base parameters, with their model and robot.
        findings: What was noticed, the most severe first.
        scale: Whether the size of base parameters is determined; None where what is measured has a scale of its own.
    """

    base_parameters: BaseParameters
    findings: tuple[Finding, ...]
    scale: Scale | None = None

    @property
    def model(self) -> DynamicModel:
        """The model that was inspected."""
        return self.base_parameters.model

    @property
    def robot(self) -> Robot:
        """The robot that was inspected."""
        return self.model.robot

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Names of the standard parameters that have no effect on what is measured."""
        return self.base_parameters.no_effect

    @property
    def summary(self) -> str:
        """The counts, in one line."""
        return (
            f"{self.robot.name}: {len(self.robot.joints)} moving joints, {len(self.model.names)} standard parameters, "
            f"{len(self.base_parameters)} base parameters ({self.model.observed.text})"
        )

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For each base parameter its number, expression, the file's value, unit, and link or joint."""
        base = self.base_parameters
        values = ["-" if value is None else f"{value:.6g}" for value in self.base_values()]
        numbers = map(str, range(1, len(base) + 1))
        return list(zip(numbers, base.expressions, values, base.units, base.owners, strict=True))

    def by_joint(self) -> list[tuple[str, list[str], list[str], list[str]]]:
        """For each joint and its link: parameters identifiable alone, only in combination, and not at all."""
        base = self.base_parameters
        groups, nothing, known = set(base.only_in_groups), set(base.no_effect), set(base.known)
        found: dict[str, tuple[list[str], list[str], list[str]]] = {}
        for parameter in self.model.parameters:
            if parameter.name not in known:
                of_joint = found.setdefault(parameter.joint or parameter.owner, ([], [], []))
                of_joint[2 if parameter.name in nothing else 1 if parameter.name in groups else 0].append(
                    parameter.name
                )
        return [(joint, *parts) for joint, parts in found.items()]

    def remarks(self) -> list[str]:
        """Parameters without an effect of their own, known ones, and how clear the numerical rank is."""
        base, lines = self.base_parameters, []
        for title, names in (
            ("Unidentifiable", base.no_effect),
            ("Identifiable only in linear combination", base.only_in_groups),
            ("Known beforehand", [f"{name} = {value:g}" for name, value in base.known.items()]),
        ):
            lines += [f"{title} ({len(names)}): {', '.join(names)}"] if names else []
        clarity = "doubtful" if base.gap.is_doubtful else "clear"
        return [*lines, f"The numerical rank is {clarity} (gap from {base.gap.kept:.1e} to {base.gap.dropped:.1e})."]

    def __repr__(self) -> str:
        return f"Inspection({self.summary}; {len(self.findings)} findings)"

    def __str__(self) -> str:
        table = text_table(_HEADER, self.rows(), right=(0, 2))
        return "\n".join([f"{self.summary}.", "", table, "", *self.remarks(), *map(str, self.findings)])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in [*self.remarks(), *map(str, self.findings)])
        return f"{html_table(self.summary, _HEADER, self.rows())}<ul>{lines}</ul>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON."""
        model, base = self.model, self.base_parameters
        values = self.base_values()
        return {
            "robot": self.robot.name,
            "source": self.robot.description.source,
            "gravity": self.robot.gravity.tolist(),
            "observed": model.observed.value,
            "measured": list(model.observed.measured),
            "at_rest": model.observed.at_rest,
            "stands_on": list(model.observed.stands_on),
            "scale": None if self.scale is None else vars(self.scale),
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
                {
                    "name": p.name,
                    "unit": p.unit,
                    "owner": p.owner,
                    "value": p.reference,
                    "joint": p.joint,
                    "role": p.role.value,
                    "sign": p.sign.value,
                }
                for p in model.parameters
            ],
            "base_parameters": [
                {
                    "name": base.names[k],
                    "expression": base.expressions[k],
                    "unit": base.units[k],
                    "owner": base.owners[k],
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
        sums = self.base_parameters.to_base(self.model.reference)
        rounding = 1e-13 * (np.abs(self.base_parameters.regrouping) @ np.abs(np.nan_to_num(self.model.reference)))
        return [
            None if math.isnan(total) else 0.0 if abs(total) <= error else float(total)
            for total, error in zip(sums, rounding, strict=True)
        ]


def inspect(
    robot: Robot | str | os.PathLike[str],
    terms: str | Sequence[Term | str] = (),
    *,
    gravity_only: bool = False,
    wrench: bool = False,
    moving: bool = False,
    measured: Sequence[str] = (),
    stands_on: Sequence[str] | str = (),
    posture: Mapping[str, float] | None = None,
    centre_of_pressure: bool = False,
    mounting: str | tuple[str, Sequence[float]] | None = None,
    has_total_mass: bool = False,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
    exact_frames: bool = False,
    known: Mapping[str, float | None] | Iterable[str] = (),
    selection: Literal["natural", "pivoted"] = "natural",
    order: Sequence[str] = (),
    tolerance: float = THRESHOLDS.tolerance,
    seed: int = 0,
) -> Inspection:
    """Find out what is identifiable of a robot, and what is wrong with its file.

    Args:
        robot: The robot, the path of its file, or `builtin:NAME`.
        terms: Its friction and actuator terms: names such as "viscous", or `Term` objects; "auto" for the usual ones.
        gravity_only: What is measured is measured at rest, so that only gravity acts.
        wrench: The wrench of the ground on the robot is measured, and no joint torques; implies a floating base.
        moving: With `wrench` or `measured`: the base moves. Otherwise it is stationary.
        measured: What is measured, where it is not all joint torques: "wrench", "torques", "centre_of_pressure", or
            names of joints whose torque is measured.
        stands_on: Bodies of a floating robot that stand still on the ground; the base when none is named. Forces on
            them are measured only where the wrench is.
        posture: Positions [rad or m] of joints (name or number) with which these bodies are where they stand; other
            joints at zero. The neutral posture of the file when None.
        centre_of_pressure: The centre of pressure under the robot at rest is measured; implies a floating base.
        mounting: The direction of gravity is measured, as an inertial measurement unit does, in a robot at rest on a
            free pivot: at the origin of this body, or at a point [m] in its frame; implies a floating base.
        has_total_mass: The total mass is known, from a scale.
        floating_base: Leave the base free in space.
        lock: Joints (name or number) to hold still, with their positions [rad or m].
        gravity: Gravity [m/s^2] in the base frame, shape (3,); the robot's own when None.
        exact_frames: Keep right angles that the file rounds; see `load_robot`.
        known: Parameters that are fixed before the reduction, with their values; see `find_base_parameters`.
        selection: Which columns are kept; see `find_base_parameters`.
        order: Names of parameters whose columns are tried first.
        tolerance: See `find_base_parameters`.
        seed: Seed of the random states.

    Raises:
        RobotFileError: If the file is missing or is no robot.
        UnknownNameError: If a term, joint or parameter does not exist.
        InvalidRequestError: If requests exclude each other.

    >>> inspect("builtin:two_link", ["viscous"]).base_parameters
    BaseParameters(8 of 22 standard parameters, robot 'two_link')
    """
    standing = (stands_on,) if isinstance(stands_on, str) else tuple(stands_on)
    words = [*measured, *([WRENCH] if wrench else ()), *([CENTRE_OF_PRESSURE] if centre_of_pressure else ())]
    if mounting is None:
        observed = on_ground(words, standing, moving=moving, at_rest=gravity_only, is_floating=floating_base)
    else:
        observed = on_pivot(words, standing, mounting)
    is_floating = floating_base or observed.needs_floating_base
    loaded = as_robot(robot, floating_base=is_floating, lock=lock, gravity=gravity, exact_frames=exact_frames)
    observed = in_posture(observed, loaded, posture)
    rng = np.random.default_rng(seed)
    base = find_base_parameters(
        DynamicModel(loaded, terms, observed),
        known=known,
        selection=selection,
        order=order,
        tolerance=tolerance,
        rng=rng,
    )
    scale = scale_of(base, has_total_mass=has_total_mass, rng=rng)
    if has_total_mass and scale is None:
        raise InvalidRequestError(
            f"a known total mass adds nothing to what is measured {observed.text}; it goes with the centre of pressure"
        )
    of_scale = () if scale is None else scale.findings()
    findings = (*audit(loaded), *base.findings(), *of_scale, *findings_on_default(terms, loaded))
    return Inspection(base, findings, scale)


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
