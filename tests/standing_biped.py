"""A body with two legs that stands on its feet while it moves, exact up to the filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid import Contact, Log, Robot, Stance
from dynid.arrays import Array
from dynid.logs.floating_body import base_poses, contact_torques
from dynid.logs.processing.signals import eighth_order
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointKind
from tests.floating_logs import RATE, Motion, needed
from tests.strategies import random_inertia

LEFT, RIGHT = "left5", "right5"


def two_feet(seed: int) -> Robot:
    """A body with two legs of six joints each."""
    rng = np.random.default_rng(seed)
    bodies, joints = [BodyDescription("trunk", random_inertia(rng))], []
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "trunk"
        for k, (axis, down) in enumerate(zip((2, 0, 1, 1, 1, 0), (0.0, 0.05, 0.0, 0.3, 0.3, 0.0), strict=True)):
            at = np.eye(4)
            at[:3, 3] = [0.0, y if k == 0 else 0.0, -down]
            bodies.append(BodyDescription(f"{side}{k}", random_inertia(rng)))
            joints.append(
                JointDescription(f"{side}_{k}", JointKind.REVOLUTE, parent, f"{side}{k}", at, np.eye(3)[axis])
            )
            parent = f"{side}{k}"
    return assemble(Description("biped", "biped", tuple(bodies), tuple(joints)), floating_base=True)


@dataclass(frozen=True, eq=False)
class Stood:
    """A motion on one foot, with all that could be measured: the wrench on the foot, and torques of the joints."""

    stance: Stance
    motion: Motion
    contact: Contact
    torque: Array

    def log(self, *, wrench: bool = True, torques: bool = False, name: str = "") -> Log:
        """A log of it."""
        return Log(
            time=self.motion.t,
            position=self.motion.q[:, 7:],
            torque=self.torque if torques else None,  # type: ignore[arg-type]
            stance=self.stance,
            contacts=[self.contact if wrench else Contact(self.stance.body)],
            name=name,
        )


def on_one_foot(robot: Robot, foot: str, seed: int, tilt: float = 0.0, seconds: float = 12.0) -> Stood:
    """A motion of all joints while one foot rests, tilted forward by so much [rad]."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    q = np.zeros((len(t), robot.nq))
    for k in range(7, robot.nq):
        q[:, k] = sum(0.2 * np.sin(2 * np.pi * rng.uniform(0.1, 0.7) * t + rng.uniform(0, 6)) for _ in range(3))
    pose = np.eye(4)
    pose[:3, :3] = [[np.cos(tilt), 0.0, np.sin(tilt)], [0.0, 1.0, 0.0], [-np.sin(tilt), 0.0, np.cos(tilt)]]
    stance = Stance(foot, pose)
    q[:, :7] = base_poses(robot, stance, q)
    motion = Motion(t, *robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2)))
    rows = needed(robot, motion)
    of_units = [contact_torques(robot, Contact(foot, np.tile(unit, (len(t), 1))), motion.q) for unit in np.eye(6)]
    effect = np.stack(of_units, axis=2)  # of the wrench on the foot on all rows
    wrench: Array = np.asarray(np.linalg.solve(effect[:, :6], rows[:, :6, None]), dtype=np.float64)
    torque = rows[:, 6:] - (effect[:, 6:] @ wrench)[:, :, 0]
    return Stood(stance, motion, Contact(foot, wrench[:, :, 0]), torque)
