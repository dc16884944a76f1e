"""Detection of changes: what of the residuals a payload, or friction of a joint, would explain.

With r the residuals of parameters that stay as they are, weighed by their standard deviations, and z what a unit of a
hypothesis' parameters d adds to the torques, sums over a sliding window give `d = (A + P)^-1 g` with `A = sum z z'`,
`g = sum z r` and one over the variances P of d beforehand. It explains `g' d` of the squared residuals: their
likelihood ratio, if they were white. They are not: models are wrong, errors are autocorrelated, and motions repeat. So
the level that raises an alarm is a multiple of the largest that was seen while the robot moved and nothing changed.

After an alarm, samples without forgetting decide which hypothesis explains most. Its change is then added to the
parameters, so that the next change is noticed from there: a payload that is put down again, for instance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.streams import change_state as at
from dynid.estimation.streams.alarms import Alarm
from dynid.estimation.streams.change_thresholds import THRESHOLDS, ChangeThresholds
from dynid.estimation.streams.hypotheses import Cause, Hypothesis, columns_of, dry_levels, hypotheses_of, mass_of
from dynid.estimation.streams.stream_rows import StreamRows
from dynid.model import DynamicModel

HALF_INTERVAL = 1.96
"""Half the width of a 95 % interval, in standard deviations."""


@dataclass(eq=False)
class ChangeDetector:
    """Watches the rows of a stream.

    Attributes:
        model: The model.
        rows: Where its rows stand.
        predictors: Values of all columns of the rows, with -1 for right-hand sides: the parameters that should hold.
        weights: One over the standard deviation of each row's errors, shape (rows,).
        thresholds: When a change raises an alarm.
        hypotheses: What may change.
    """

    model: DynamicModel
    rows: StreamRows
    predictors: Array
    weights: Array
    values: Array
    thresholds: ChangeThresholds = THRESHOLDS
    hypotheses: list[Hypothesis] = field(init=False)

    def __post_init__(self) -> None:
        from dynid.estimation.streams.change_kernel import watch

        self._watch = watch
        robot, model = self.model.robot, self.model
        spans = np.zeros(robot.nv)
        spans[list(model.row_indices)] = 1.0 / self.weights
        self.hypotheses = hypotheses_of(model, self.values, spans)
        count, windows = len(self.hypotheses), len(self.thresholds.windows)
        self._sizes = np.array([len(one.parameters) for one in self.hypotheses], dtype=np.int64)
        self._begins = np.cumsum([0, *self._sizes[:-1]], dtype=np.int64)[:count]
        every = [k for one in self.hypotheses for k in one.parameters]
        self._columns = columns_of(model, self.rows.equations.bases, every)
        most = int(self._sizes.max(initial=1))
        self._penalties, self._references = np.zeros((2, count, most))
        self._least, self._doubts = np.zeros(count), np.zeros((count, most, most))
        self._taken = np.zeros((count, most))
        self._before_load: dict[int, Array] = {}
        self._original = self.predictors
        mass = mass_of(robot)
        for h, one in enumerate(self.hypotheses):
            n = len(one.parameters)
            self._penalties[h, :n] = 1.0 / one.stds**2
            if one.cause is Cause.FRICTION:
                self._references[h, :n] = self.values[list(one.parameters)]
            self._least[h] = self.thresholds.least_friction if one.row >= 0 else self.thresholds.least_mass * mass
        self._smallest = self._least.copy()
        self._waiting = np.array([one.cause is Cause.FRICTION for one in self.hypotheses])
        self._A = np.zeros((windows + 1, count, most, most))
        self._g = np.zeros((windows + 1, count, most))
        self._energy = np.zeros(windows + 1)
        self._by_row = np.zeros(len(self.weights))
        self._levels = np.full((windows, count), self.thresholds.lowest / self.thresholds.factor)
        self._learned = self._levels.copy()
        self._seen = np.zeros((windows, count))
        self._squares, self._swings = np.zeros((2, windows, count))
        self._clocks = np.zeros(count)
        self._state = np.zeros(at.PLACES)
        self._state[[at.SINCE, at.WHICH, at.WINDOW]] = -1.0
        self._settling = self.thresholds.settling
        self._memory = np.zeros((most, most)), np.zeros(most)
        self._rates = 1.0 / np.array(self.thresholds.windows)
        self._joints = [-1 if one.row < 0 else one.row for one in self.hypotheses]
        self._dry = dry_levels(model, self.values)
        self._raised: Alarm | None = None
        count_of_rows, columns = len(self.weights), len(self.predictors)
        nothing = np.zeros((0, count), dtype=bool)
        self._run(np.zeros((0, columns)), 0, np.zeros(0), nothing, np.zeros((0, count_of_rows)))  # compile now

    @property
    def is_watching(self) -> bool:
        """Whether all that may change was learned, so that each change can raise an alarm."""
        return bool((self._clocks >= self.thresholds.learning).all())

    @property
    def learned(self) -> dict[str, float]:
        """How long what is normal was learned [s], by link or joint; the shorter where both have one name."""
        found: dict[str, float] = {}
        for one, clock in zip(self.hypotheses, self._clocks.tolist(), strict=True):
            found[one.place] = min(clock, found.get(one.place, math.inf))
        return found

    @property
    def levels(self) -> dict[str, float]:
        """What each hypothesis explains now, in parts of what raises an alarm, by link or joint; those learned.

        Where a link and a joint have one name, it is the larger.
        """
        found: dict[str, float] = {}
        for h, one in enumerate(self.hypotheses):
            if self._clocks[h] >= self.thresholds.learning:
                ratios = [self._ratio(h, w) for w in range(len(self._rates))]
                found[one.place] = max(*ratios, found.get(one.place, 0.0))
        return found

    def go_on_from(self, predictors: Array) -> None:
        """Take other values of all columns, shape (columns,), as those that should hold; there was no change yet."""
        if self._raised is None:
            self.predictors = self._original = predictors

    def watch(self, rows: Array, steps: Array, seconds: Array, v: Array) -> Iterator[tuple[int, Alarm]]:
        """Watch samples.

        Args:
            rows: Their rows, shape (samples, columns).
            steps: Interval before each [s], shape (samples,).
            seconds: Time of each since the stream began [s], shape (samples,).
            v: Velocities, shape (samples, nv).

        Yields:
            Sample and alarm: when it is raised, and when its cause is settled.
        """
        if not self.hypotheses:
            return
        fast = np.abs(v) > self.thresholds.moving
        any_moves = fast.any(axis=1)
        moving = np.stack([any_moves if row < 0 else fast[:, row] for row in self._joints], axis=1)
        dry = np.where(np.abs(v[:, list(self.model.row_indices)]) < self.thresholds.slow, self._dry, 0.0)
        weights = 1.0 / np.sqrt(1.0 / self.weights**2 + dry**2)
        first = 0
        while first < len(rows):
            event, last = self._run(rows, first, steps, moving, weights)
            if event == at.SETTLED and self._needs_longer():
                self._settling = self.thresholds.settling_friction
            elif event:
                yield last, self._alarm(float(seconds[last]), is_settled=event == at.SETTLED)
            first = last + 1

    def _run(self, rows: Array, first: int, steps: Array, moving: NDArray[np.bool_], weights: Array) -> tuple[int, int]:
        """Run over samples until something happens: what, and at which sample."""
        return self._watch(
            rows, first, steps, moving, self.rows.starts, self.rows.widths, self.predictors, weights, self._columns,
            self._begins, self._sizes, self._penalties, self._references, self._doubts, self._least, self._waiting,
            self._rates, self._A, self._g, self._energy, self._by_row, self._levels, self._learned, self._seen,
            self._squares, self._swings, self._clocks, self.thresholds.learning, self.thresholds.factor, self._settling,
            self.thresholds.confirming, self.thresholds.caution, self._state, *self._memory,
        )  # fmt: skip

    def _needs_longer(self) -> bool:
        """Whether friction is the most likely cause, and more time would show it better."""
        one = self.hypotheses[self._likeliest(len(self._rates))]
        return one.cause is Cause.FRICTION and self._settling < self.thresholds.settling_friction

    def _alarm(self, seconds: float, *, is_settled: bool) -> Alarm:
        """The alarm of what the sums say; a settled one is added to the parameters."""
        raised = self._raised
        window = len(self._rates) if is_settled else int(self._state[at.WINDOW])
        h = self._likeliest(window)
        one, explained = self.hypotheses[h], self._explained(h, window)
        d, covariance = self._tempered(h, window)
        cause, place, change, interval = one.cause, one.place, *self._change(h, d, covariance, window)
        if is_settled and explained < self.thresholds.explained * self._unusual(window):
            cause, place = Cause.UNKNOWN, self.model.row_names[int(np.argmax(self._by_row))]
            change, interval = math.nan, (math.nan, math.nan)
        elif is_settled and abs(change) < self._least[h]:
            cause, change, interval = Cause.NOTHING, math.nan, (math.nan, math.nan)
        level = self._ratio(h, min(window, len(self._rates) - 1))
        if is_settled and raised is not None:
            seconds, level = raised.seconds, raised.level
        alarm = Alarm(seconds, cause, place, change, interval, is_settled, float(level))
        self._raised = None if is_settled else alarm
        if is_settled:
            self._take(h, d, covariance, cause)
        return alarm

    def _inflation(self, h: int, window: int) -> float:
        """How many times the squares that white errors would explain by chance errors explained while learning."""
        learned, n = min(window, len(self._rates) - 1), int(self._sizes[h])
        return max(1.0, float(self._squares[learned, h]) / (n * max(self._clocks[h], 1e-9)))

    def _likeliest(self, window: int) -> int:
        """The hypothesis with the largest evidence: what it explains, less what its freedom explains by chance."""
        common = float(np.median([self._inflation(h, window) for h in range(len(self.hypotheses))]))
        found = []
        for h, n in enumerate(self._sizes):
            prior = np.diag(self._penalties[h, :n])
            precision, g = self._symmetric(window, h) / common + prior, self._g[window, h, :n] / common
            occam = np.linalg.slogdet(precision)[1] - np.sum(np.log(np.diag(prior)))
            found.append(float(g @ np.linalg.solve(precision, g)) - float(occam))
        return int(np.argmax(found))

    def _explained(self, h: int, window: int) -> float:
        """Explained squares of a hypothesis."""
        n = int(self._sizes[h])
        g = self._g[window, h, :n]
        return float(g @ np.linalg.solve(self._symmetric(window, h) + np.diag(self._penalties[h, :n]), g))

    def _ratio(self, h: int, window: int) -> float:
        """What a hypothesis explains, in parts of what raises an alarm: as `change_kernel.watch` compares them."""
        n, thresholds = int(self._sizes[h]), self.thresholds
        A, g = self._symmetric(window, h), self._g[window, h, :n]
        penalties = np.diag(self._penalties[h, :n] * self._inflation(h, window))
        doubt = float(np.sum(A * self._doubts[h, :n, :n]))
        caution = thresholds.caution if self._state[at.CAUTIOUS] > 0.0 else 1.0
        level = thresholds.factor * caution * (self._levels[window, h] + doubt)
        return float(g @ np.linalg.solve(A + penalties, g)) / level

    def _tempered(self, h: int, window: int) -> tuple[Array, Array]:
        """The change that a hypothesis says, shape (n,), with its covariance.

        Errors are not white: while nothing had changed, they explained many times the squares that white ones would.
        The sums count less by that.
        """
        n, inflation = int(self._sizes[h]), self._inflation(h, window)
        information = self._symmetric(window, h) / inflation + np.diag(self._penalties[h, :n])
        covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return covariance @ self._g[window, h, :n] / inflation, covariance

    def _change(self, h: int, d: Array, covariance: Array, window: int) -> tuple[float, tuple[float, float]]:
        """The change in the units of an alarm, and its interval, by how much it swung while learning."""
        part = np.eye(1, len(d))[0]
        if self.hypotheses[h].cause is Cause.FRICTION:  # the torques that it adds, along those that it had
            x = self._references[h, : len(d)]
            along = self._symmetric(window, h) @ x
            part = along / max(float(along @ x), 1e-300)
        learned = min(window, len(self._rates) - 1)
        swing = float(self._swings[learned, h]) / max(self._clocks[h], 1e-9)
        wider = max(1.0, swing / self._inflation(h, window))
        change, half = float(part @ d), HALF_INTERVAL * math.sqrt(wider * float(part @ covariance @ part))
        return change, (change - half, change + half)

    def _symmetric(self, window: int, h: int) -> Array:
        n = int(self._sizes[h])
        low = np.tril(self._A[window, h, :n, :n])
        return low + np.tril(low, -1).T

    def _unusual(self, window: int) -> float:
        """Squares of the residuals beyond those of as many samples while nothing had changed."""
        usual = self._state[at.USUAL_SQUARES] / max(self._state[at.USUAL_COUNT], 1.0)
        return max(float(self._energy[window]) - usual * self._state[at.COUNT], 1e-300)

    def _add(self, h: int, d: Array, covariance: Array, cause: Cause) -> None:
        """Add a change to what should hold."""
        n, carried = len(d), self._taken[h, 0]
        self._taken[h, :n] += d
        self._doubts[h, :n, :n] += covariance
        if cause is Cause.FRICTION:
            self._references[h, :n] += d
        else:
            if not carried:
                self._before_load[h] = self._levels.copy()
            if abs(self._taken[h, 0]) < self._least[h]:  # what was picked up was put down
                self._taken[h], self._doubts[h] = 0.0, 0.0
                self._levels[:] = self._before_load[h]
            self._least[h] = self._smallest[h] + self.thresholds.part_of_payload * abs(self._taken[h, 0])
        self.predictors = self._original + self._columns @ np.concatenate(
            [taken[:size] for taken, size in zip(self._taken, self._sizes, strict=True)]
        )

    def _take(self, h: int, d: Array, covariance: Array, cause: Cause) -> None:
        """Go on from a change: with what it explains, or by learning anew what is normal."""
        if cause is Cause.NOTHING:
            self._state[at.CAUTIOUS] = self.thresholds.cautious
        elif cause is Cause.UNKNOWN:
            self._levels[:] = self.thresholds.lowest / self.thresholds.factor
            self._squares[:] = self._swings[:] = self._clocks[:] = 0.0
            self._state[[at.USUAL_COUNT, at.USUAL_SQUARES]] = 0.0
        else:
            self._state[at.CAUTIOUS] = self.thresholds.cautious
            self._add(h, d, covariance, cause)
        self._seen[:] = 0.0  # it was of the change
        for sums in (self._A, self._g, self._energy):
            sums[:] = 0.0
        self._state[at.SINCE] = -1.0
        self._settling = self.thresholds.settling
