"""Robots that stand, for tests: files of the example-robot-data wheel, on their feet."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from dynid import load_robot
from dynid.arrays import Array
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.moving_coordinates import MovingCoordinates
from dynid.excitation.balance.stance import Stance
from dynid.excitation.balance.standing_home import home_of
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_pool import StandingPool
from dynid.excitation.settings import ExcitationSettings
from dynid.robot.pinocchio import to_pinocchio

TALOS = "talos_data/robots/talos_reduced.urdf"
TWO_SOLES = ("left_sole_link", "right_sole_link")
G1 = "g1_description/urdf/g1_29dof_rev_1_0.urdf"
SOLES_OF_G1 = ("left_ankle_roll_link", "right_ankle_roll_link")
GO1 = "go1_description/urdf/go1.urdf"
FOUR_FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def robot_path(name: str) -> Path:
    """A file of the wheel; the test is skipped where it is not there."""
    path = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots" / name
    if not path.exists():
        pytest.skip(f"the installed example-robot-data has no {name}")
    return path


@cache
def source_of(name: str, stands_on: tuple[str, ...]) -> StandingPool:
    """Where random postures of a robot on its feet come from, without collisions."""
    robot = load_robot(robot_path(name), floating_base=True)
    balance, settings = BalanceSettings(stands_on=stands_on), ExcitationSettings(collisions=False)
    stance = Stance.of(robot, balance)
    held = [joint.name for joint in robot.joints if "gripper" in joint.name]
    moving = MovingCoordinates.of(stance, balance, held)
    limits, _ = StandingLimits.of(ClosedLegs(stance), moving.joints(stance), settings, balance)
    return StandingPool(limits, moving, home_of(limits, moving, np.random.default_rng(0)))


class Standing:
    """The same robot in Pinocchio, with frames at its feet."""

    def __init__(self, source: StandingPool) -> None:
        stance = source.limits.stance
        self.model = to_pinocchio(stance.robot)
        self.feet = [
            self.model.addFrame(
                pin.Frame(foot.body, foot.link + 1, 0, pin.SE3(np.array(foot.placement)), pin.FrameType.OP_FRAME)
            )
            for foot in stance.feet
        ]
        self.data = self.model.createData()

    def foot_poses(self, q: Array) -> list[Array]:
        """Poses of all feet in the world, each of shape (4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return [self.data.oMf[foot].homogeneous for foot in self.feet]

    def wrench(self, q: Array, v: Array, a: Array) -> Array:
        """The ground's wrench about the origin of the world, shape (6,)."""
        on_base = pin.Force(pin.rnea(self.model, self.data, q, v, a)[:6])
        return np.asarray(pin.XYZQUATToSE3(q[:7]).act(on_base).vector)

    def zero_moment_point(self, q: Array, v: Array, a: Array) -> Array:
        """Where the ground's force acts on the ground, shape (2,)."""
        wrench = self.wrench(q, v, a)
        return np.array([-wrench[4], wrench[3]]) / wrench[2]
