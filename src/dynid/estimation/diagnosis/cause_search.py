"""Search for causes of errors: each is mended, the model fitted again, and both compared on held-out blocks of time.

Small causes are tried as effects first, all from the same products of columns; the best are then mended exactly, by a
few Gauss-Newton steps within bounds. Causes that are never small (a sign, swapped columns) are mended at once: on a
part of the samples first, the best of them on all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.causes import Cause, mended
from dynid.estimation.diagnosis.effect_screen import Screen, Tried, gain_certainty, small_causes
from dynid.estimation.diagnosis.effects import TERMS, effect_of
from dynid.estimation.normal_equations import normal_solution
from dynid.logs import reach_of
from dynid.model import DynamicModel
from dynid.robot import JointKind

REFINED_CAUSES = 5
"""Causes of which the exact amount is sought."""

PROMISING = 0.7
"""Certainty of an effect from which the exact amount is worth seeking."""

GAUSS_NEWTON_STEPS = 3
"""Gauss-Newton steps at most."""

SCREENED_PART = 4
"""Every so many samples decide which causes that are never small are worth a closer look."""

CLOSER_LOOKS = 4
"""How many of them are."""

TIME_FACTORS = (2.0, 0.5, 10.0, 0.1, 60.0, 1 / 60.0, 1000.0, 0.001)
"""Wrong scales of time that are tried, besides small ones."""

DEGREES = float(np.degrees(1.0))


def all_causes(bench: Bench) -> tuple[list[Tried], Tried]:
    """All causes, those that remove most first; and all small ones together."""
    small, together = small_causes(bench)
    terms = [one for one in small if one.cause.kind in TERMS]
    promising = [one for one in small if one.cause.kind not in TERMS and one.gain > 0.0 and one.certainty > PROMISING]
    exact = [found for one in promising[:REFINED_CAUSES] if (found := refined(bench, one)) is not None]
    best: dict[tuple[str, str, str], Tried] = {}
    for one in (*exact, *terms, *large_causes(bench)):
        if one.cause.key not in best or one.gain > best[one.cause.key].gain:
            best[one.cause.key] = one
    return sorted(best.values(), key=lambda one: -one.gain), together


def refined(bench: Bench, start: Tried) -> Tried | None:
    """A small cause with the amount that fits best; None where that is beyond what such a mistake can be."""
    cause, best = start.cause, None
    step = np.array(cause.amounts)
    amounts = np.zeros(len(step))
    for _ in range(GAUSS_NEWTON_STEPS):
        for shorter in (1.0, 0.5, 0.25):
            trial = replace(cause, amounts=tuple(_added(cause.kind, amounts, shorter * step).tolist()))
            if not is_plausible(trial, bench.model):
                continue
            other = bench.with_samples(*mended(trial, bench.samples, bench.model.robot, bench.stds))
            if best is None or other.squares < best[1].squares:
                break
        else:
            break
        done = best is not None and other.squares > 0.995 * best[1].squares
        best, amounts = (trial, other), np.array(trial.amounts)
        if done:
            break
        screen = Screen.of(other, (effect_of(other, replace(cause, amounts=())),))
        step = np.array(screen.tried([0], other).cause.amounts)
    if best is None:
        return None
    trial, other = best
    values = other.base_values(other.fit.solution)
    return Tried(trial, other.fit.held_out, start.before, start.certainty, values)


def _added(kind: str, amounts: Array, more: Array) -> Array:
    """Amounts of a cause and more of it."""
    return (1.0 + amounts) * (1.0 + more) - 1.0 if "scale" in kind or kind == "gear ratio" else amounts + more


@dataclass(frozen=True)
class PlausibleAmounts:
    """How large mistakes can be. All by judgement: beyond these, linearised causes stand in for others."""

    delay: float = 0.5
    """Delay of torques [s]."""
    turn: float = np.pi
    """Wrong zero of an angle, or direction of gravity [rad]: any."""
    slide: float = 0.5
    """Wrong zero of a sliding joint, relative to the robot's reach."""
    tilt: float = 0.8
    """Wrong direction of a joint [rad]: larger ones are other robots."""
    place: float = 0.2
    """Wrong place of a joint, relative to the robot's reach."""
    factor: float = 10.0
    """Wrong scale, or one over it; units are tried apart from this."""


PLAUSIBLE = PlausibleAmounts()


