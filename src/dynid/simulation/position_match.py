"""Validation by simulation: would the identified robot have moved as the real one did?

The identified model is simulated in closed loop on the reference that the real robot followed, and positions are
compared. This asks more of a model than torques along measured motion do, for errors add up; and less, for a stiff
controller hides them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.simulation.closed_loop import Run, SimulatedRobot, simulate
from dynid.simulation.controller import Controller
from dynid.simulation.desired_motion import Trajectory


@dataclass(frozen=True, eq=False)
class PositionMatch:
    """How well a simulated robot moves as a real one did.

    Attributes:
        rms: Root mean square of the difference of positions [rad or m], shape (nv,).
        tracking: Root mean square of the real robot's distance from the reference [rad or m], shape (nv,): what the
            model should explain.
        motion: Root mean square of the real robot's distance from its mean position [rad or m], shape (nv,).
        run: The simulated run.
    """

    rms: Array
    tracking: Array
    motion: Array
    run: Run


def compare_positions(
    robot: SimulatedRobot,
    trajectory: Trajectory,
    time: Array,
    q: Array,
    controller: Controller = Controller(),
    *,
    nominal: SimulatedRobot | None = None,
    start: Array | None = None,
    lead_in: float = 0.0,
    settling: float = 0.0,
) -> PositionMatch:
    """Simulate an identified robot on the reference of a real run, and compare positions.

    Args:
        robot: The identified robot.
        trajectory: What the real robot followed.
        time: Times of the measured positions [s] since the trajectory's beginning, shape (samples,).
        q: Measured positions [rad or m], shape (samples, nv).
        controller: The real robot's controller.
        nominal: The robot as that controller knows it; the robot file's values when None.
        start: Where the robot started, as in `simulate`.
        lead_in: As in `simulate`.
        settling: As in `simulate`.

    Raises:
        LostError: If the simulated robot does not follow.
    """
    from scipy.interpolate import CubicHermiteSpline

    run = simulate(robot, trajectory, controller, nominal=nominal, start=start, lead_in=lead_in, settling=settling)
    inside = (time >= run.time[0]) & (time <= run.time[-1])
    if np.count_nonzero(inside) < 2:
        raise InvalidRequestError(
            f"the measured times, {time[0]:.4g} s to {time[-1]:.4g} s, are not those of the trajectory: it begins at "
            f"0 s and takes {trajectory.duration:.4g} s; cut the log so that both begin together"
        )
    simulated = CubicHermiteSpline(run.time, run.q, run.v)(time[inside])
    wanted, _, _ = trajectory.states(time[inside])
    return PositionMatch(_rms(simulated - q[inside]), _rms(wanted - q[inside]), np.std(q[inside], axis=0), run)


def _rms(values: Array) -> Array:
    return np.sqrt(np.mean(values**2, axis=0))
