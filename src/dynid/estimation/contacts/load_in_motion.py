"""A load at the end of a limb that explains external torques, as the log goes.

The observer is linear in the parameters of the links: a load with the ten parameters p_L makes the residual
`r = -Phi p_L`, where Phi is what the same observer makes of the momentum of unit parameters. The last seconds count, so
that a load is found again after it changed; while it changes, nothing fits, and standard deviations grow.
"""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.contacts.momentum_observer import ObserverSignals, observed
from dynid.estimation.payloads.load_problem import LoadPlace
from dynid.estimation.streams.hypotheses import LIKELY_MASS, LIKELY_OFFSET, mass_of
from dynid.model import DynamicModel
from dynid.model.formulations.chosen_columns import impulse_rows, momentum_rows
from dynid.robot import SIZE, Robot

ROWS_PER_SECOND = 50.0
"""Equations of each joint that are used [1/s]: residuals last longer than their distance."""

SAMPLES_AT_ONCE = 20_000
"""Samples whose regressor is held at once."""

SETTLED_LAGS = 15.0
"""Lags of the observer after which nothing of its beginning is left, in such a part."""


@dataclass(frozen=True)
class LoadInMotionThresholds:
    """When external torques are taken for those of a load.

    By judgement; the simulated loads of `tests/estimation/test_contacts.py` are found with them.
    """

    window: float = 4.0
    """Time [s] that counts, as the long windows of streams."""

    least_stds: float = 4.0
    """Mass, in its standard deviations, from which there is a load."""

    explained: float = 0.4
    """Share of the squared external torques of that time that the load has to explain; as for the alarms of streams."""


LOAD_THRESHOLDS = LoadInMotionThresholds()


@dataclass(frozen=True, eq=False)
class LoadInMotion:
    """The load that explains external torques best, over time.

    Attributes:
        body: The body whose frame the centre of mass is in.
        time: Time [s], shape (count,).
        mass: Mass [kg], shape (count,).
        mass_std: Its standard deviation, of the same shape.
        center_of_mass: Centre of mass [m], shape (count, 3).
        center_of_mass_std: Its standard deviations, of the same shape; large where the mass may be zero.
        explained: Share of the squared external torques that it explains, shape (count,).
    """

    body: str
    time: Array
    mass: Array
    mass_std: Array
    center_of_mass: Array
    center_of_mass_std: Array
    explained: Array

    @property
    def is_seen(self) -> bool:
        """Whether external torques at the end of the log are those of a load."""
        limits = LOAD_THRESHOLDS
        return bool(self.mass[-1] > limits.least_stds * self.mass_std[-1] and self.explained[-1] > limits.explained)

    def to_dict(self) -> dict[str, object]:
        """The load at the end, and its course, as plain data for JSON."""
        return {
            "body": self.body,
            "is_seen": self.is_seen,
            "mass": float(self.mass[-1]),
            "mass_std": float(self.mass_std[-1]),
            "center_of_mass": self.center_of_mass[-1].tolist(),
            "center_of_mass_std": self.center_of_mass_std[-1].tolist(),
            "explained": float(self.explained[-1]),
            "window": LOAD_THRESHOLDS.window,
            "course": [
                {"time": float(t), "mass": float(m), "mass_std": float(s), "explained": float(e)}
                for t, m, s, e in zip(self.time, self.mass, self.mass_std, self.explained, strict=True)
            ],
        }


