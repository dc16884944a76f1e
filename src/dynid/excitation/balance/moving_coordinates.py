"""Which coordinates of a standing robot move: some for identification, some to keep the balance; all others rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Indices
from dynid.errors import InvalidRequestError
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.stance import Stance
from dynid.robot import Robot


@dataclass(frozen=True, eq=False)
class MovingCoordinates:
    """Free columns of velocities, by their purpose; legs of several feet follow, and the base stands for them.

    Attributes:
        drawn: Those that take random values for identification.
        balancing: Those that may change to keep the balance; these may be drawn, too.
    """

    drawn: Indices
    balancing: Indices

    @property
    def base_moves(self) -> bool:
        """Whether the pose of the base is free, so that the legs of several feet move."""
        return bool((self.drawn < 6).any() or (self.balancing < 6).any())

    def joints(self, stance: Stance) -> Indices:
        """Indices of all joints that move, those of legs that follow among them."""
        moving = np.concatenate([self.drawn, self.balancing, stance.dependent if self.base_moves else self.drawn])
        return np.unique(moving[moving >= 6]) - 6

    @staticmethod
    def of(stance: Stance, settings: BalanceSettings, held: Iterable[str]) -> MovingCoordinates:
        """What settings ask for.

        Args:
            stance: The robot on its feet.
            settings: Joints by their purpose.
            held: Names of joints, such as those of grippers, that rest unless the settings name them.

        Raises:
            UnknownNameError: If there is no joint of a name.
            InvalidRequestError: If a joint cannot move by itself, or none moves.
        """
        robot = stance.robot
        resting = {robot.joint(name).v.start for name in held}
        every = [one.v.start for one in robot.independent_joints[1:] if one.kind.nv == 1 and one.v.start not in resting]
        identify = None if settings.identify is None else _columns(robot, settings.identify)
        balance = None if settings.balance is None else _columns(robot, settings.balance)
        if identify is None:
            identify = [k for k in every if k not in (balance or ())]
        if balance is None:
            balance = (
                every if settings.identify is None else [*map(int, stance.dependent)] if not stance.is_single else []
            )
        legs = set() if stance.is_single else set(map(int, stance.dependent))
        moving = {*identify, *balance}
        drawn, balancing = ([k for k in part if k not in legs] for part in (identify, balance))
        if legs and legs <= moving:
            base = list(range(6))
            drawn = [*base, *drawn] if legs <= set(identify) else drawn
            balancing = [*base, *balancing]
        if not drawn:
            raise InvalidRequestError(
                f"no joint of '{robot.name}' moves for identification: name joints in [excitation.balance] identify, "
                "or leave identify and balance out"
            )
        if not stance.is_single and settings.balance is None and settings.identify is None:
            balancing = list(range(6))
        return MovingCoordinates(
            np.array(sorted(drawn), dtype=np.intp), np.array(sorted(set(balancing)), dtype=np.intp)
        )


def _columns(robot: Robot, names: Iterable[str]) -> list[int]:
    found = []
    for name in names:
        joint = robot.joint(name)
        if joint.kind.nv != 1 or joint.leader is not None:
            raise InvalidRequestError(
                f"joint '{joint.name}' does not move by itself; name joints that turn or slide in [excitation.balance]"
            )
        found.append(joint.v.start)
    return found
