"""Logs of simulated experiments, in the formats that real ones come in, with the truth in a file of its own."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.files import write_bytes
from dynid.logs.log import Log
from dynid.robot.robot import Robot
from dynid.simulation.closed_loop import Run, SimulatedRobot

FORMATS = (".csv", ".parquet", ".npz")
"""How the name of a log may end."""

FRICTION = ("direction", "kinetic", "breakaway", "stribeck", "smoothing", "sigmoid")
"""What the truth holds of dry friction."""


def check_format(path: Path) -> None:
    """Refuse a log whose name does not end in one of `FORMATS`."""
    if path.suffix not in FORMATS:
        raise InvalidRequestError(f"the log '{path}' must end in {', '.join(FORMATS)}")


def write_log(path: Path, recording: Log, robot: Robot, *, overwrite: bool = False) -> None:
    """Write a log with the columns t, q_1, q_2, ... and tau_1, tau_2, ..., after the joints' numbers.

    Args:
        path: The file; it ends in .csv, .parquet or .npz.
        recording: What was logged.
        robot: The robot.
        overwrite: Whether an existing file may be replaced.
    """
    check_format(path)
    numbers = [joint.number for joint in robot.independent_joints]
    columns = {"t": recording.time}
    columns |= {f"q_{number}": recording.position[:, k] for k, number in enumerate(numbers)}
    columns |= {f"tau_{number}": recording.torque[:, k] for k, number in enumerate(numbers)}
    stream = io.BytesIO()
    if path.suffix == ".npz":
        np.savez_compressed(stream, **columns)  # type: ignore[arg-type]
    else:
        import polars as pl

        frame = pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})
        frame.write_csv(stream) if path.suffix == ".csv" else frame.write_parquet(stream)
    write_bytes(path, stream.getvalue(), overwrite=overwrite)


def write_truth(
    path: Path, robot: SimulatedRobot, run: Run, torque_constants: Array | None = None, *, overwrite: bool = False
) -> None:
    """Write what really was: exact states and torques, parameters with their names, friction and torque constants.

    The file is an NPZ without pickle. Arrays of friction have a row for each dry element, as in `JointForces`.

    Args:
        path: The file.
        robot: The robot that was simulated.
        run: What it did.
        torque_constants: True torque constants in parts of the stated ones, shape (nv,); ones when None.
        overwrite: Whether an existing file may be replaced.
    """
    stream = io.BytesIO()
    friction = {f"friction_{name}": getattr(robot.forces, name) for name in FRICTION}
    np.savez_compressed(
        stream,
        names=np.array(robot.model.names),
        parameters=robot.parameters,
        torque_constants=np.ones(run.q.shape[1]) if torque_constants is None else torque_constants,
        **friction,
        **vars(run),
    )
    write_bytes(path, stream.getvalue(), overwrite=overwrite)
