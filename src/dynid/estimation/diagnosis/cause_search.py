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
from dynid.estimation.diagnosis.bench import RIDGE, Bench
from dynid.estimation.diagnosis.causes import Cause, mended
from dynid.estimation.diagnosis.effects import TERMS, Effect, effect_of, effects
from dynid.model import DynamicModel
from dynid.robot import JointKind, Robot

FLAT = 1e-7
"""A squared effect of which less than this part is beyond the model's own columns is none."""

REFINED = 5
"""Causes of which the exact amount is sought."""

STEPS = 3
"""Gauss-Newton steps at most."""

PART = 4
"""Every so many samples decide which causes that are never small are worth a closer look."""

CLOSER = 4
"""How many of them are."""

TIME_FACTORS = (2.0, 0.5, 10.0, 0.1, 60.0, 1 / 60.0, 1000.0, 0.001)
"""Wrong scales of time that are tried, besides small ones."""

DEGREES = float(np.degrees(1.0))


@dataclass(frozen=True, eq=False)
class Tried:
    """A cause that was tried.

    Attributes:
        cause: The cause, with its amounts.
        held_out: Squared error in each block of the fit to the others once it is mended, shape (blocks,).
        before: The same before.
        certainty: How large its amounts are beside their uncertainty: 1 where chance alone reaches it once in
            `1 / CHANCE` cases.
        values: Base parameters once it is mended, shape (base,).
    """

    cause: Cause
    held_out: Array
    before: Array
    certainty: float
    values: Array

    @property
    def gain(self) -> float:
        """Squared error in held-out blocks that mending it removes."""
        return float(self.before.sum() - self.held_out.sum())

    @property
    def share(self) -> float:
        """The same as a share."""
        return self.gain / max(float(self.before.sum()), 1e-300)


CHANCE = 1e-5
"""Probability with which chance alone makes a cause look certain: with a hundred causes, once in a thousand logs."""


def gain_certainty(before: Array, after: Array) -> float:
    """How certain it is that held-out errors are smaller, by their differences in blocks, each of shape (blocks,)."""
    difference = before - after
    spread = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return float(difference.mean()) / max(spread, 1e-300) / _critical(1, len(difference)) ** 0.5


def _critical(count: int, blocks: int) -> float:
    """Hotelling's T squared of so many amounts, estimated from blocks, that chance reaches with `CHANCE`."""
    from scipy.special import fdtri

    count = min(count, blocks - 2)
    return float(count * (blocks - 1) / (blocks - count) * fdtri(count, blocks - count, 1.0 - CHANCE))


@dataclass(frozen=True, eq=False)
class Screen:
    """All effects beside the model, on all blocks and on all but each.

    Attributes:
        effects: The effects.
        places: Columns of each.
        moments: Products of all columns in each block, the torque last, shape (blocks, k, k).
        count: Number of the model's own columns.
        before: Held-out squared error without effects, shape (blocks,).
        solved: With the first entry of all blocks, then of all but each: the model's columns' part of the others, shape
            (blocks + 1, base, effects + 1), and products of what is beyond them, shape (blocks + 1, effects + 1,
            effects + 1).
    """

    effects: tuple[Effect, ...]
    places: tuple[slice, ...]
    moments: Array
    count: int
    before: Array
    solved: tuple[Array, Array]

    @staticmethod
    def of(bench: Bench, tried: Sequence[Effect]) -> "Screen":
        """Effects on a bench."""
        rows, known = bench.rows(bench.samples)
        columns = [bench.weighed_torque(effect.columns * effect.typical) for effect in tried]
        stops = np.cumsum([part.shape[1] for part in columns])
        torque = bench.weighed_torque(bench.samples.torque - known)
        moments = bench.moments(np.column_stack([rows, *columns, torque]))
        count, total = rows.shape[1], moments.sum(axis=0)
        sums = np.concatenate([total[None], total - moments])
        own, cross, rest = sums[:, :count, :count], sums[:, :count, count:], sums[:, count:, count:]
        part = np.asarray(np.linalg.solve(own + RIDGE * np.eye(count), cross), dtype=float)
        beyond = rest - np.swapaxes(cross, 1, 2) @ part
        places = tuple(slice(stop - c.shape[1], stop) for stop, c in zip(stops, columns, strict=True))
        return Screen(tuple(tried), places, moments, count, bench.fit.held_out, (part, beyond))

    def tried(self, which: Sequence[int], bench: Bench, prior: float = 0.0) -> Tried:
        """Try some of the effects together.

        Args:
            which: Their indices.
            bench: The bench.
            prior: Weight with which amounts are held near zero, in units of typical amounts.
        """
        columns = np.concatenate([np.arange(self.places[k].start, self.places[k].stop) for k in which])
        part, beyond = self.solved
        square = beyond[:, columns[:, None], columns]
        sizes = np.maximum(np.diagonal(self.moments.sum(axis=0))[self.count + columns], 1e-300)
        seen = np.diagonal(square[0]) > FLAT * sizes
        if not seen.any():
            cause = replace(self.effects[which[0]].cause, amounts=(0.0,) * len(columns))
            return Tried(cause, self.before, self.before, 0.0, bench.base_values(part[0, :, -1]))
        columns, square, sizes = columns[seen], square[:, seen][:, :, seen], sizes[seen]
        ridge = np.diag(FLAT * sizes + prior)
        amounts = np.asarray(np.linalg.solve(square + ridge, beyond[:, columns, -1:])[..., 0], dtype=float)
        solution = part[..., -1] - np.einsum("bik,bk->bi", part[..., columns], amounts)
        vectors = np.column_stack([solution[1:], amounts[1:], -np.ones(len(amounts) - 1)])
        places = np.concatenate([np.arange(self.count), self.count + columns, [self.moments.shape[1] - 1]])
        held_out = np.einsum("bi,bij,bj->b", vectors, self.moments[:, places[:, None], places], vectors)
        typical = np.concatenate([self.effects[k].typical for k in which])
        found = np.zeros(len(seen))
        found[seen] = amounts[0]
        cause = replace(self.effects[which[0]].cause, amounts=tuple((found * typical).tolist()))
        certainty = 0.0 if prior else _certainty(amounts)
        return Tried(cause, held_out, self.before, certainty, bench.base_values(solution[0]))


