"""Offsets of sensors at contacts: what they show without a load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.external_wrenches import joint_torques
from dynid.model.parameters import Parameter
from dynid.model.terms.term import Term
from dynid.robot import CHANNELS, Robot, place_of_body


class ContactOffset(Term):
    """Constant offsets `o` of force-torque sensors at contacts: measured wrenches are `F + o`.

    In the rows of the dynamics they are `J' o`. The parameters are `oFx6` and so on, with the number of the joint that
    moves the body; forces [N] and torques [N m] are along the axes of the body and about its origin. What
    cannot be separated from offsets, such as the weight of a robot that never tilts, is one base parameter with them.

    Args:
        bodies: Names of the bodies.
    """

    needs = frozenset("q")

    def __init__(self, bodies: Sequence[str]) -> None:
        self.bodies = tuple(bodies)
        if not self.bodies:
            raise InvalidRequestError("contact_offset needs the bodies with sensors: contact_offset:BODY:BODY...")

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """Six for each body."""
        found = []
        for body in self.bodies:
            joint = robot.joints[place_of_body(robot, body)[0]]
            units = ("N", "N", "N", "N m", "N m", "N m")
            found += [
                Parameter(f"o{channel}{joint.number}", unit, body, joint=joint.name)
                for channel, unit in zip(CHANNELS, units, strict=True)
            ]
        return tuple(found)

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The columns of `J'` in the rows of all joints that move the body."""
        for k, body in enumerate(self.bodies):
            link, placement = place_of_body(robot, body)
            rows = sorted({row for i in robot.chain(link) for row in range(robot.nv)[robot.joints[i].v]})
            for channel, unit in enumerate(np.eye(len(CHANNELS))):
                torques = joint_torques(robot, link, placement, q, np.broadcast_to(unit, (len(q), len(CHANNELS))))
                for row in rows:
                    yield row, len(CHANNELS) * k + channel, torques[:, row]
