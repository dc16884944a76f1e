"""The robot to experiment on: rigid bodies with friction and actuator terms, from its file and from the settings.

Some robot files say nothing about inertia, and a robot needs some to move: such links are given plain bodies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.estimation import plain_body
from dynid.model import DynamicModel, Observed, matching, split_known
from dynid.model.terms import LinkSpring
from dynid.robot import Robot, inertia
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.plant import Plant, PlantSpring
from dynid.simulation.settings import Payload, SimulationSettings

LIGHTEST_JOINT = 1e-8
"""Inertia of a joint [kg m^2 or kg] below which it counts as moving nothing."""


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A robot to experiment on.

    Attributes:
        model: The robot with its friction and actuator terms.
        parameters: Its standard parameters p, shape (parameters,).
        forces: The model's terms, with the form of friction that was chosen.
    """

    model: DynamicModel
    parameters: Array
    forces: JointForces

    @staticmethod
    def of(
        model: DynamicModel,
        parameters: Array | None = None,
        *,
        smoothing: float = 0.0,
        stribeck: tuple[float, float] | None = None,
    ) -> SimulatedRobot:
        """A robot with a model's terms.

        Args:
            model: The model.
            parameters: Standard parameters p, shape (parameters,); the robot file's when None, zero where it says
                nothing.
            smoothing: Velocity [rad/s] of the smooth form of Coulomb friction; zero for the discontinuous form.
            stribeck: How many times the kinetic friction breakaway is, and the velocity [rad/s] that takes it away.
        """
        if model.observed != Observed.TORQUES:
            raise InvalidRequestError("only models of joint torques in motion can be simulated")
        p = np.nan_to_num(model.reference) if parameters is None else np.asarray(parameters, dtype=float)
        forces = JointForces.of(model, p)
        if not (0.0 <= smoothing < math.inf):
            raise InvalidRequestError(f"the velocity of smooth friction must be zero or positive, not {smoothing}")
        if stribeck is not None:
            if not (stribeck[0] >= 1.0 and 0.0 < stribeck[1] < math.inf):
                raise InvalidRequestError(
                    f"Stribeck friction needs a ratio over 1 and a positive velocity, not {stribeck}"
                )
            forces = forces.with_stribeck(*stribeck)
        return SimulatedRobot(model, frozen(p), forces.smoothed(smoothing))

    def under_voltage(self, back_emf: Array | None) -> SimulatedRobot:
        """The robot with motors that lose torque with speed [N m s/rad], shape (nv,): damping beside its own."""
        if back_emf is None or not np.any(back_emf):
            return self
        forces = self.forces._replace(viscous=self.forces.viscous + np.diag(np.asarray(back_emf, dtype=float)))
        return replace(self, forces=forces)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @property
    def plant(self) -> Plant:
        """Its rigid bodies, and the springs between them."""
        return Plant(self.robot, self.parameters[: len(self.robot.parameters)], tuple(self._springs()))

    def _springs(self) -> Iterator[PlantSpring]:
        values = dict(zip(self.model.names, self.parameters.tolist(), strict=True))
        for term in self.model.terms:
            if isinstance(term, LinkSpring):
                (first, point), (second, other) = term.ends(self.robot)
                stiffness = values[term.parameters(self.robot)[0].name]
                yield PlantSpring((first, second), (point, other), stiffness, term.rest)


def stated_terms(robot: Robot) -> tuple[str, ...]:
    """The friction and actuator terms that a robot's file gives values for."""
    dynamics = [joint.dynamics for joint in robot.independent_joints]
    names = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}
    return tuple(term for term, key in names.items() if any(getattr(own, key) for own in dynamics))


def nominal_robot(model: DynamicModel) -> tuple[SimulatedRobot, tuple[str, ...]]:
    """The robot as its file has it, and the names of links whose bodies had to be made up."""
    p = np.nan_to_num(model.reference)
    size = len(model.robot.parameters)
    links, made_up = with_made_up_bodies(model.robot, p[:size])
    return SimulatedRobot.of(model, np.concatenate([links, p[size:]])), made_up