def load_in_motion(
    robot: Robot,
    signals: ObserverSignals,
    residuals: Array,
    gain: float,
    stds: Array,
    lasting: Array,
    body: str | None = None,
) -> LoadInMotion:
    """Estimate a load from external torques.

    Args:
        robot: The robot.
        signals: What the observer was given.
        residuals: What it gave, shape (samples, nv).
        gain: Its gain [1/s].
        stds: Standard deviation of the residuals without a load [N m or N], shape (nv,).
        lasting: Time over which they are alike [s], shape (nv,).
        body: The body that carries the load; the last link when None.

    Raises:
        UnknownNameError: If the robot has no such body.
        InvalidRequestError: If the body does not move.
    """
    place = LoadPlace.of(robot, body)
    every = max(1, round(signals.rate / ROWS_PER_SECOND))
    W = -_responses(robot, place, signals, gain, every)
    rows, step = np.arange(every - 1, len(signals), every), every / signals.rate
    y, parts = residuals[rows], step / np.maximum(lasting, step)
    weights = parts / np.maximum(stds, np.finfo(float).tiny) ** 2
    A, b, squares = (_windowed(x, round(LOAD_THRESHOLDS.window / step)) for x in _moments(W, y, weights))
    counts = _windowed(np.full(len(rows), parts.sum()), round(LOAD_THRESHOLDS.window / step))
    prior, found = np.diag(_likely(robot, place) ** -2.0), []
    for k in range(len(rows)):
        covariance = np.linalg.inv(A[k] + prior)
        p = covariance @ b[k]
        left = max(float(squares[k] - 2.0 * b[k] @ p + p @ A[k] @ p), 0.0)
        misfit = max(1.0, left / max(float(counts[k]) - SIZE, 1.0))
        explained = 1.0 - left / squares[k] if squares[k] > 0.0 else 0.0
        found.append([signals.time[rows[k]], *_numbers(p, misfit * covariance), explained])
    columns = np.array(found).reshape(-1, 10).T
    return LoadInMotion(place.body, columns[0], columns[1], columns[2], columns[3:6].T, columns[6:9].T, columns[9])


def _moments(W: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
    """W' w W, W' w y and y' w y of each time, shapes (count, 10, 10), (count, 10) and (count,)."""
    weighed = W * weights[:, None]
    return weighed.transpose(0, 2, 1) @ W, np.einsum("sjk,sj->sk", weighed, y), np.sum(weights * y**2, axis=1)


def _windowed(x: Array, count: int) -> Array:
    """Sums over the last so many of the first axis."""
    sums = np.cumsum(x, axis=0)
    found = sums.copy()
    found[count:] -= sums[:-count]
    return found


def _responses(robot: Robot, place: LoadPlace, signals: ObserverSignals, gain: float, every: int) -> Array:
    """What the observer makes of the momentum of unit parameters of the load at every so many samples.

    A long log is observed in parts, each with a beginning in which the observer settles.

    Returns:
        Array of shape (rows, nv, 10).
    """
    model, n = DynamicModel(robot), len(signals)
    columns = tuple(tuple(range(place.columns.start, place.columns.stop)) for _ in range(robot.nv))
    lead, size, found = round(SETTLED_LAGS / gain * signals.rate), SAMPLES_AT_ONCE // every * every, []
    for first in range(0, n, size):
        begin = max(0, first - lead)
        own = signals.part(slice(begin, min(first + size, n)))
        P, B = (np.stack(f(model, columns, own.q, own.v), axis=1) @ place.M for f in (momentum_rows, impulse_rows))
        response = observed(P.reshape(len(own), -1), -B.reshape(len(own), -1), own, gain)
        found.append(response.reshape(len(own), robot.nv, SIZE)[first - begin :][every - 1 :: every])
    return np.concatenate(found)


def _likely(robot: Robot, place: LoadPlace) -> Array:
    """Standard deviations of the ten parameters beforehand, wide enough not to matter once they show, shape (10,)."""
    mass = LIKELY_MASS * mass_of(robot)
    length = sum(float(np.linalg.norm(robot.joints[k].placement[:3, 3])) for k in robot.chain(place.link)) or 1.0
    offset = LIKELY_OFFSET * length
    return mass * np.array([1.0, *[offset] * 3, *[offset**2] * 6])


def _numbers(p: Array, covariance: Array) -> list[float]:
    """Mass, its standard deviation, centre of mass, and its standard deviations."""
    mass = float(p[0])
    divisor = mass if abs(mass) > 1e-9 else 1e-9
    center = p[1:4] / divisor
    slopes = np.hstack([-center[:, None], np.eye(3)]) / divisor
    stds = np.sqrt(np.diag(slopes @ covariance[:4, :4] @ slopes.T))
    return [mass, float(np.sqrt(covariance[0, 0])), *center.tolist(), *stds.tolist()]
