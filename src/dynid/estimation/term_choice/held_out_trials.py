"""Trials of terms: each is fitted without a block of time and predicts it, block by block."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.term_choice.block_moments import (
    Block,
    BlockMoments,
    Columns,
    HeldOutFit,
    best_columns,
    held_out_fit,
)
from dynid.estimation.term_choice.term_options import Option
from dynid.model import (
    BaseParameters,
    Candidates,
    DynamicModel,
    Sign,
    known_base,
    known_of,
    nonlinear_columns,
    specification,
)
from dynid.robot import Robot


@dataclass(frozen=True)
class TrialThresholds:
    """What of a trial of terms counts as zero.

    Shown by `benchmarks/term_choice.py` (terms of simulated robots) and `benchmarks/real_logs.py` (held-out errors of
    real logs, table in `docs/accuracy.md`).
    """

    negligible_error: float = 1e-4
    """Error relative to a joint's torque that counts as none: filters leave as much of exact logs."""

    significant_stds: float = 3.0
    """Standard deviations (by the jackknife over blocks) from which a value is not zero by chance: one in 370 for
    normal errors, and tens of values are looked at."""


THRESHOLDS = TrialThresholds()


@dataclass(frozen=True, eq=False)
class Trial:
    """Terms that were tried.

    Attributes:
        options: Names of the options.
        terms: The terms as users write them.
        parameters: Number of parameters, with those of links and nonlinear ones.
        errors: Squared error per row of each held-out block, in parts of the variance that the plain linear model
            leaves, shape (blocks,).
        relative_error: Norm of all held-out errors over the norm of the measured torques.
        negative: Parameters that are clearly negative and cannot be.
        positive: Parameters that cannot be negative, and are clearly positive.
        unsupported: Options all of whose parameters cannot be negative, and none is clearly positive.
        fit: The fit.
        seconds: Time that it took.
    """

    options: tuple[str, ...]
    terms: tuple[str, ...]
    parameters: int
    errors: Array
    relative_error: float
    negative: tuple[str, ...]
    positive: tuple[str, ...]
    unsupported: tuple[str, ...]
    fit: HeldOutFit
    seconds: float

    @cached_property
    def log_errors(self) -> Array:
        """Logarithms of the root mean squared error of each block, shape (blocks,)."""
        return 0.5 * np.log(self.errors)

    @property
    def log_error(self) -> float:
        """Their mean."""
        return float(np.mean(self.log_errors))


