"""Mistakes in what was logged: signs, orders, scales, units, zeros, times."""

from dataclasses import replace

import numpy as np

from dynid import Log
from dynid.arrays import Array
from dynid.robot import JointKind
from tests.mistakes import vocabulary as codes
from tests.mistakes.mistaken import Given, Mistaken, Rng, kind
from tests.mistakes.recordings import Recording


def _with_column(values: Array, column: int, new: Array) -> Array:
    changed = values.copy()
    changed[:, column] = new
    return changed


def _scaled(values: Array, column: int, factor: float) -> Array:
    return _with_column(values, column, factor * values[:, column])


def _pair(r: Recording, rng: Rng) -> tuple[int, int]:
    """Two joints of the same kind."""
    turning = [k for k, joint in enumerate(r.robot.joints) if joint.kind is not JointKind.PRISMATIC]
    first, second = sorted(rng.choice(turning, 2, replace=False).tolist())
    return first, second


def _swapped(values: Array, i: int, j: int) -> Array:
    order = list(range(values.shape[1]))
    order[i], order[j] = j, i
    return values[:, order]


def _turning(r: Recording, rng: Rng) -> int:
    return int(rng.choice([k for k, joint in enumerate(r.robot.joints) if joint.kind is not JointKind.PRISMATIC]))


def _of(r: Recording, joint: int | None = None, **signals: Array) -> Mistaken:
    """A log with other signals, about a joint."""
    return Mistaken(Given.of(r).with_log(**signals), r, () if joint is None else (r.joints[joint],))


@kind("sign of one torque", codes.TORQUE_SIGN)
def torque_sign(r: Recording, rng: Rng) -> Mistaken:
    """Negative friction names it as well: its text asks for the sign of the torque."""
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, torque=_scaled(r.log.torque, k, -1.0))


@kind("signs of all torques", codes.ALL_SIGNS)
def all_signs(r: Recording, rng: Rng) -> Mistaken:
    """Gravity is then wrong by the same sign, and friction is negative on every joint."""
    return _of(r, torque=-r.log.torque)


@kind("sign of one position", codes.POSITION_SIGN)
def position_sign(r: Recording, rng: Rng) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, position=_scaled(r.log.position, k, -1.0))


@kind("a joint flipped (position and torque)", codes.WHOLE_SIGN)
def joint_flipped(r: Recording, rng: Rng) -> Mistaken:
    """An axis that points the other way in the file."""
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, position=_scaled(r.log.position, k, -1.0), torque=_scaled(r.log.torque, k, -1.0))


@kind("torques of two joints swapped", codes.TORQUE_SWAP)
def torques_swapped(r: Recording, rng: Rng) -> Mistaken:
    i, j = _pair(r, rng)
    return replace(_of(r, torque=_swapped(r.log.torque, i, j)), joints=(r.joints[i], r.joints[j]))


@kind("positions of two joints swapped", codes.POSITION_SWAP)
def positions_swapped(r: Recording, rng: Rng) -> Mistaken:
    i, j = _pair(r, rng)
    return replace(_of(r, position=_swapped(r.log.position, i, j)), joints=(r.joints[i], r.joints[j]))


@kind("two whole joints swapped", codes.WHOLE_SWAP)
def joints_swapped(r: Recording, rng: Rng) -> Mistaken:
    i, j = _pair(r, rng)
    log = r.log
    both = _of(r, position=_swapped(log.position, i, j), torque=_swapped(log.torque, i, j))
    return replace(both, joints=(r.joints[i], r.joints[j]))


@kind("gear ratio x 0.8", codes.GEAR, factor=0.8)
@kind("gear ratio x 0.95", codes.GEAR, factor=0.95)
@kind("gear ratio x 1.05", codes.GEAR, factor=1.05)
@kind("gear ratio x 1.3", codes.GEAR, factor=1.3)
def gear_ratio(r: Recording, rng: Rng, factor: float) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, position=_scaled(r.log.position, k, factor), torque=_scaled(r.log.torque, k, 1.0 / factor))


@kind("one torque x 0.8", codes.TORQUE_SCALE, factor=0.8)
@kind("one torque x 1.1", codes.TORQUE_SCALE, factor=1.1)
@kind("one torque x 2", codes.TORQUE_SCALE, factor=2.0)
def torque_scale(r: Recording, rng: Rng, factor: float) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, torque=_scaled(r.log.torque, k, factor))


