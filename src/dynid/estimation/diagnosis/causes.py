"""Causes of residuals: each tried on a bench, first as a small change, then fitted again.

With torques `y = W x + r`, a small cause adds `C c` to what the model says, with columns C. How much less of r is left
once c is free, beside x, shows how much of the error the cause explains. The best ones are then made true, by their c,
and the model is fitted again. Causes that are never small (a sign, swapped columns) are made true at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench, Samples
from dynid.robot import Joint, Robot, skew

STEP = 1e-5
"""Step of finite differences [rad, m, or relative]."""

SCREEN = 0.005
"""Share from which a small cause is tried in full."""

ONE_AXIS = 0.85
"""Part of a share from which a single direction stands for all three."""


@dataclass(frozen=True)
class Cause:
    """A cause, and how much of the error it explains.

    Attributes:
        kind: One of the keys of `cause_findings.CODES`.
        joint: The joint that it is about; empty where it is about all.
        share: Share of the weighed squared error that it explains.
        amount: How much of it there would be: relative, or in [rad], [m] or [s].
        detail: A joint's name, or an axis.
    """

    kind: str
    joint: str
    share: float
    amount: float = 0.0
    detail: str = ""


def causes(bench: Bench) -> list[Cause]:
    """All causes, those that explain most first."""
    found = [_delay(bench), *_friction(bench)]
    for joint in bench.model.robot.independent_joints:
        if joint.kind.nv == 1:
            found += [*_signs_and_swaps(bench, joint), *_scales(bench, joint), *_placements(bench, joint)]
            found += _terms(bench, joint)
    return sorted(found, key=lambda cause: -cause.share)


def _delay(bench: Bench) -> Cause:
    """Torques that were logged later than positions [s]."""
    share, (seconds,) = bench.explained([-bench.samples.rate_of_torque])
    if share < SCREEN:
        return Cause("delay", "", share, seconds)
    tried = {d: bench.share_with(bench.samples.later(d)) for d in seconds * np.array([0.5, 0.75, 1.0, 1.25, 1.5])}
    best = max(tried, key=lambda d: tried[d])
    return Cause("delay", "", tried[best], float(best))


def _friction(bench: Bench) -> Iterator[Cause]:
    """Viscous and Coulomb friction that the model lacks, on all joints together."""
    v = bench.samples.v[:, bench.model.rows]
    units = np.eye(bench.model.row_count)
    lacking = [
        row for row in range(len(units)) if bench.explained([v * units[row], np.sign(v) * units[row]])[0] > SCREEN
    ]
    if not lacking:
        return
    effects = [effect * units[row] for row in lacking for effect in (v, np.sign(v))]
    share, amounts = bench.explained(effects)
    if sum(amounts) > 0.0:  # friction brakes
        yield Cause("friction", "", share, detail=", ".join(f"'{bench.model.row_names[row]}'" for row in lacking))


def _signs_and_swaps(bench: Bench, joint: Joint) -> Iterator[Cause]:
    torque, row = bench.samples.torque, joint.v.start
    flipped = torque.copy()
    flipped[:, row] *= -1.0
    yield Cause("sign", joint.name, bench.share_with(flipped))
    samples = bench.samples
    back = samples.scaled(joint, -1.0)
    yield Cause("position sign", joint.name, bench.share_refitted(back))
    for other in bench.model.robot.independent_joints:
        if other.v.start > row and other.kind is joint.kind:
            swapped = torque.copy()
            swapped[:, [row, other.v.start]] = torque[:, [other.v.start, row]]
            yield Cause("swap", joint.name, bench.share_with(swapped), detail=other.name)


def _scales(bench: Bench, joint: Joint) -> Iterator[Cause]:
    """Positions, torques, or both, of another scale, and positions of another zero."""
    samples, predicted = bench.samples, bench.predicted
    unit = np.zeros(bench.model.row_count)
    unit[joint.v.start] = 1.0
    of_torque = predicted * unit
    of_position = (_torques(bench, samples.scaled(joint, 1.0 + STEP)) - predicted) / STEP
    of_zero = (_torques(bench, samples.moved(joint, STEP)) - predicted) / STEP
    for kind, effect in (
        ("gear ratio", of_position + of_torque),
        ("position scale", of_position),
        ("torque scale", of_torque),
        ("zero", of_zero),
    ):
        share, (amount,) = bench.explained([effect])
        if share > SCREEN and abs(amount) < 0.9:
            share = max(share, bench.share_refitted(_with_scale(samples, joint, kind, amount)))
        yield Cause(kind, joint.name, share, amount)


def _with_scale(samples: Samples, joint: Joint, kind: str, amount: float) -> Samples:
    if kind == "zero":
        return samples.moved(joint, amount)
    if kind != "torque scale":
        samples = samples.scaled(joint, 1.0 + amount)
    if kind != "position scale":
        torque = samples.torque.copy()
        torque[:, joint.v.start] /= 1.0 + amount
        samples = replace(samples, torque=torque)
    return samples


def _placements(bench: Bench, joint: Joint) -> Iterator[Cause]:
    """A joint that sits elsewhere, or turned, in the link that carries it."""
    robot = bench.model.robot
    for kind, place in (("place", _shifted), ("tilt", _tilted)):
        effects = [
            (_torques(bench, bench.samples, place(robot, joint, STEP * unit)) - bench.predicted) / STEP
            for unit in np.eye(3)
        ]
        share, amounts = bench.explained(effects)
        if share < SCREEN:
            yield Cause(kind, joint.name, share)
            continue
        alone = [bench.explained([effect]) for effect in effects]
        best = int(np.argmax([of_one[0] for of_one in alone]))
        move, detail = np.array(amounts), ""
        if alone[best][0] > ONE_AXIS * share:
            move, detail = alone[best][1][0] * np.eye(3)[best], "xyz"[best]
        size = float(np.linalg.norm(move))
        if size < 0.5:
            share = max(share, bench.share_refitted(bench.samples, place(robot, joint, move)))
        yield Cause(kind, joint.name, share, float(move[best]) if detail else size, detail)


def _terms(bench: Bench, joint: Joint) -> Iterator[Cause]:
    """A constant torque or a spring that the model lacks."""
    unit = np.zeros(bench.model.row_count)
    unit[joint.v.start] = 1.0
    q = bench.samples.q[:, joint.q]
    for kind, effect in (("offset", np.ones_like(q) * unit), ("spring", (q - q.mean()) * unit)):
        share, (amount,) = bench.explained([effect])
        yield Cause(kind, joint.name, share, amount)


def _torques(bench: Bench, samples: Samples, robot: Robot | None = None) -> Array:
    model = bench.model if robot is None else replace(bench.model, robot=robot)
    return model.inverse_dynamics(samples.q, samples.v, samples.a, bench.parameters)


def _with_placement(robot: Robot, joint: Joint, placement: Array) -> Robot:
    moved = [replace(j, placement=placement) if j.name == joint.name else j for j in robot.joints]
    return replace(robot, joints=tuple(moved))


def _shifted(robot: Robot, joint: Joint, move: Array) -> Robot:
    """The robot with a joint moved [m] along the axes of the link that carries it."""
    placement = joint.placement.copy()
    placement[:3, 3] += move
    return _with_placement(robot, joint, placement)


def _tilted(robot: Robot, joint: Joint, turn: Array) -> Robot:
    """The robot with a joint turned [rad] about its own origin, and the axes of the link that carries it."""
    from scipy.linalg import expm

    placement = joint.placement.copy()
    placement[:3, :3] = expm(skew(turn)) @ placement[:3, :3]
    return _with_placement(robot, joint, placement)
