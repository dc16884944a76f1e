"""Logs of simulated experiments, in the formats that real ones come in, with the truth in a file of its own."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from dynid.data.recording import Recording
from dynid.errors import InvalidRequestError
from dynid.files import write_bytes
from dynid.robot.robot import Robot
from dynid.simulation.experiment import Run, SimulatedRobot

FORMATS = (".csv", ".parquet", ".npz")
"""How the name of a log may end."""


def write_log(path: Path, recording: Recording, robot: Robot, *, overwrite: bool = False) -> None:
    """Write a log with the columns t, q_1, q_2, ... and tau_1, tau_2, ..., after the joints' numbers.

    Args:
        path: The file; it ends in .csv, .parquet or .npz.
        recording: What was logged.
        robot: The robot.
        overwrite: Whether an existing file may be replaced.
    """
    if path.suffix not in FORMATS:
        raise InvalidRequestError(f"the log '{path}' must end in {', '.join(FORMATS)}")
    numbers = [joint.number for joint in robot.independent_joints]
    columns = {"t": recording.time}
    columns |= {f"q_{number}": recording.q[:, k] for k, number in enumerate(numbers)}
    columns |= {f"tau_{number}": recording.torque[:, k] for k, number in enumerate(numbers)}
    stream = io.BytesIO()
    if path.suffix == ".npz":
        np.savez_compressed(stream, **columns)  # type: ignore[arg-type]
    else:
        import polars as pl

        frame = pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})
        frame.write_csv(stream) if path.suffix == ".csv" else frame.write_parquet(stream)
    write_bytes(path, stream.getvalue(), overwrite=overwrite)


def write_truth(path: Path, robot: SimulatedRobot, run: Run, *, overwrite: bool = False) -> None:
    """Write what really was: exact states and torques, and the parameters with their names, as NPZ without pickle."""
    stream = io.BytesIO()
    names = np.array(robot.model.names)
    np.savez_compressed(stream, names=names, parameters=robot.parameters, **vars(run))
    write_bytes(path, stream.getvalue(), overwrite=overwrite)