@dataclass(eq=False)
class Trials:
    """All trials on the same blocks.

    Attributes:
        robot: The robot.
        options: Terms that may be chosen.
        blocks: The blocks.
        known: Parameters that are known beforehand, by name or pattern.
        done: Trials so far, by the names of their options.
    """

    robot: Robot
    options: dict[str, Option]
    blocks: Sequence[Block]
    known: Mapping[str, float]
    done: dict[tuple[str, ...], Trial] = field(default_factory=dict)

    def __post_init__(self) -> None:
        linear = [o for o in self.options.values() if o.is_plain]
        self.model = DynamicModel(self.robot, [term for option in linear for term in option.terms])
        self.base = self._base(self.model)
        more = [o for o in self.options.values() if not o.is_plain and not o.is_nonlinear]
        extra = [term for option in more for term in option.terms]
        self.moments = BlockMoments.of(DynamicModel(self.robot, (*self.model.terms, *extra)), self.base, self.blocks)
        self.weights = self._weights()

    def _base(self, model: DynamicModel) -> BaseParameters:
        return known_base(model, known_of(model, self.known))

    def with_nonlinear(self, start: Trial) -> None:
        """Pass over the blocks again, with the columns of nonlinear terms; loads are those of a linear trial."""
        values = np.zeros(len(self.model.names))
        place = {name: k for k, name in enumerate(self.model.names)}
        for name, value in zip(start.fit.names, start.fit.values, strict=True):
            if name in place:
                values[place[name]] = value
        for name, value in self.base.known.items():
            values[place[name]] = value
        links = values[: len(self.robot.parameters)]
        tried = [term.with_links(links) for option in self.options.values() for term in option.tried()]
        self.moments = BlockMoments.of(DynamicModel(self.robot, tried), self.base, self.blocks)

    def _weights(self) -> Array:
        """One over the error that ordinary least squares with all plain linear terms leaves in each row."""
        names = self._names(tuple(name for name, option in self.options.items() if option.is_plain))
        fit = held_out_fit(
            self.moments, {name: [name] * self._count for name in names}, np.ones(len(self.moments.rows))
        )
        self._floors, weights = [], []
        for row in self.moments.rows:
            place = [row.place[name] for name in names if name in row.place]
            x = [-value for name, value in zip(names, fit.values, strict=True) if name in row.place]
            x, at = np.append(x, 1.0), [*place, len(row.names)]
            whole, count = row.moments.sum(axis=0), max(int(row.rows.sum()), 1)
            squares = float(x @ whole[np.ix_(at, at)] @ x) / count
            floor = THRESHOLDS.negligible_error**2 * float(whole[-1, -1]) / count
            self._floors.append(floor)
            weights.append(1.0 / np.sqrt(max(squares, floor)) if floor > 0.0 else 0.0)
        return np.array(weights)

    @property
    def blocks_with_rows(self) -> int:
        """Number of blocks in which rows count."""
        return int(np.sum(np.sum([row.rows for row in self.moments.rows], axis=0) > 0))

    @property
    def _count(self) -> int:
        return len(self.moments.fold_names) + 1

    def _names(self, linear: Sequence[str], options: Sequence[str] = ()) -> list[str]:
        """Columns of links, of linear options, and of the linear parts of others, that are independent."""
        own = {name for option in linear for name in self.options[option].parameters(self.robot)}
        for option in options:
            grids = self.options[option].grids
            own |= {n for n, owner in self.options[option].parameters(self.robot).items() if owner not in (grids or ())}
        of_terms = {p.name for p in self.model.parameters if p.link is None}
        names = [name for name in self.base.names if name not in of_terms or name in own]
        more = [name for name in own if name not in self.model.names and name not in self.base.known]
        return [*names, *more]

    def of(self, *options: str) -> Trial:
        """Try options; each combination once."""
        options = tuple(name for name in self.options if name in options)
        if options not in self.done:
            self.done[options] = self._tried(options)
        return self.done[options]

    def _tried(self, options: tuple[str, ...]) -> Trial:
        start = time.perf_counter()
        linear = [name for name in options if self.options[name].grids is None]
        columns: dict[str, Sequence[str]] = {name: [name] * self._count for name in self._names(linear, options)}
        nonlinear = 0
        for name in options:
            grids = self.options[name].grids
            if grids is not None:
                columns |= self._best_sets(self.options[name], grids, columns)
                nonlinear += sum(len(grid[0]) for grid in grids.values())
        fit = held_out_fit(self.moments, columns, self.weights)
        model = DynamicModel(self.robot, [term for name in options for term in self.options[name].terms])
        rows = np.stack([row.rows for row in self.moments.rows], axis=1)
        total = np.stack([row.moments[:, -1, -1] for row in self.moments.rows], axis=1)
        squares = fit.squares + rows * np.array(self._floors)
        sums = (squares * self.weights**2).sum(axis=1) / np.maximum(rows.sum(axis=1), 1)
        errors, norms = fit.squares.sum(axis=0), total.sum(axis=0)
        signed = {p.name for p in model.parameters if p.link is None and p.sign is Sign.NONNEGATIVE}
        negative, positive = _signs(fit, signed)
        own = {name: {n for n in self.options[name].parameters(self.robot) if n in fit.names} for name in options}
        unsupported = tuple(name for name in options if own[name] and own[name] <= signed - set(positive))
        return Trial(
            options=options,
            terms=tuple(specification(term) for term in model.terms),
            parameters=len(fit.names) + nonlinear,
            errors=sums[rows.sum(axis=1) > 0],
            relative_error=float(np.sqrt(errors.sum() / max(norms.sum(), 1e-300))),
            negative=negative,
            positive=positive,
            unsupported=unsupported,
            fit=fit,
            seconds=time.perf_counter() - start,
        )

    def joints_that_show(self, trial: Trial, option: str) -> list[str]:
        """Joints on which a nonlinear option of a trial has a parameter that is clearly not zero."""
        own = self.options[option]
        names = own.parameters(self.robot)
        if own.grids is None:
            return [owner for name, owner in names.items() if name in trial.positive]
        changed = {
            name for columns in nonlinear_columns(DynamicModel(self.robot, own.terms)).values() for name in columns
        }
        sizes = dict(zip(trial.fit.names, np.abs(trial.fit.values) / np.maximum(trial.fit.stds, 1e-300), strict=True))
        limit = THRESHOLDS.significant_stds
        return [owner for name, owner in names.items() if name in changed and sizes.get(name, 0.0) > limit]

    def _best_sets(
        self, option: Option, grids: Mapping[str, Sequence[Mapping[str, float]]], beside: Columns
    ) -> dict[str, Sequence[str]]:
        """For each parameter of a nonlinear term the column that fits its joint's row best, in each fold."""
        own = option.parameters(self.robot)
        found: dict[str, Sequence[str]] = {}
        for owner, grid in grids.items():
            names = [name for name, of in own.items() if of == owner]
            first = Candidates.name(names[0], 0)
            k = next(k for k, row in enumerate(self.moments.rows) if first in row.place)
            row, training = self.moments.rows[k], self.moments.training[k]
            fixed = [row.place[column[0]] for column in beside.values() if column[0] in row.place]
            sets = [[row.place[Candidates.name(name, s)] for name in names] for s in range(len(grid))]
            best = [best_columns(moments, fixed, sets) for moments in training]
            found |= {name: [Candidates.name(name, s) for s in best] for name in names}
        return found


def _signs(fit: HeldOutFit, signed: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parameters that are clearly negative, and clearly positive, of those that cannot be negative."""
    sizes = fit.values / np.where(fit.stds > 0.0, fit.stds, np.inf)
    named = [(name, size) for name, size in zip(fit.names, sizes, strict=True) if name in signed]
    negative = tuple(name for name, size in named if size < -THRESHOLDS.significant_stds)
    return negative, tuple(name for name, size in named if size > THRESHOLDS.significant_stds)
