"""Samples of a stream as the model takes them: whole positions, torques at the joints, wrenches of contacts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs import Contact, Drive, Log, Stance, Transmission, floating_body, streams, transmission_of
from dynid.model import WRENCH, DynamicModel
from dynid.robot import Robot, place_of_body


@dataclass(frozen=True, eq=False)
class LiveSamples:
    """What turns samples into what a stream takes.

    Attributes:
        model: The model.
        contacts: Bodies that surroundings act on, with the pose of the force plate below each, shape (4, 4); None for a
            sensor in the body.
        stance: The body that rests on the ground, from which the pose of the base follows; None where samples have it.
        drive: From motors to joints.
        unmeasured: Names of rows that do not count, beside those that the model does not observe.

    Raises:
        InvalidRequestError: If contacts or a stance are stated for a robot whose base is fixed, or are missing.
        UnknownNameError: If a body is not of the robot.
    """

    model: DynamicModel
    contacts: Mapping[str, Array | None] = field(default_factory=dict)
    stance: Stance | None = None
    drive: Drive = field(default_factory=Drive)
    unmeasured: Collection[str] = ()

    def __post_init__(self) -> None:
        robot, bodies = self.model.robot, [*self.contacts, *([] if self.stance is None else [self.stance.body])]
        for body in bodies:
            place_of_body(robot, body)
        if bodies and not robot.has_floating_base:
            raise InvalidRequestError(
                f"the base of '{robot.name}' is fixed, and contacts or a stance are stated; free it with "
                "--floating-base (floating_base=True), or leave them out"
            )
        if any(joint.kind.nv > 1 for joint in robot.joints[int(robot.has_floating_base) :]):
            raise InvalidRequestError(f"'{robot.name}' has spherical joints, whose samples cannot be streamed")
        if robot.has_floating_base and WRENCH in self.model.observed.measured and not self.contacts:
            raise InvalidRequestError(
                f"the base of '{robot.name}' is free: say what holds it, with --plate BODY for each body on a force "
                "plate or --contact BODY for each sensor in a body, or load it with a fixed base"
            )

    @cached_property
    def _body(self) -> floating_body.FloatingBody:
        return floating_body.FloatingBody(self.model)

    @cached_property
    def _transmission(self) -> Transmission | None:
        return None if self.model.robot.has_quaternions else transmission_of(self.drive, self.model.robot)

    @cached_property
    def _observed(self) -> list[int]:
        """Columns of torques that the model's rows are of."""
        base = 6 if self.model.robot.has_floating_base else 0
        return [row - base for row in self.model.row_indices if row >= base]

    @cached_property
    def form(self) -> streams.SampleForm:
        """What each sample must have."""
        floats = self.model.robot.has_floating_base
        base, count = 6 if floats else 0, self._body.torque_columns
        rows = zip(self.model.row_names, self.model.row_indices, strict=True)
        measured = {row - base for name, row in rows if name not in self.unmeasured}
        return streams.SampleForm(
            self._body.position_columns,
            self._body.torque_columns,
            tuple(self.contacts),
            needs_pose=floats and self.stance is None,
            needs_torque=bool(self._observed),
            silent=tuple(k for k in range(count) if k not in measured) if self._observed else (),
        )

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    def posture(self, sample: streams.Sample, before: Array | None = None) -> Array:
        """Positions of the whole robot, shape (nq,), whose quaternion goes on from those before."""
        robot = self.robot
        if not robot.has_floating_base:
            assert self._transmission is not None
            return self._transmission.joint_positions(sample.position[None])[0]
        q = np.concatenate([robot.neutral[:7], sample.position])
        if self.stance is not None:
            q[:7] = floating_body.base_positions(robot, floating_body.base_poses(robot, self.stance, q[None]))[0]
        elif sample.base_pose is not None:
            q[:7] = floating_body.base_positions(robot, sample.base_pose[None])[0]
        if before is not None and q[3:7] @ before[3:7] < 0.0:
            q[3:7] *= -1.0
        return q

    def torques(self, samples: Sequence[streams.Sample]) -> Array | None:
        """Torques [N m or N], shape (samples, joints), of other than floating robots those that the model observes.

        None where it observes none.
        """
        if not self._observed:
            return None
        found = np.array([sample.torque for sample in samples], dtype=float)
        found = found if self._transmission is None else self._transmission.joint_torques(found)
        return found if self.model.robot.has_floating_base else found[:, self._observed]

    def contacts_of(self, samples: Sequence[streams.Sample]) -> Sequence[Contact] | None:
        """What the surroundings exert on the robot; None for a fixed base."""
        if not self.robot.has_floating_base:
            return None
        return [
            Contact(body, np.array([sample.wrenches[body] for sample in samples]), pose)
            for body, pose in self.contacts.items()
        ]


def contacts_of_log(log: Log) -> dict[str, Array | None]:
    """The contacts of a log whose wrenches were measured, with their plates."""
    return {contact.body: contact.pose for contact in log.contacts or () if contact.wrench is not None}
