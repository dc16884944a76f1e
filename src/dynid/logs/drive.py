"""The drive chain as data: from what motors do to what joints do.

Motor positions are N times joint positions, with the transmission matrix N: gear ratios on the diagonal, and beside it
the couplings of drives that turn each other. By the same power on both sides, joint torques are N' times motor torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.logs.settings import Drive
from dynid.robot import Robot, matrix_of

if TYPE_CHECKING:
    from dynid.logs.floating_body import FloatingBody


@dataclass(frozen=True, eq=False)
class Transmission:
    """The drives of a robot's joints in numbers.

    Attributes:
        matrix: N, shape (joints, joints): motor velocities = N joint velocities.
        torque_constants: Motor torque per unit of what was logged (N m/A for currents, 1 for torques), with the sign
            of the drive; shape (joints,).
        offsets: What the encoders show at joint position zero [rad or m, on the joint's side], shape (joints,).
        positions_at_motor: Whether positions and velocities were logged on the motors' side.
        torques_at_motor: Whether torques or currents were logged on the motors' side.
        body: What knows the whole robot, where its base is free or joints have several axes; None for other robots.
        dry: Directions of joint velocities, besides the joints' own, along which dry friction acts, shape (count,
            joints), each with 1 at the joint that counts; None for none.
    """

    matrix: Array
    torque_constants: Array
    offsets: Array
    positions_at_motor: bool = True
    torques_at_motor: bool = True
    dry: Array | None = None
    body: FloatingBody | None = None

    @property
    def driven(self) -> slice | NDArray[np.intp]:
        """Columns of logged positions that belong to joints with drives: all, but for those of spherical joints."""
        return slice(None) if self.body is None else self.body.driven[0]

    @property
    def driven_rows(self) -> slice | NDArray[np.intp]:
        """The same of logged torques."""
        return slice(None) if self.body is None else self.body.driven[1]

    def moving(self, velocity: Array, threshold: Array) -> NDArray[np.bool_]:
        """Which joints, and whatever else has dry friction and drives them, are as fast as a threshold.

        Args:
            velocity: Joint velocities, shape (samples, joints).
            threshold: Smallest speed of each joint [rad/s or m/s], shape (joints,).

        Returns:
            Array of shape (samples, joints).
        """
        fast = np.abs(velocity) >= threshold
        for direction in () if self.dry is None else self.dry:
            slowest = threshold[np.argmax(np.abs(direction))]
            fast[:, direction != 0.0] &= (np.abs(velocity @ direction) >= slowest)[:, None]
        return fast

    @staticmethod
    def of(
        ratios: Sequence[float] | Sequence[Sequence[float]] | Array,
        couplings: Sequence[tuple[int, int, float]] = (),
        torque_constants: Sequence[float] | None = None,
        offsets: Sequence[float] | None = None,
        *,
        positions_at_motor: bool = True,
        torques_at_motor: bool = True,
    ) -> Transmission:
        """Make drives from what data sheets say.

        Args:
            ratios: Gear ratios with sign (motor revolutions per joint revolution), one per joint; or the whole
                transmission matrix N, one row per motor, for differentials and the like.
            couplings: Triples (motor, joint, ratio), counted from 0: that motor also turns with that other joint.
            torque_constants: Motor torque per unit of what was logged; one when None.
            offsets: What the encoders show at joint position zero [rad or m]; zero when None.
            positions_at_motor: Whether positions and velocities were logged on the motors' side.
            torques_at_motor: Whether torques or currents were logged on the motors' side.

        Raises:
            InvalidRequestError: If the transmission cannot be inverted, or a number is not finite.

        >>> Transmission.of([45, 32], couplings=[(1, 0, 32)]).matrix.tolist()
        [[45.0, 0.0], [32.0, 32.0]]
        >>> Transmission.of([[-50, 50], [50, 50]]).joint_torques(np.array([[1.0, 3.0]])).tolist()
        [[100.0, 200.0]]
        """
        n = len(ratios)
        N = np.array(ratios, dtype=float)
        if N.shape not in ((n,), (n, n)):
            raise ShapeError("the transmission matrix", f"({n}, {n})", N.shape)
        is_matrix = N.ndim == 2
        N = N if is_matrix else np.diag(N)
        for motor, joint, ratio in couplings:
            if motor == joint or not (0 <= motor < n and 0 <= joint < n):
                raise InvalidRequestError(f"a coupling needs two drives of 0 to {n - 1}, not {motor} and {joint}")
            N[motor, joint] = ratio
        constants = np.ones(n) if torque_constants is None else np.asarray(torque_constants, dtype=float)
        zeros = np.zeros(n) if offsets is None else np.asarray(offsets, dtype=float)
        for what, values in (("torque constants", constants), ("offsets", zeros)):
            if values.shape != (n,):
                raise ShapeError(what, f"({n},)", values.shape)
        if not (np.isfinite(N).all() and np.isfinite(constants).all() and np.isfinite(zeros).all()):
            raise InvalidRequestError("gear ratios, torque constants and offsets must be finite numbers")
        if (not is_matrix and (np.diag(N) == 0.0).any()) or np.linalg.cond(N) > 1e12:
            raise InvalidRequestError(
                "the transmission cannot be inverted: a gear ratio is zero, or couplings cancel it"
            )
        return Transmission(frozen(N), frozen(constants), frozen(zeros), positions_at_motor, torques_at_motor)

    def joint_positions(self, logged: Array) -> Array:
        """Joint positions [rad or m] of logged ones, both of shape (samples, joints)."""
        return self._at_joints(logged) - self.offsets

    def joint_velocities(self, logged: Array) -> Array:
        """Joint velocities or accelerations of logged ones, both of shape (samples, joints)."""
        return self._at_joints(logged)

    def joint_torques(self, logged: Array) -> Array:
        """Joint torques [N m or N] of logged torques or currents, both of shape (samples, joints)."""
        torques = self._checked(logged) * self.torque_constants
        return torques @ self.matrix if self.torques_at_motor else torques

    def _at_joints(self, logged: Array) -> Array:
        values = self._checked(logged)
        return np.asarray(np.linalg.solve(self.matrix, values.T).T, float) if self.positions_at_motor else values

    def _checked(self, logged: Array) -> Array:
        n = len(self.matrix)
        if logged.ndim != 2 or logged.shape[1] != n:
            raise ShapeError("logged signals", f"(samples, {n})", logged.shape)
        return logged


def transmission_of(drive: Drive, robot: Robot) -> Transmission:
    """The drives of a robot in numbers; one to one where nothing is stated. Signs that are yet to be found are +1.

    Raises:
        InvalidRequestError: If there are not as many numbers as joints, or the transmission cannot be inverted.
        UnknownNameError: If a coupling names no joint of the robot.
    """
    for key in ("ratios", "matrix", "torque_constants", "signs", "offsets"):
        values = getattr(drive, key)
        check_count(f"drive.{key}", None if isinstance(values, str) else values, robot)
    stated = drive.torque_constants
    axes = [joint.v.start for joint in robot.axes]

    def place(key: str) -> int:
        return axes.index(robot.joint(key).v.start)

    constants = list(stated if isinstance(stated, tuple) else (1.0,) * len(axes))
    for k, sign in enumerate(drive.signs or () if drive.signs != "auto" else ()):
        constants[k] *= sign
    matrix, offsets = drive.matrix, drive.offsets
    if matrix == "robot":
        matrix, zeros = matrix_of(robot)
        offsets = tuple((-zeros).tolist()) if offsets is None else offsets
    return Transmission.of(
        matrix if matrix is not None else drive.ratios or (1.0,) * len(axes),
        [(place(coupling.motor), place(coupling.joint), coupling.ratio) for coupling in drive.couplings],
        constants,
        offsets,
        positions_at_motor=drive.positions == "motor",
        torques_at_motor=drive.torques == "motor",
    )


def check_count(key: str, values: Sequence[object] | None, robot: Robot) -> None:
    """Refuse settings that have not as many values as the robot has joints."""
    count = len(robot.axes)
    if values is not None and len(values) != count:
        raise InvalidRequestError(f"{key} has {len(values)} numbers, and '{robot.name}' has {count} joints")


def gain_stds(drive: Drive, robot: Robot) -> Array | None:
    """Standard deviations of torque constants relative to them, shape (joints,); None where none are stated.

    Raises:
        InvalidRequestError: If there are not as many numbers as joints.
    """
    stated = drive.torque_constant_std
    if stated is None:
        return None
    if isinstance(stated, tuple):
        check_count("drive.torque_constant_std", stated, robot)
    return np.broadcast_to(np.asarray(stated, dtype=float), (len(robot.axes),)).copy()