@kind("all torques x 0.5", codes.ALL_TORQUES, factor=0.5)
@kind("all torques x 2", codes.ALL_TORQUES, factor=2.0)
@kind("torques in N mm", codes.ALL_TORQUES, factor=1000.0)
def all_torques(r: Recording, rng: Rng, factor: float) -> Mistaken:
    """Only the masses of the file show it; they are right here."""
    return _of(r, torque=factor * r.log.torque)


@kind("one position in degrees", codes.POSITION_SCALE)
def one_in_degrees(r: Recording, rng: Rng) -> Mistaken:
    """A scale of 57.3 is beyond the limits, and what a wrong gear ratio or unit looks like."""
    k = _turning(r, rng)
    return _of(r, k, position=_scaled(r.log.position, k, 180.0 / np.pi))


@kind("all positions in degrees", codes.POSITION_SCALE)
def all_in_degrees(r: Recording, rng: Rng) -> Mistaken:
    """A scale of 57.3 is beyond the limits as well."""
    turns = [180.0 / np.pi if joint.kind is not JointKind.PRISMATIC else 1.0 for joint in r.robot.joints]
    return _of(r, position=r.log.position * turns)


def later(log: Log, values: Array, seconds: float) -> Array:
    """Signals as they would be logged by so much later; the ends are held."""
    return np.stack([np.interp(log.time - seconds, log.time, column) for column in values.T], axis=1)


@kind("torques 5 ms late", codes.DELAY, seconds=0.005)
@kind("torques 20 ms late", codes.DELAY, seconds=0.02)
@kind("torques 50 ms late", codes.DELAY, seconds=0.05)
@kind("torques 20 ms early", codes.DELAY, seconds=-0.02)
def delay(r: Recording, rng: Rng, seconds: float) -> Mistaken:
    """A note that the delay was found and removed is right, where parameters are."""
    return _of(r, torque=later(r.log, r.log.torque, seconds))


@kind("one torque 20 ms late", codes.DELAY)
def delay_of_one(r: Recording, rng: Rng) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, torque=_with_column(r.log.torque, k, later(r.log, r.log.torque[:, [k]], 0.02)[:, 0]))


@kind("time stamps x 2", codes.TIME_SCALE, factor=2.0)
@kind("time stamps x 0.5", codes.TIME_SCALE, factor=0.5)
@kind("time stamps x 1.1", codes.TIME_SCALE, factor=1.1)
@kind("time in ms", codes.TIME_SCALE, factor=1000.0)
def time_scale(r: Recording, rng: Rng, factor: float) -> Mistaken:
    return _of(r, time=factor * r.log.time)


@kind("encoder zero 0.01 rad off", codes.ZERO, offset=0.01)
@kind("encoder zero 0.05 rad off", codes.ZERO, offset=0.05)
@kind("encoder zero 0.3 rad off", codes.ZERO, offset=0.3)
def encoder_zero(r: Recording, rng: Rng, offset: float) -> Mistaken:
    """A vertical first axis has no zero that torques depend on, and neither have its parameters."""
    k = _turning(r, rng)
    off = offset * float(rng.choice([-1.0, 1.0]))
    return _of(r, k, position=_with_column(r.log.position, k, r.log.position[:, k] + off))


@kind("torque saturated", codes.SATURATION, noise=0.0)
@kind("torque saturated, noise on top", codes.SATURATION, noise=0.02)
def saturated(r: Recording, rng: Rng, noise: float) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    torque = r.exact[1][:, k]
    low, high = np.quantile(torque, (0.06, 0.94)) if noise else np.quantile(r.log.torque[:, k], (0.06, 0.94))
    if not noise:
        return _of(r, k, torque=_with_column(r.log.torque, k, np.clip(r.log.torque[:, k], low, high)))
    top = np.clip(torque, low, high) + noise * torque.std() * rng.normal(size=len(torque))
    return _of(r, k, torque=_with_column(r.log.torque, k, top))


