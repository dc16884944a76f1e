"""What lies between the joint torques of generated code and the signals of a result's logs, in sentences of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array
from dynid.identification.result import Result
from dynid.logs.drive import Transmission, transmission_of


def drive_notes(result: Result) -> tuple[str, ...]:
    """How logged signals follow from positions and torques of joints; nothing where they are those.

    Nothing is said of robots with a free base or joints of several axes, whose drives are not one a column.
    """
    robot, drive = result.model.robot, result.task.drive
    if drive.signs == "auto" or len(robot.axes) != robot.nv:
        return ()
    return tuple(_sentences(transmission_of(drive, robot)))


def _sentences(drive: Transmission) -> Iterator[str]:
    N, k, offsets = drive.matrix, drive.torque_constants, drive.offsets
    geared, scaled, shifted = bool(np.any(np.eye(len(N)) != N)), bool((k != 1.0).any()), bool(offsets.any())
    torques_at_motor, positions_at_motor = drive.torques_at_motor and geared, drive.positions_at_motor and geared
    if torques_at_motor or scaled:
        logged = "currents or torques" if scaled else "torques"
        factors = ("N^T " if torques_at_motor else "") + ("K " if scaled else "")
        of = " of the motors" if torques_at_motor else ""
        yield f"Torques tau are those of the joints. The logs had {logged} u{of}: tau = {factors}u."
    if positions_at_motor or shifted:
        place = "q + offsets" if shifted else "q"
        logged = (f"N ({place})" if shifted else "N q") if positions_at_motor else place
        of = " of the motors" if positions_at_motor else ""
        yield f"Positions q are those of the joints. The logs had positions{of}: {logged}."
    if torques_at_motor or positions_at_motor:
        yield f"N, row by row (motor velocities are N v): {'; '.join(map(_numbers, N))}."
    if scaled:
        yield f"K, a diagonal matrix: {_numbers(k)}."
    if shifted:
        yield f"Offsets [rad or m]: {_numbers(offsets)}."


def _numbers(values: Array) -> str:
    return ", ".join(f"{value:.9g}" for value in values.tolist())