def _certainty(amounts: Array) -> float:
    """How large amounts are beside their uncertainty, by the jackknife over blocks; the first row is of all blocks."""
    blocks, count = len(amounts) - 1, amounts.shape[1]
    spread = amounts[1:] - amounts[1:].mean(axis=0)
    covariance = (blocks - 1) / blocks * spread.T @ spread
    sizes = np.sqrt(np.diag(covariance)) + 1e-300
    scaled = covariance / sizes[:, None] / sizes + 1e-9 * np.eye(count)
    z = amounts[0] / sizes
    return float(np.sqrt(max(z @ np.linalg.solve(scaled, z), 0.0) / _critical(count, blocks)))


def small_causes(bench: Bench) -> tuple[list[Tried], Tried]:
    """All small causes as effects, those that remove most first; and all of them together."""
    found = tuple(effects(bench))
    screen = Screen.of(bench, found)
    tried = [screen.tried([k], bench) for k in range(len(found))]
    together = screen.tried(range(len(found)), bench, prior=1.0)
    merged = [one for one in tried if not found[tried.index(one)].is_term]
    merged += _merged_terms(screen, tried, bench)
    return sorted(merged, key=lambda one: -one.gain), together


def _merged_terms(screen: Screen, tried: Sequence[Tried], bench: Bench) -> Iterator[Tried]:
    """Terms that joints lack, of all such joints together."""
    for kind in TERMS:
        lacking = [k for k, one in enumerate(tried) if one.cause.kind == kind and _lacks(one)]
        if not lacking:
            continue
        together = screen.tried(lacking, bench)
        names = ", ".join(f"'{tried[k].cause.joint}'" for k in lacking)
        certainty = max(tried[k].certainty for k in lacking)
        alone = tried[lacking[0]].cause.joint if len(lacking) == 1 else ""
        yield replace(together, cause=Cause(kind, alone, together.cause.amounts, names), certainty=certainty)


def _lacks(one: Tried) -> bool:
    """Whether a joint clearly lacks a term, of which friction brakes and inertia is positive."""
    positive = one.cause.kind not in POSITIVE or sum(one.cause.amounts) > 0.0
    return one.certainty >= 1.0 and one.gain > 0.0 and positive


POSITIVE = ("friction", "motor inertia", "load friction", "saturation", "flexibility")
"""Kinds of causes that act one way only."""


def all_causes(bench: Bench) -> tuple[list[Tried], Tried]:
    """All causes, those that remove most first; and all small ones together."""
    small, together = small_causes(bench)
    terms = [one for one in small if one.cause.kind in TERMS]
    promising = [one for one in small if one.cause.kind not in TERMS and one.gain > 0.0 and one.certainty > 0.7]
    exact = [found for one in promising[:REFINED] if (found := refined(bench, one)) is not None]
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
    for _ in range(STEPS):
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
    reach = robot_reach(model.robot)
    largest = {"delay": PLAUSIBLE.delay, "gravity": PLAUSIBLE.turn, "zero": PLAUSIBLE.turn, "tilt": PLAUSIBLE.tilt}
    largest["place"] = PLAUSIBLE.place * reach
    if cause.kind == "zero" and model.robot.joint(cause.joint).kind is JointKind.PRISMATIC:
        return cause.size <= PLAUSIBLE.slide * reach
    if cause.kind in largest:
        return cause.size <= largest[cause.kind]
    return 1.0 / PLAUSIBLE.factor <= 1.0 + cause.amounts[0] <= PLAUSIBLE.factor


def robot_reach(robot: Robot) -> float:
    """Sum of the distances between joints [m]."""
    return float(sum(np.linalg.norm(joint.placement[:3, 3]) for joint in robot.joints))


def large_causes(bench: Bench) -> list[Tried]:
    """Causes that are never small, the best of them on all samples; those that remove most first."""
    part = replace(bench, samples=bench.samples.every(PART))
    before = part.squares
    better = [(squares, cause) for cause, squares in _exchanged(part) if squares < before]
    better.sort(key=lambda pair: pair[0])
    return sorted((tried_exactly(bench, cause) for _, cause in better[:CLOSER]), key=lambda one: -one.gain)


def tried_exactly(bench: Bench, cause: Cause) -> Tried:
    """A cause with its amounts, mended and fitted again."""
    other = bench.with_samples(*mended(cause, bench.samples, bench.model.robot, bench.stds))
    before, after = bench.fit.held_out, other.fit
    values = other.base_values(after.solution)
    return Tried(cause, after.held_out, before, gain_certainty(before, after.held_out), values)


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
    x = np.linalg.solve(A + RIDGE * np.eye(len(A)), C)
    yield from zip(causes, ((Y**2).sum(axis=0) - (C * x).sum(axis=0)).tolist(), strict=True)