@kind("angles wrapped at pi", codes.WRAPPED)
def wrapped(r: Recording, rng: Rng) -> Mistaken:
    """Every joint is wrapped in such logs; one is turned so that it passes the edge.

    Positions of a base that turns have no zero; those of another joint would need another robot: so its encoder's zero
    is moved, and the robot file has that zero, too.
    """
    from tests.mistakes.wrong_models import with_zero

    k = _turning(r, rng)
    q = r.log.position[:, k]
    shift = np.pi - float(np.quantile(q, 0.75))
    turned = (q + shift + np.pi) % (2 * np.pi) - np.pi
    made = _of(r, k, position=_with_column(r.log.position, k, turned))
    return replace(made, given=replace(made.given, robot=with_zero(r.robot, k, shift)))


@kind("samples held (50 Hz)", codes.HELD)
def held(r: Recording, rng: Rng) -> Mistaken:
    """Positions and torques of a slower bus, repeated by a faster logger."""
    r = r.but(rate=200.0)
    index = 4 * (np.arange(len(r.log)) // 4)
    return _of(r, position=r.log.position[index], torque=r.log.torque[index])


@kind("torques held (20 Hz)", codes.HELD | codes.DELAY)
def torques_held(r: Recording, rng: Rng) -> Mistaken:
    """Held values are late by half their period: a delay is a right name, too."""
    r = r.but(rate=200.0)
    return _of(r, torque=r.log.torque[10 * (np.arange(len(r.log)) // 10)])


def _used(case: Mistaken, used: bool) -> Mistaken:
    """The case with velocities that are used as they were logged, whatever they are like."""
    stated = {"automatic": True, "velocity": "logged"}
    return replace(case, given=replace(case.given, processing=stated)) if used else case


@kind("one velocity x 1.1", codes.VELOCITY, used=False)
@kind("one velocity x 1.1, used as logged", codes.VELOCITY, used=True)
def velocity_scaled(r: Recording, rng: Rng, used: bool) -> Mistaken:
    r = r.but(velocity=True)
    k = int(rng.integers(r.robot.nv))
    return _used(_of(r, k, velocity=_scaled(_speeds(r), k, 1.1)), used)


@kind("velocities 20 ms late", codes.VELOCITY, used=False)
@kind("velocities 20 ms late, used as logged", codes.VELOCITY, used=True)
def velocity_late(r: Recording, rng: Rng, used: bool) -> Mistaken:
    r = r.but(velocity=True)
    return _used(_of(r, velocity=later(r.log, _speeds(r), 0.02)), used)


@kind("velocities in deg/s", codes.VELOCITY)
def velocity_in_degrees(r: Recording, rng: Rng) -> Mistaken:
    r = r.but(velocity=True)
    return _of(r, velocity=180.0 / np.pi * _speeds(r))


@kind("velocities of two joints swapped", codes.VELOCITY)
def velocity_swapped(r: Recording, rng: Rng) -> Mistaken:
    r = r.but(velocity=True)
    i, j = _pair(r, rng)
    return replace(_of(r, velocity=_swapped(_speeds(r), i, j)), joints=(r.joints[i], r.joints[j]))


def _speeds(r: Recording) -> Array:
    velocity = r.log.velocity
    assert velocity is not None
    return velocity


@kind("torque column frozen", codes.DEAD)
def torque_frozen(r: Recording, rng: Rng) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, torque=_with_column(r.log.torque, k, np.full(len(r.log), r.log.torque[0, k])))


@kind("position column frozen", codes.DEAD)
def position_frozen(r: Recording, rng: Rng) -> Mistaken:
    k = int(rng.integers(r.robot.nv))
    return _of(r, k, position=_with_column(r.log.position, k, np.full(len(r.log), r.log.position[0, k])))


@kind("torque in coarse steps", codes.QUANTISED)
def quantised(r: Recording, rng: Rng) -> Mistaken:
    """A step of 0.3 of the torque's standard deviation is noise of 9 % of it; parameters stay right."""
    step = 0.3 * r.exact[1].std(axis=0)
    return _of(r, torque=step * np.round(r.log.torque / step))


@kind("torques with gravity removed", codes.NO_GRAVITY)
def gravity_removed(r: Recording, rng: Rng) -> Mistaken:
    (q, _, _), _ = r.exact
    weight = r.model.inverse_dynamics(q, 0 * q, 0 * q, r.wanted(r.model.names))
    return _of(r, torque=r.log.torque - weight)
