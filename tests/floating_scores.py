"""How well parameters predict a floating robot that they were not identified from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid import DynamicModel, Robot
from dynid.arrays import Array
from dynid.model.dynamic_model import Observed
from tests.floating_kinematics import Frame, centre_of_mass, on_base, poses, pushes
from tests.floating_motions import StandingMotion
from tests.floating_robots import LeggedRobot
from tests.floating_simulation import Run
from tests.references import is_possible_body


@dataclass(frozen=True)
class Score:
    """Figures of inertial parameters of one robot.

    Attributes:
        centre: Root mean square error of the whole-body centre of mass over unseen postures [m].
        worst_centre: Largest of those errors [m].
        wrench: Error of the wrench on the base along an unseen motion, relative to the wrench without the file's
            weight at its mean (see `wrench_errors`).
        force: Root mean square error of that wrench's forces [N].
        torque: Root mean square error of its torques [N m].
        mass: Relative error of the total mass.
        impossible: Number of links that are not physically consistent.
    """

    centre: float
    worst_centre: float
    wrench: float
    force: float
    torque: float
    mass: float
    impossible: int


def score(robot: Robot, found: Array, true: Array, postures: Array, run: Run) -> Score:
    """The figures of parameters.

    Args:
        robot: The robot.
        found: Its links as found, shape (10 * solid links,).
        true: Its links as they are.
        postures: Unseen positions, shape (postures, nq).
        run: What the true robot did along an unseen motion.
    """
    distance = np.linalg.norm(centre_of_mass(robot, found, postures) - centre_of_mass(robot, true, postures), axis=1)
    relative, force, torque = wrench_errors(robot, found, run)
    mass, true_mass = found[::10].sum(), true[::10].sum()
    return Score(
        float(np.sqrt(np.mean(distance**2))),
        float(distance.max()),
        relative,
        force,
        torque,
        float(abs(mass / true_mass - 1.0)),
        sum(not is_possible_body(link) for link in found.reshape(-1, 10)),
    )


def wrench_errors(robot: Robot, found: Array, run: Run, every: int = 20) -> tuple[float, float, float]:
    """Error of the wrench on the base along a run: relative (each channel by its size), forces [N], torques [N m].

    Both wrenches are without noise, at exact states.
    """
    q, v, a = run.q[::every], run.v[::every], run.a[::every]
    W = DynamicModel(robot, (), Observed.WRENCH_MOVING).regressor(q, v, a)
    true = on_base(robot, q, {body: wrench[::every] for body, wrench in run.wrenches.items()})
    error = (W @ found).T - true
    force, torque = (float(np.sqrt(np.mean(error[:, at] ** 2))) for at in (slice(0, 3), slice(3, 6)))
    channels = np.sqrt(np.mean(true**2, axis=0))
    return float(np.sqrt(np.mean((error / channels) ** 2))), force, torque


SLIDING = 0.05
"""Speed [rad/s] from which on dry friction of a joint has its full torque."""


def torque_error(legged: LeggedRobot, links: Array, joints: Array, run: Run, every: int = 20) -> float:
    """Error of the torques of joints that slide along a run, at exact states, relative to these torques.

    Args:
        legged: The robot.
        links: Its links, shape (10 * solid links,).
        joints: Viscous friction, Coulomb friction and motor inertia of its joints, shape (3, joints).
        run: What the true robot did, with the forces at its feet.
        every: Every so many-th sample counts.
    """
    robot, (q, v, a) = legged.robot, (x[::every] for x in (run.q, run.v, run.a))
    of_all, feet = poses(robot, q), tuple(run.wrenches)
    world = []
    for body in feet:
        turn = Frame.of(robot, body).pose(of_all)[:, :3, :3]
        wrench = run.wrenches[body][::every]
        world += [turn @ wrench[:, :3, None], turn @ wrench[:, 3:, None]]
    held = (pushes(robot, q, feet) @ np.concatenate(world, axis=1))[:, 6:, 0]
    speed = v[:, 6:]
    found = DynamicModel(robot, ()).inverse_dynamics(q, v, a, links)[:, 6:] - held
    found += joints[0] * speed + joints[1] * np.sign(speed) + joints[2] * a[:, 6:]
    slides, true = np.abs(speed) > SLIDING, run.torque[::every]
    return float(np.linalg.norm((found - true)[slides]) / np.linalg.norm(true[slides]))


def unseen_postures(motion: StandingMotion) -> Array:
    """Positions in the middle of the postures that a motion holds, shape (postures, nq)."""
    q, _, _ = motion.states(motion.holds.mean(axis=1))
    return q
