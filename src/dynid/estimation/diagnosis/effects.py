"""Effects of small causes: what a little of each would change in the torques.

With torques `y = W x + r`, a small cause adds `C c` to what the model says, with columns C. Missing terms are such
columns, too, whatever their size.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.causes import Cause, mended
from dynid.robot import WORLD, Joint

STEP = 1e-5
"""Step of finite differences [rad, m, or relative]."""

SMALL_ANGLE = 1e-5
"""By which a gear yields at the largest torque, for finite differences [rad or m]."""

STRIBECK_SPEEDS = (0.03, 0.1, 0.3)
"""Stribeck velocities that are tried, relative to the root mean square of a joint's velocity."""


@dataclass(frozen=True, eq=False)
class Effect:
    """What a little of a cause changes.

    Attributes:
        cause: The cause, without amounts.
        columns: Change of torques per amount, shape (samples, rows, amounts).
        typical: An amount that such causes may well have: [s], [rad], [m], relative, or [N m]; shape (amounts,).
    """

    cause: Cause
    columns: Array
    typical: Array

    @property
    def is_term(self) -> bool:
        """Whether it is a term that the model lacks."""
        return self.cause.kind in TERMS


TERMS = ("friction", "motor inertia", "load friction", "stribeck", "offset", "spring", "saturation", "flexibility")
"""Kinds of causes that are linear whatever their size: terms which a model lacks, torques that are cut off, gears that
yield a little."""

CUT = 0.9
"""Part of the largest torques beyond which a cut would act."""

TYPICAL = {
    "delay": 0.02,
    "time scale": 0.3,
    "gravity": 0.1,
    "gear ratio": 0.2,
    "position scale": 0.2,
    "torque scale": 0.2,
    "zero": 0.1,
    "place": 0.05,
    "tilt": 0.1,
}
"""Amounts that mistakes may well have: [s], relative, [rad] or [m]."""


def effects(bench: Bench) -> Iterator[Effect]:
    """Effects of all small causes."""
    robot = bench.model.robot
    single = [joint for joint in robot.independent_joints if joint.kind.nv == 1]
    yield effect_of(bench, Cause("time scale"))
    yield effect_of(bench, Cause("gravity"))
    if bench.samples.stretches:
        yield effect_of(bench, Cause("delay"))
    for joint in single:
        position = effect_of(bench, Cause("position scale", joint.name))
        torque = effect_of(bench, Cause("torque scale", joint.name))
        yield from (position, torque)
        yield Effect(Cause("gear ratio", joint.name), position.columns + torque.columns, torque.typical)
        yield effect_of(bench, Cause("zero", joint.name))
        if bench.samples.stretches and len(single) > 1:
            yield effect_of(bench, Cause("delay", joint.name))
        if joint.parent != WORLD:  # the first joint has nowhere else to sit, and turns as gravity does
            yield effect_of(bench, Cause("place", joint.name))
            yield effect_of(bench, Cause("tilt", joint.name))
        yield from _of_terms(bench, joint)


def effect_of(bench: Bench, cause: Cause) -> Effect:
    """What a little of a cause changes; not of those in `TERMS`."""
    typical = TYPICAL[cause.kind]
    if cause.kind in ("delay", "torque scale"):
        columns = -bench.samples.torque_rate if cause.kind == "delay" else bench.predicted
        if cause.joint:
            row = bench.model.robot.joint(cause.joint).v.start
            columns = columns * np.eye(bench.model.row_count)[row]
        return Effect(cause, columns[..., None], np.array([typical]))
    if cause.kind == "gear ratio":
        parts = [effect_of(bench, Cause(kind, cause.joint)).columns for kind in ("position scale", "torque scale")]
        return Effect(cause, sum(parts, np.zeros_like(parts[0])), np.array([typical]))
    count = {"gravity": 2, "place": 3, "tilt": 2}.get(cause.kind, 1)
    changes = []
    for unit in np.eye(count):
        small = replace(cause, amounts=tuple(STEP * unit))
        samples, robot = mended(small, bench.samples, bench.model.robot, bench.stds)
        changes.append((bench.torques_of(samples, robot) - bench.predicted) / STEP)
    return Effect(cause, np.stack(changes, axis=-1), np.full(count, typical))


def _of_terms(bench: Bench, joint: Joint) -> Iterator[Effect]:
    """Terms that the model may lack on a joint."""
    samples, row = bench.samples, joint.v.start
    q, v, a = samples.q[:, joint.q.start], samples.v[:, row], samples.a[:, row]
    direction, load = np.sign(v), np.abs(bench.predicted[:, row])
    size = float(np.sqrt((samples.torque[:, row] ** 2).mean())) + 1e-12
    speed = float(np.sqrt((v**2).mean())) + 1e-12
    fading = [direction * np.exp(-((v / (part * speed)) ** 2)) for part in STRIBECK_SPEEDS]
    features = {
        "friction": (v / speed, direction),
        "motor inertia": (a / (float(np.sqrt((a**2).mean())) + 1e-12),),
        "load friction": (load / size * direction,),
        "stribeck": fading,
        "offset": (np.ones_like(q),),
        "spring": (q - q.mean(), np.ones_like(q)),
        "saturation": (_beyond(bench.predicted[:, row], samples.torque[:, row]),),
    }
    yield _of_flexibility(bench, joint)
    unit = np.eye(bench.model.row_count)[row]
    for kind, columns in features.items():
        changes = np.stack(columns, axis=-1)[:, None, :] * unit[:, None]
        yield Effect(Cause(kind, joint.name), changes, np.full(len(columns), 0.2 * size))


def _beyond(predicted: Array, measured: Array) -> Array:
    """What a limit a little below the largest measured torques takes off the predicted ones, shape (samples,)."""
    limit = CUT * float(np.quantile(np.abs(measured), 0.99))
    return np.clip(predicted, -limit, limit) - predicted


def _of_flexibility(bench: Bench, joint: Joint) -> Effect:
    """A gear that yields: the link is behind the motor, whose position is logged, by its load over the stiffness."""
    samples, row = bench.samples, joint.v.start
    load = samples.load[:, row]
    largest = float(np.abs(load[:, 0]).max()) + 1e-12
    yielding = SMALL_ANGLE / largest
    q, v, a = samples.q.copy(), samples.v.copy(), samples.a.copy()
    for states, place, derivative in zip((q, v, a), (joint.q.start, row, row), load.T, strict=True):
        states[:, place] -= yielding * derivative
    behind = bench.torques_of(replace(samples, q=q, v=v, a=a), of_links=True)
    change = (behind - bench.torques_of(samples, of_links=True)) / yielding
    return Effect(Cause("flexibility", joint.name), change[..., None], np.array([0.003 / largest]))
