"""Identification while data stream in: `dynid.Stream`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.recursive_factors import RecursiveFactors
from dynid.estimation.least_squares import Prior
from dynid.estimation.streams import stream_samples as given
from dynid.estimation.streams.alarms import Alarm
from dynid.estimation.streams.causal_filter import CausalFilter
from dynid.estimation.streams.change_thresholds import THRESHOLDS, ChangeThresholds
from dynid.estimation.streams.change_watch import ChangeWatch
from dynid.estimation.streams.filtered_rows import FilteredRows
from dynid.estimation.streams.residual_memory import ResidualMemory
from dynid.estimation.streams.stream_estimate import StreamEstimate, StreamEstimator
from dynid.estimation.streams.stream_rows import StreamRows
from dynid.estimation.streams.stream_update import StreamUpdate
from dynid.identification.result import Result
from dynid.logs import Contact
from dynid.model import Chunk, DynamicModel, Term, checked, find_base_parameters
from dynid.robot import Robot

FIRST_LOOK = 64
"""Samples after which residuals are first those of parameters that the stream itself found; then whenever there are
twice as many, and with forgetting once in its time constant."""

MOST_AT_ONCE = 512
"""Samples of a block that are included together; the stream looks whether to begin to watch each time."""

Contacts = Sequence[Contact] | Mapping[str, Any] | None


class Stream:
    """Recursive identification: base parameters of data that come in a sample, or a block, at a time.

    Each observed row of the dynamics has a triangular factor, which every sample is rotated into: the square-root form
    of recursive least squares. What `estimate` gives is that of weighted least squares on all samples at once.

    Args:
        model: A robot (also by the path of its file or `builtin:NAME`), a `DynamicModel`, or a `Result`, whose data the
            stream then goes on from.
        terms: Friction and actuator terms of a robot, as in `dynid.identify`.
        forgetting: Time constant [s] with which the weights of squared errors of older samples fade; nothing is
            forgotten when None.
        rate: Sampling rate [Hz] of updates that come without times.
        prior: What is known of the base parameters beforehand.
        noise: Standard deviation of the errors of each row [N m or N]: one number, one for each row, or by name. Those
            that ordinary least squares leaves when None.
        causal_filter: How positions are filtered that come without velocities and accelerations.
        changes: When changes raise an alarm; nothing is watched when None, or where no time and no rate are known.

    Attributes:
        model: The model.
        base: Its base parameters.
        row_names: Names of the rows of a sample.
        unmeasured: Those that do not count: rows of drives without a signal, of a `Result` that left them out. What
            updates have there is not looked at, and may be NaN.

    Raises:
        InvalidRequestError: If a setting makes no sense, or the model's rows cannot be had of single samples.
    """

    def __init__(
        self,
        model: Robot | DynamicModel | Result | str | os.PathLike[str],
        terms: str | Sequence[Term | str] = (),
        *,
        forgetting: float | None = None,
        rate: float | None = None,
        prior: Prior | None = None,
        noise: float | Sequence[float] | Mapping[str, float] | None = None,
        causal_filter: CausalFilter | None = None,
        changes: ChangeThresholds | None = THRESHOLDS,
    ) -> None:
        self._result = model if isinstance(model, Result) else None
        if isinstance(model, (Result, DynamicModel)):
            if terms:
                raise InvalidRequestError("the model of a stream has its terms already; leave `terms` out")
            self.model = model.model if isinstance(model, Result) else model
        else:
            self.model = DynamicModel(model, terms)
        given.require_positive(forgetting=forgetting, rate=rate)
        given.require_kinds(prior=(prior, Prior), causal_filter=(causal_filter, CausalFilter))
        given.require_kinds(changes=(changes, ChangeThresholds))
        given.require_streamable(self.model, is_identified=self._result is not None)
        self.base = model.base if isinstance(model, Result) else find_base_parameters(self.model)
        self.row_names = self.model.row_names
        self._forgetting, self._rate = forgetting, rate
        self._rows = StreamRows(self.model)
        self.unmeasured = () if self._result is None else given.unmeasured_rows(self.model, self._result.torques)
        self._silent = np.array([name in self.unmeasured for name in self.row_names])
        self._silent_columns = self._rows.columns(self._silent)
        self._factors = RecursiveFactors(self.model.names, self._rows.equations.bases, ~self._silent)
        stds = None if noise is None else given.row_stds(noise, self.row_names)
        self._estimator = StreamEstimator(self.base, self._factors, prior, stds)
        self._filtered = FilteredRows(self._rows, causal_filter or CausalFilter())
        self._memory = ResidualMemory(len(self.row_names))
        self._watch = ChangeWatch(self._rows, self._estimator, changes)
        self.reset()

    def reset(self) -> None:
        """Forget all samples: the stream is as when it was made."""
        self._factors.clear()
        self._filtered.reset()
        self._clock = given.Clock(self._rate)
        self._counted_at, self._counted, self._arrived = math.nan, 0, 0
        self._form = ""
        self._predictors = self._rows.predictors(np.zeros(len(self.model.names)))
        self._sure = False
        self._next_look = FIRST_LOOK
        self._memory.clear()
        self._watch.reset(is_known=self._result is not None)
        if self._result is not None:
            for factors in self._result.torques:
                self._factors.merge(factors)
            self._look()

    @property
    def factors(self) -> Factors:
        """The triangular factors of all samples so far: they merge with those of logs."""
        return self._factors.factors()

    def merge(self, factors: Factors) -> None:
        """Add what factors of the same model hold, such as those of a log or of another stream.

        Raises:
            InvalidRequestError: If they are of another model.
        """
        given.require_kinds(factors=(factors, Factors))
        self._factors.merge(factors)
        self._look()

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the factors to a file (NPZ); `dynid.estimation.Factors.load` reads it, and `merge` takes it."""
        self.factors.save(path, overwrite=overwrite)

    @property
    def seconds(self) -> float:
        """How long the stream lasts [s]; NaN where no time and no rate are known."""
        return self._clock.seconds

    @property
    def restarts(self) -> int:
        """How often gaps between samples made filters begin anew."""
        return self._filtered.restarts

    @property
    def estimate(self) -> StreamEstimate:
        """What is determined so far; some milliseconds of work."""
        return self._estimator.estimate(self._clock.samples, self.seconds, self._memory.lasting())

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The changes that were noticed so far (the newest thousand), with what later samples made of their causes."""
        return self._watch.alarms

    @property
    def is_watching(self) -> bool:
        """Whether changes raise alarms: parameters are determined, and what is normal was learned."""
        return self._watch.is_watching

    @property
    def learned(self) -> float | None:
        """How far what is normal was learned, from 0 to 1, at which all changes raise alarms; None without alarms."""
        return self._watch.learned

    @property
    def levels(self) -> dict[str, float]:
        """What each change would explain now, in parts of what raises an alarm, by link or joint."""
        return self._watch.levels

    @overload
    def update(
        self, q: Any, v: Any, a: Any, tau: Any, /, *, t: Any = None, contacts: Contacts = None
    ) -> StreamUpdate: ...

    @overload
    def update(self, t: Any, q: Any, tau: Any, /, *, contacts: Contacts = None) -> StreamUpdate: ...

    def update(self, *signals: Any, t: Any = None, contacts: Contacts = None) -> StreamUpdate:
        """Include one sample, or a block: `update(q, v, a, tau)`, or `update(t, q, tau)` as `update_positions`.

        Args:
            signals: Positions [rad or m], shape (nq,) or (samples, nq), those of a floating base first; velocities and
                accelerations, shape (nv,) or (samples, nv); what was measured of each row [N m or N], shape (rows,) or
                (samples, rows). With contacts the latter are torques of the joints without the base, or None.
            t: Time [s], one number or shape (samples,); by the rate when None.
            contacts: What the surroundings exert on a floating robot: wrenches by the names of bodies, shape (6,) or
                (samples, 6), or `dynid.Contact` objects; `()` in free flight.

        Raises:
            ShapeError: If a shape does not fit the model.
            InvalidRequestError: If a number is not finite, time goes backwards, or earlier updates were of the other
                form. Nothing has changed then.
        """
        if len(signals) == 3 and t is None:
            return self.update_positions(*signals, contacts=contacts)
        if len(signals) != 4:
            raise InvalidRequestError(
                f"an update takes q, v, a, tau (and t by name), or t, q, tau; {len(signals)} signals were given"
            )
        robot = self.model.robot
        q = given.as_rows(f"positions of '{robot.name}'", signals[0], robot.nq)
        v = given.as_rows(f"velocities of '{robot.name}'", signals[1], robot.nv, len(q))
        a = given.as_rows(f"accelerations of '{robot.name}'", signals[2], robot.nv, len(q))
        chunk = Chunk(q, v, a, given.right_hand_sides(self.model, q, signals[3], contacts, self._silent))
        if robot.has_quaternions:
            chunk = checked(self.model, chunk)
        times = self._clock.times(t, len(q))
        if times is None and self._forgetting is not None:
            raise InvalidRequestError("forgetting needs time: give t with each update, or the stream's rate")
        self._form = given.same_form(self._form, "states")
        self._clock.advance(t, len(q))
        found = []
        for at in self._parts(len(q)):
            part, of_part = chunk[at], None if times is None else times[at]
            found.append(self._include(self._rows.of(part), part, of_part))
        return self._updated(found, is_single=np.ndim(signals[0]) == 1)

    def update_positions(self, t: Any, q: Any, tau: Any, *, contacts: Contacts = None) -> StreamUpdate:
        """Include one sample, or a block, of positions: velocities and accelerations come from a causal filter.

        Positions with their derivatives and torques go through the same low-pass, then all columns of the equations and
        torques through another (see `CausalFilter`), so that nothing is late against anything. Samples before these
        have settled do not count, and after a gap they begin anew.

        Args:
            t: Time [s], one number or shape (samples,).
            q: Positions [rad or m], shape (nq,) or (samples, nq).
            tau: As in `update`.
            contacts: As in `update`.

        Raises:
            ShapeError: If a shape does not fit the model.
            InvalidRequestError: As `update`; or, after some were taken, if samples lie too far apart for the filter.
        """
        robot = self.model.robot
        positions = given.as_rows(f"positions of '{robot.name}'", q, robot.nq)
        if robot.has_quaternions:
            robot.states(positions)
        torque = given.right_hand_sides(self.model, positions, tau, contacts, self._silent)
        times = self._clock.times(t, len(positions))
        if times is None or t is None:
            raise InvalidRequestError("positions need time: update(t, q, tau)")
        self._form = given.same_form(self._form, "positions")
        self._clock.advance(t, len(positions))
        found = [self._include_positions(times[at], positions[at], torque[at]) for at in self._parts(len(positions))]
        return self._updated(found, is_single=np.ndim(q) == 1)

    def _include_positions(self, times: Array, q: Array, torque: Array) -> tuple[Array, list[Alarm]]:
        """Include samples of positions; their residuals, NaN where they do not count, and alarms."""
        residual, alarms = np.full(torque.shape, np.nan), []
        for at, rows, chunk in self._filtered.of(times, q, torque):
            residual[at], more = self._include(rows, chunk, times[at])
            alarms += more
        return residual, alarms

    def _parts(self, count: int) -> Iterator[slice]:
        """Parts of a block, with the same ends however samples come in; after each there is time to look."""
        first = 0
        while first < count:
            last = min(count, first + MOST_AT_ONCE - self._arrived % MOST_AT_ONCE)
            yield slice(first, last)
            self._arrived += last - first
            first = last
            if self._arrived % MOST_AT_ONCE == 0:
                self._watch.begin(self._counted_at - self._clock.first, self._memory.lasting())

    def _include(self, rows: Array, chunk: Chunk, times: Array | None) -> tuple[Array, list[Alarm]]:
        """Include rows, which are overwritten, of samples at times [s]; residuals, (samples, rows), and alarms."""
        fadings, alarms = np.zeros(len(rows)), []
        rows[:, self._silent_columns] = 0.0
        if times is not None and len(times):
            before = times[0] if math.isnan(self._counted_at) else self._counted_at
            steps = np.diff(times, prepend=before)
            if self._forgetting is not None:
                fadings = steps / self._forgetting
            alarms = self._watch.watch(rows, steps, times - self._clock.first, chunk)
            self._counted_at = float(times[-1])
        residual, first = np.empty((len(rows), len(self.row_names))), 0
        while first < len(rows):  # looks come after the same samples, whatever blocks they come in
            last = min(len(rows), first + self._next_look - self._counted)
            part = slice(first, last)
            residual[part] = self._rows.residuals(rows[part], self._predictors)
            if self._sure:
                self._memory.add(residual[part])
            self._rows.include(rows[part], self._factors, fadings[part])
            self._counted, first = self._counted + last - first, last
            if self._counted == self._next_look:
                self._look()
                self._memory.begin_anew()
                self._next_look += max(FIRST_LOOK, int(np.max(self._factors.counts)))
        return residual, alarms

    def _updated(self, found: list[tuple[Array, list[Alarm]]], *, is_single: bool) -> StreamUpdate:
        residual = np.concatenate([part for part, _ in found]) if found else np.zeros((0, len(self.row_names)))
        residual[:, self._silent] = np.nan
        alarms = tuple(alarm for _, more in found for alarm in more)
        return StreamUpdate(residual[0] if is_single else residual, self._sure, self.seconds, alarms)

    def _look(self) -> None:
        """Take the parameters of now as those that residuals are of."""
        x, _, stacked = self._estimator.solve()
        self._predictors = self._rows.predictors(self.base.to_standard(x))
        self._sure = self._estimator.is_determined(stacked)
        if self._sure and self._forgetting is None:
            self._watch.go_on_from(self._predictors)

    def __repr__(self) -> str:
        return f"Stream({self.model.robot.name!r}: {self._clock.samples} samples, {len(self.base)} base parameters)"
