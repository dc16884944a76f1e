"""Small causes as effects beside the model, all from the same products of columns in blocks of time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.causes import Cause
from dynid.estimation.diagnosis.effects import TERMS, Effect, effects
from dynid.estimation.normal_equations import normal_solution

FLAT = 1e-7
"""A squared effect of which less than this part is beyond the model's own columns is none."""

POSITIVE = ("friction", "motor inertia", "load friction", "saturation", "flexibility")
"""Kinds of causes that act one way only."""


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
    """How certain it is that held-out errors are smaller, by their ratios in blocks.

    Ratios, because a mistake may show most in the few blocks in which the robot moves most. With errors of each row,
    logarithms of ratios are added, as in a likelihood with a variance of each row: a mistake on one joint that shrinks
    its own errors is as certain beside many joints as beside none.

    Args:
        before: Squared errors in each block, shape (blocks,), or of each row, too, shape (blocks, rows).
        after: The same once a cause is mended.
    """
    before, after = np.maximum(before, 0.0), np.maximum(after, 0.0)  # exact data leave rounding of either sign
    smallest = 1e-12 * float(before.mean()) + 1e-300
    ratio = np.log((before + smallest) / (after + smallest)).reshape(len(before), -1).sum(axis=1)
    spread = float(ratio.std(ddof=1)) / np.sqrt(len(ratio))
    return float(ratio.mean()) / max(spread, 1e-300) / _critical(1, len(ratio)) ** 0.5


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
        rows, torque = bench.equations
        columns = [bench.weighed_torque(effect.columns * effect.typical) for effect in tried]
        stops = np.cumsum([part.shape[1] for part in columns])
        moments = bench.moments(np.column_stack([rows, *columns, torque]))
        count, total = rows.shape[1], moments.sum(axis=0)
        sums = np.concatenate([total[None], total - moments])
        own, cross, rest = sums[:, :count, :count], sums[:, :count, count:], sums[:, count:, count:]
        part = normal_solution(own, cross)
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
    merged = [one for one, effect in zip(tried, found, strict=True) if not effect.is_term]
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