def simulated_robot(model: DynamicModel, parameters: Array, settings: SimulationSettings) -> SimulatedRobot:
    """The robot of a simulation: parameters near the file's, payload and friction.

    Args:
        model: The model.
        parameters: Standard parameters p to start from, shape (parameters,).
        settings: What differs from them.

    Raises:
        InvalidRequestError: If a link becomes physically inconsistent.
    """
    p = np.array(parameters)
    nonlinear, values = split_known(model, settings.parameters)
    model = model.at_nonlinear(nonlinear)
    for pattern, value in values.items():
        p[[model.names.index(name) for name in matching([pattern], model.names)]] = value
    if settings.payload is not None:
        _add_payload(model.robot, p, settings.payload)
    _require_consistent(model.robot, p, np.asarray(parameters))
    return SimulatedRobot.of(model, p, smoothing=settings.smoothing, stribeck=settings.stribeck)


def _block(k: int) -> slice:
    """Where the parameters of the k-th solid link stand."""
    return slice(inertia.SIZE * k, inertia.SIZE * (k + 1))


def _add_payload(robot: Robot, p: Array, payload: Payload) -> None:
    """Weld a body to its link, in the parameters p."""
    joint = robot.joints[-1] if payload.joint is None else robot.joint(payload.joint)
    index = robot.joints.index(joint)
    if index not in robot.solid_links:
        raise InvalidRequestError(f"joint '{joint.name}' moves no solid link; name another one for the payload")
    about_com = np.tensordot(np.array(payload.inertia), inertia.INERTIA_BASIS, axes=1)
    body = inertia.from_mass_com_inertia(payload.mass, np.array(payload.com), about_com)
    if inertia.violations(body):
        raise InvalidRequestError(f"the payload cannot exist: {inertia.violations(body)[0]}; change its inertia")
    block = _block(robot.solid_links.index(index))
    p[block] = inertia.with_payload(p[block], body)


def _require_consistent(robot: Robot, p: Array, before: Array) -> None:
    """Refuse links that changes of parameters made physically inconsistent."""
    for k, i in enumerate(robot.solid_links):
        broken = inertia.violations(p[_block(k)])
        if broken and not inertia.violations(before[_block(k)]):
            raise InvalidRequestError(
                f"link '{robot.links[i].name}' cannot exist with the parameters or the payload that were given: "
                f"{broken[0]}; change its mass, first moments and inertia together"
            )


def with_made_up_bodies(robot: Robot, parameters: Array) -> tuple[Array, tuple[str, ...]]:
    """Give a body to every link whose joint has no inertia to move.

    Where no link has any mass, all are given bodies: the plain ones that also stand in for missing priors. Joints that
    move something further out, or whose link has mass, are left as they are, unless all of it lies on their axis.

    Args:
        robot: The robot.
        parameters: Inertial parameters p, shape (10 * solid links,).

    Returns:
        Parameters of the same shape, and the names of the links that were given bodies.
    """
    p = np.array(parameters, dtype=float).reshape(-1, inertia.SIZE)
    nothing = not p.any()
    names = []
    for k in reversed(range(len(robot.solid_links))):
        i = robot.solid_links[k]
        if nothing or _own_inertia(robot, p, i) < LIGHTEST_JOINT:
            p[k] = p[k] + plain_body(robot, i)
            names.append(robot.links[i].name)
    return p.ravel(), tuple(reversed(names))


def _own_inertia(robot: Robot, p: Array, index: int) -> float:
    """Inertia [kg m^2 or kg] that a joint moves with the robot at neutral: its part of the mass matrix's diagonal."""
    total = np.zeros(inertia.SIZE)
    poses: dict[int, Array] = {index: np.eye(4)}
    for j in range(index, len(robot.joints)):
        if j != index:
            if robot.joints[j].parent not in poses:
                continue
            R, t = robot.joints[j].move(robot.neutral[None])
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = R[0], t[0]
            poses[j] = poses[robot.joints[j].parent] @ pose
        if j in robot.solid_links:
            total += inertia.moved(p[robot.solid_links.index(j)], poses[j])
    S = robot.joints[index].subspace[:, 0]
    return float(total[0] * S[:3] @ S[:3] + S[3:] @ inertia.inertia_matrix(total) @ S[3:])
