"""Trajectories for others: CSV, JSON with coefficients, ROS messages, URScript programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, FileProblemError, InvalidRequestError
from dynid.excitation.trajectories.family import Moves, Trajectory
from dynid.excitation.trajectories.fourier import Fourier

SCHEMA = "dynid-trajectory-1"
"""What a file of coefficients says of itself."""

_SERVO_STEP = 0.008
"""Time between set points of a UR arm [s]."""
_SAME_TIME = 1e-9
"""Times [s] that are nearer than this are the same."""
_AT_REST = 1e-9
"""Velocities and accelerations of ends below this [rad or m, s] are rounding."""


class TrajectoryFileError(FileProblemError):
    """A file holds no trajectory that can be read."""


def sample_times(motion: Moves, rate: float) -> Array:
    """Times [s] from the start, so many a second, and the end, which may be nearer to the one before it."""
    times = np.arange(int(motion.duration * rate * (1.0 + 1e-12)) + 1) / rate
    return times if motion.duration - times[-1] < _SAME_TIME else np.append(times, motion.duration)


def _rows(motion: Moves, rate: float) -> tuple[Array, Array, Array, Array]:
    """Times and states; rounding of a motion that starts or ends at rest is zero."""
    times = sample_times(motion, rate)
    q, v, a = motion.states(times)
    for part in (v, a):
        ends = part[[0, -1]]
        part[[0, -1]] = np.where(np.abs(ends) < _AT_REST, 0.0, ends)
    return times, q, v, a


def csv_text(motion: Moves, names: Sequence[str], rate: float) -> str:
    """A table with the columns t, q_NAME..., v_NAME..., a_NAME... [s, rad or m], so many rows a second."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["t", *(f"{what}_{name}" for what in "qva" for name in names)])
    rows = np.column_stack(_rows(motion, rate))
    writer.writerows([[f"{value:.12g}" for value in row] for row in rows])
    return stream.getvalue()


def json_text(trajectory: Trajectory, names: Sequence[str]) -> str:
    """The coefficients of a Fourier trajectory; `read_trajectory` reads them back."""
    family = _fourier(trajectory)
    data = {
        "schema": SCHEMA,
        "family": "fourier",
        "frequency": family.frequency,
        "harmonics": family.harmonics,
        "periods": family.periods,
        "speed": trajectory.speed,
        "joints": list(names),
        "coefficients": trajectory.coefficients.T.tolist(),
        "order": "for each joint: constant, cosines, sines",
    }
    return json.dumps(data, indent=1) + "\n"


def read_trajectory(path: Path) -> tuple[Trajectory, tuple[str, ...]]:
    """Read a trajectory and the names of its joints from a JSON file.

    Raises:
        TrajectoryFileError: If the file is missing or holds something else.
    """
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise TrajectoryFileError(path, f"it says '{data['schema']}' instead of '{SCHEMA}'")
        family = Fourier(float(data["frequency"]), int(data["harmonics"]), int(data["periods"]))
        coefficients = np.array(data["coefficients"], dtype=float).T
        return Trajectory(family, coefficients, float(data["speed"])), tuple(map(str, data["joints"]))
    except OSError as error:
        raise TrajectoryFileError(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, InvalidRequestError) as error:
        raise TrajectoryFileError(path, "holds no trajectory; expected JSON that dynid excite wrote") from error
    except DynidError as error:
        if isinstance(error, TrajectoryFileError):
            raise
        raise TrajectoryFileError(path, f"holds no trajectory: {error}") from error


def ros_text(motion: Moves, names: Sequence[str], rate: float) -> str:
    """A `trajectory_msgs/JointTrajectory` message as YAML."""
    lines = [
        "header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}",
        f"joint_names: {json.dumps(list(names))}",
        "points:",
    ]
    for t, q, v, a in zip(*_rows(motion, rate), strict=True):
        seconds, nanoseconds = divmod(round(t * 1e9), 10**9)
        lines.append(
            f"- {{positions: {_numbers(q)}, velocities: {_numbers(v)}, accelerations: {_numbers(a)}, effort: [], "
            f"time_from_start: {{sec: {seconds}, nanosec: {nanoseconds}}}}}"
        )
    return "\n".join(lines) + "\n"


def urscript_text(trajectory: Trajectory) -> str:
    """A program for a UR arm, which computes the Fourier series on the robot's own controller.

    It moves slowly to the start, follows the motion by `servoj`, and stops. Change `speed` for a careful first run.
    """
    family = _fourier(trajectory)
    if trajectory.joints != 6:
        raise InvalidRequestError(f"URScript is for arms of six joints, and this one has {trajectory.joints}")
    n = family.harmonics
    C = trajectory.coefficients
    start = trajectory.states(np.zeros(1))[0][0]
    return f"""def dynid_excitation():
  speed = {float(trajectory.speed)!r}
  frequency = {float(family.frequency)!r}
  duration = {float(family.duration)!r}
  constant = {_numbers(C[0])}
  cosines = {_numbers(C[1 : n + 1].T.ravel())}
  sines = {_numbers(C[n + 1 :].T.ravel())}
  q = {_numbers(start)}
  movej(q, a=0.3, v=0.2)
  t = 0.0
  while t < duration:
    joint = 0
    while joint < 6:
      position = constant[joint]
      k = 0
      while k < {n}:
        phase = (k + 1) * frequency * t
        position = position + cosines[joint * {n} + k] * cos(phase) + sines[joint * {n} + k] * sin(phase)
        k = k + 1
      end
      q[joint] = position
      joint = joint + 1
    end
    servoj(q, 0, 0, {_SERVO_STEP}, 0.1, 300)
    t = t + {_SERVO_STEP} * speed
  end
  stopj(1.0)
end
dynid_excitation()
"""


def _numbers(values: Iterable[float]) -> str:
    """A list of numbers that everyone reads as such: YAML and URScript want a point in each."""
    texts = [repr(float(f"{value:.10g}")) for value in values]
    return "[" + ", ".join(text if "." in text else text.replace("e", ".0e") for text in texts) + "]"


def _fourier(trajectory: Trajectory) -> Fourier:
    if not isinstance(trajectory.family, Fourier):
        raise InvalidRequestError("only Fourier trajectories can be written with their coefficients")
    return trajectory.family