def is_plausible(cause: Cause, model: DynamicModel) -> bool:
    """Whether a mistake can be that large."""
    reach = reach_of(model.robot)
    largest = {"delay": PLAUSIBLE.delay, "gravity": PLAUSIBLE.turn, "zero": PLAUSIBLE.turn, "tilt": PLAUSIBLE.tilt}
    largest["place"] = PLAUSIBLE.place * reach
    if cause.kind == "zero" and model.robot.joint(cause.joint).kind is JointKind.PRISMATIC:
        return cause.size <= PLAUSIBLE.slide * reach
    if cause.kind in largest:
        return cause.size <= largest[cause.kind]
    return 1.0 / PLAUSIBLE.factor <= 1.0 + cause.amounts[0] <= PLAUSIBLE.factor


def large_causes(bench: Bench) -> list[Tried]:
    """Causes that are never small, the best of them on all samples; those that remove most first."""
    part = replace(bench, samples=bench.samples.every(SCREENED_PART))
    before = part.squares
    better = [(squares, cause) for cause, squares in _exchanged(part) if squares < before]
    better.sort(key=lambda pair: pair[0])
    return sorted((tried_exactly(bench, cause) for _, cause in better[:CLOSER_LOOKS]), key=lambda one: -one.gain)


def tried_exactly(bench: Bench, cause: Cause) -> Tried:
    """A cause with its amounts, mended and fitted again."""
    other = bench.with_samples(*mended(cause, bench.samples, bench.model.robot, bench.stds))
    before, after = bench.fit.held_out, other.fit
    values = other.base_values(after.solution)
    certainty = gain_certainty(bench.held_out_rows, other.held_out_rows)
    return Tried(cause, after.held_out, before, certainty, values)


def _exchanged(bench: Bench) -> Iterator[tuple[Cause, float]]:
    """Every cause that is never small with the squared error once it is mended; those of equal positions share rows."""
    robot = bench.model.robot
    joints = [joint for joint in robot.independent_joints if joint.kind.nv == 1]
    pairs = [(i, j) for i, j in combinations(joints, 2) if i.kind is j.kind]
    of_torque = [Cause("torque sign", joint.name) for joint in joints]
    of_torque += [Cause("torques swapped", i.name, (), j.name) for i, j in pairs]
    yield from _with_torques(bench, None, of_torque)
    for joint in joints:
        both = [Cause("position sign", joint.name), Cause("joint flipped", joint.name)]
        yield from _with_torques(bench, both[0], both)
        if joint.kind is not JointKind.PRISMATIC:
            for factor in (DEGREES, 1.0 / DEGREES):
                yield from _with_torques(bench, None, [Cause("position scale", joint.name, (factor - 1.0,))])
    for factor in (DEGREES, 1.0 / DEGREES):
        yield from _with_torques(bench, None, [Cause("position scale", "", (factor - 1.0,))])
    for i, j in pairs:
        both = [Cause(kind, i.name, (), j.name) for kind in ("positions swapped", "joints swapped")]
        yield from _with_torques(bench, both[0], both)
    for factor in TIME_FACTORS:
        cause = Cause("time scale", "", (factor - 1.0,))
        yield from _with_torques(bench, cause, [cause])
    size = float(np.linalg.norm(robot.gravity))
    for direction in (*np.eye(3), *-np.eye(3), np.zeros(3)):
        if np.linalg.norm(size * direction - robot.gravity) > 0.5 * size:
            cause = Cause("gravity axis", "", tuple((size * direction).tolist()))
            yield from _with_torques(bench, cause, [cause])


def _with_torques(bench: Bench, positions: Cause | None, causes: Sequence[Cause]) -> Iterator[tuple[Cause, float]]:
    """Squared errors once causes that have the same positions are mended."""
    robot, stds = bench.model.robot, bench.stds
    samples, other = mended(positions or causes[0], bench.samples, robot, stds)
    rows, known = bench.rows(samples, other)
    torques = [mended(cause, bench.samples, robot, stds)[0].torque - known for cause in causes]
    Y = bench.weighed_torque(np.stack(torques, axis=-1))
    A, C = rows.T @ rows, rows.T @ Y
    x = normal_solution(A, C)
    yield from zip(causes, ((Y**2).sum(axis=0) - (C * x).sum(axis=0)).tolist(), strict=True)
