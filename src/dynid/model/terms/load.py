"""Coulomb friction that grows with what the joint carries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import inertial_regressor
from dynid.model.parameters import Role
from dynid.model.terms.linear_terms import sign
from dynid.model.terms.term import STEP, TermOfJoints
from dynid.robot import Robot

PIECE = 4000
"""Samples whose loads are found at a time, to bound memory."""

UNKNOWN = (1.0, 0.11, 0.13, 0.17, 0.1, 0.01, 0.12, 0.02, 0.03, 0.14)
"""Inertial parameters of a link of which nothing is known yet: 1 kg, at some distance from its joint."""


class LoadCoulomb(TermOfJoints):
    """Coulomb friction fl |load| sign(v): fl is friction per torque of the load, the torque that the links need.

    The load is that of the links as they are known: of the robot's file at first, then of the estimate, and again,
    until nothing changes. Use it beside `Coulomb`, which is friction without a load.

    Args:
        joints: As `TermOfJoints`.
        links: Inertial parameters of the links, shape (10 * solid links,); the robot file's when None.
        width: As `TermOfJoints`.
    """

    symbols = ("fl",)
    units = ("1",)
    roles = (Role.LOAD,)
    needs = frozenset("qva")
    needs_links = True

    def __init__(
        self, joints: Sequence[str | int] | None = None, links: Array | None = None, width: float = 0.0
    ) -> None:
        super().__init__(joints, width)
        self.links = links

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The size of each joint's load, with the sign of its velocity."""
        loads = self._loads(robot, q, v, a)
        for column, joint in enumerate(self.joints_of(robot)):
            row = joint.v.start
            yield row, column, np.abs(loads[row]) * sign(v[:, row], self.width)

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """By central differences, but for the jumps of signs."""
        for row, parameter, over, coordinate, values in super().slopes(robot, q, v, a):
            at_jump = (np.abs(v[:, row]) <= STEP) & (self.width == 0.0)
            yield row, parameter, over, coordinate, np.where(at_jump, 0.0, values)

    def with_links(self, parameters: Array) -> LoadCoulomb:
        """The same on other links."""
        return self._with(links=np.asarray(parameters, dtype=float))

    def typical(self) -> LoadCoulomb:
        """The same on links that have all there is of load."""
        return self._with(links=None)

    def _loads(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torques of the links, shape (nv, samples)."""
        links = self.links
        if links is None:
            stated = [robot.links[i] for i in robot.solid_links]
            links = np.concatenate([link.parameters if link.has_inertia else np.array(UNKNOWN) for link in stated])
        pieces = [slice(k, k + PIECE) for k in range(0, len(q), PIECE)]
        return np.concatenate([inertial_regressor(robot, q[p], v[p], a[p]) @ links for p in pieces], axis=1)
