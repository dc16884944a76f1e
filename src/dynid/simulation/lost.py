"""Why a simulated robot no longer follows, in words that say what to change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.simulation.desired_motion import Reference
from dynid.simulation.settings import Controller
from dynid.simulation.simulated_robot import SimulatedRobot

if TYPE_CHECKING:
    from dynid.simulation.engine import Instance

SINGULAR_INERTIA = 1e-13
"""Smallest eigenvalue of a mass matrix whose diagonal was scaled to one: below, some motion has no inertia."""


@dataclass(frozen=True)
class LostThresholds:
    """What is blamed where a simulated robot no longer follows.

    Shown by `tests/simulation/test_lost_robots.py`: weak and unstable controllers, and gravity beyond a limit.
    """

    saturated_share: float = 0.5
    """Share of the last ticks at the effort limit from which that is to blame."""

    unstable_frequency: float = 1.0
    """Angular frequency of a controller's errors, times the time between its ticks, from which it is likely unstable:
    torques held for a tick are late by half of it."""

    falling_frequency: float = 0.01
    """The same below which it cannot be unstable: then the robot falls."""


THRESHOLDS = LostThresholds()


class LostError(DynidError):
    """A simulated robot does not follow its trajectory.

    Attributes:
        time: When it was stopped [s]; before zero in a lead-in.
        joint: The joint that follows no longer, or that has no inertia.
    """

    def __init__(self, time: float, joint: str, text: str) -> None:
        self.time = time
        self.joint = joint
        super().__init__(text)


def impossible(time: float, when: str, joint: str) -> LostError:
    """The mass matrix is not positive definite."""
    text = (
        f"the mass matrix is not positive definite at {when}: joint '{joint}' has no inertia, or less than none; see "
        "dynid inspect, add motor inertia, or take physical links"
    )
    return LostError(time, joint, text)


def without_inertia(M: Array) -> int | None:
    """The coordinate that moves most where a mass matrix, shape (nv, nv), has no inertia; None where it has.

    Coordinates are scaled first, so that fingers beside legs do not count as nothing.
    """
    diagonal = np.diag(M)
    if not diagonal.min() > 0.0:
        return int(np.argmin(diagonal))
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(0.5 * (M + M.T) * np.outer(scale, scale))
    return None if values[0] > SINGULAR_INERTIA else int(np.argmax(np.abs(vectors[:, 0])))


def lost(
    robot: SimulatedRobot,
    instance: Instance,
    controller: Controller,
    reference: Reference,
    q: Array,
    end: tuple[int, int, int],
    saturated: Array,
) -> LostError:
    """Why a run ended early.

    Args:
        robot: The robot.
        instance: The same in MuJoCo.
        controller: Its controller.
        reference: What it should have followed.
        q: Where it was in the end [rad or m], shape (nv,).
        end: How it ended, at which tick and at which coordinate, as `loop.run` says.
        saturated: Share of the last ticks that each joint was at its limit, shape (nv,).
    """
    from dynid.simulation import loop
    from dynid.simulation.engine import mass_and_gravity

    how, tick, joint = end
    time, when = (tick - reference.first) / reference.rate, reference.in_words(tick)
    names = [joint.name for joint in robot.robot.independent_joints]
    if how == loop.NOT_POSITIVE:
        M, _ = mass_and_gravity(instance, q)
        return impossible(time, when, names[without_inertia(M + robot.forces.inertia) or 0])
    limits, gravity = controller.limits(robot.robot), mass_and_gravity(instance, reference.states[0, tick])[1]
    speed = 2.0 * math.pi * float(np.max(controller.bandwidth)) / controller.rate  # of the errors, per tick
    worst = joint if saturated[joint] > THRESHOLDS.saturated_share else int(np.argmax(saturated))
    heavy = int(np.argmax(np.abs(gravity) / limits))
    if how == loop.ALTERNATES:
        why = "the controller is unstable, its torque jumps from limit to limit; lower the bandwidth, or raise the rate"
    elif saturated[worst] > THRESHOLDS.saturated_share and abs(gravity[heavy]) > limits[heavy]:
        why = (
            f"gravity alone takes {abs(gravity[heavy]):.4g} at joint '{names[heavy]}', and its effort limit is "
            f"{limits[heavy]:.4g}; choose another posture, raise the limit, or set saturates = false"
        )
    elif saturated[worst] > THRESHOLDS.saturated_share and speed < THRESHOLDS.unstable_frequency:
        why = (
            f"the torque of joint '{names[worst]}' is at its effort limit of {limits[worst]:.4g}; move more slowly, or "
            "raise the limit"
        )
    elif speed >= THRESHOLDS.unstable_frequency or (how == loop.FAST and speed > THRESHOLDS.falling_frequency):
        why = "the controller is unstable; lower the bandwidth, or raise the rate"
    else:
        why = "the controller is too weak; raise the bandwidth, or let it compensate gravity"
    return LostError(time, names[joint], f"stopped at {when}, when joint '{names[joint]}' no longer followed: {why}")
