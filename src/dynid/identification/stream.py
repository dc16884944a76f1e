"""Identification while data stream in: `dynid.Stream`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.recursive_factors import MOST_ROTATED, RecursiveFactors
from dynid.estimation.least_squares import Prior
from dynid.estimation.streams.stream_estimate import StreamEstimate, StreamEstimator
from dynid.identification.result import Result
from dynid.logs import Contact
from dynid.logs.floating_body import contact_torques
from dynid.model import Chunk, DynamicModel, SampleRows, Term, TorqueRows, checked, find_base_parameters
from dynid.robot import Robot


@dataclass(frozen=True, eq=False)
class StreamUpdate:
    """What an update of a stream found, at once.

    Attributes:
        residual: Measured torque less that of the parameters of the last look [N m or N], shape (rows,), or
            (samples, rows) for a block.
        sure: Whether these parameters are all determined, so that the residual means something.
        seconds: Time of the last sample since the stream began [s]; NaN where no time and no rate are known.
    """

    residual: Array
    sure: bool
    seconds: float


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

    Attributes:
        model: The model.
        base: Its base parameters.
        row_names: Names of the rows of a sample.

    Raises:
        InvalidRequestError: If a setting makes no sense.
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
    ) -> None:
        self._result = model if isinstance(model, Result) else None
        if isinstance(model, (Result, DynamicModel)):
            if terms:
                raise InvalidRequestError("the model of a stream has its terms already; leave `terms` out")
            self.model = model.model if isinstance(model, Result) else model
        else:
            self.model = DynamicModel(model, terms)
        for name, value in (("forgetting", forgetting), ("rate", rate)):
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise InvalidRequestError(f"{name} must be a positive number, not {value}")
        self.base = model.base if isinstance(model, Result) else find_base_parameters(self.model)
        self.row_names = self.model.row_names
        self._forgetting, self._rate = forgetting, rate
        self._rows = TorqueRows(self.model)
        self._sample = SampleRows(self._rows)
        stds = None if noise is None else _per_row(noise, self.row_names)
        self._factors = RecursiveFactors(self.model.names, self._rows.bases)
        self._estimator = StreamEstimator(self.base, self._factors, prior, stds)
        self._plain = not self.model.robot.has_quaternions
        self.reset()

    def reset(self) -> None:
        """Forget all samples: the stream is as when it was made."""
        self._factors.buffer[:] = 0.0
        self._factors.counts[:] = 0.0
        self._samples = 0
        self._begin = self._last = math.nan
        self._predictors = [np.zeros(len(basis.columns)) for basis in self._rows.bases]
        self._sure = False
        self._next_look = 64
        if self._result is not None:
            for factors in self._result.torques:
                self._factors.merge(factors)
            self._look()

    @property
    def factors(self) -> Factors:
        """The triangular factors of all samples so far: they merge with those of logs."""
        return self._factors.factors()

    def merge(self, factors: Factors) -> None:
        """Add what factors of the same model hold, such as those of a log or of another stream."""
        self._factors.merge(factors)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the factors to a file (NPZ); `dynid.estimation.Factors.load` reads it, and `merge` takes it."""
        self.factors.save(Path(path), overwrite=overwrite)

    @property
    def seconds(self) -> float:
        """How long the stream lasts [s]; NaN where no time and no rate are known."""
        if not math.isnan(self._begin):
            return self._last - self._begin
        return self._samples / self._rate if self._rate else math.nan

    @property
    def estimate(self) -> StreamEstimate:
        """What is determined so far; some milliseconds of work."""
        self._look()
        return self._estimator.estimate(self._samples, self.seconds)

    def update(
        self,
        q: Any,
        v: Any,
        a: Any,
        tau: Any,
        *,
        t: Any = None,
        contacts: Sequence[Contact] | Mapping[str, Any] | None = None,
    ) -> StreamUpdate:
        """Include one sample, or a block of samples.

        Args:
            q: Positions [rad or m], shape (nq,) or (samples, nq); those of a floating base come first.
            v: Velocities, shape (nv,) or (samples, nv).
            a: Accelerations, of the same shape.
            tau: What was measured of each row [N m or N], shape (rows,) or (samples, rows). With contacts: torques of
                the joints without the base; None where none were measured.
            t: Time [s], one number or shape (samples,); by the rate when None.
            contacts: What the surroundings exert on a floating robot: wrenches by the names of bodies, shape (6,) or
                (samples, 6), or `dynid.Contact` objects; `()` in free flight.

        Raises:
            ShapeError: If a shape does not fit the model.
            InvalidRequestError: If a number is not finite or time goes backwards. Nothing has changed then.
        """
        states = [np.asarray(part, dtype=float) for part in (q, v, a)]
        single = states[0].ndim == 1
        chunk = self._chunk(states, tau, contacts)
        times = self._times(t, len(chunk))
        fadings = self._fadings(times, len(chunk))
        residual = self._include(chunk, fadings)
        self._samples += len(chunk)
        if times is not None and len(chunk):
            self._begin = times[0] if math.isnan(self._begin) else self._begin
            self._last = float(times[-1])
        if self._samples >= self._next_look:
            self._look()
        return StreamUpdate(residual[0] if single else residual, self._sure, self.seconds)

    def _chunk(self, states: list[Array], tau: Any, contacts: Any) -> Chunk:
        """The samples with the right-hand sides of the rows."""
        robot = self.model.robot
        q, v, a = (np.atleast_2d(part) for part in states)
        if contacts is None:
            torque = np.atleast_2d(np.asarray(tau, dtype=float))
        else:
            torque = self._with_contacts(q, tau, contacts)
        for what, values, width in (
            ("positions", q, robot.nq),
            ("velocities", v, robot.nv),
            ("accelerations", a, robot.nv),
            ("torques", torque, len(self.row_names)),
        ):
            if values.shape != (len(q), width):
                raise ShapeError(f"{what} of '{robot.name}'", f"({width},) or (samples, {width})", values.shape)
            if not np.isfinite(values).all():
                bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
                raise InvalidRequestError(f"{what} are NaN or infinite in sample {bad} of the update; leave it out")
        chunk = Chunk(q, v, a, torque)
        return chunk if self._plain else checked(self.model, chunk)

    def _with_contacts(self, q: Array, tau: Any, contacts: Any) -> Array:
        robot = self.model.robot
        if not robot.has_floating_base:
            raise InvalidRequestError(f"the base of '{robot.name}' is fixed; leave contacts out")
        found = np.zeros((len(q), robot.nv))
        if tau is not None:
            torque = np.atleast_2d(np.asarray(tau, dtype=float))
            if torque.shape != (len(q), robot.nv - 6):
                raise ShapeError("torques of the joints", f"({robot.nv - 6},)", torque.shape)
            found[:, 6:] = torque
        elif any(row >= 6 for row in self.model.row_indices):
            raise InvalidRequestError(
                "torques are missing, and rows of joints are observed; give them, or make the stream with "
                "DynamicModel(robot, observed='wrench_moving')"
            )
        if isinstance(contacts, Mapping):
            contacts = [Contact(body, np.atleast_2d(wrench)) for body, wrench in contacts.items()]
        for contact in contacts:
            if contact.wrench is None:
                raise InvalidRequestError(f"the contact at '{contact.body}' has no wrench; a stream needs it")
            contact.require_samples(len(q))
            found += contact_torques(robot, contact, q)
        return found[:, list(self.model.row_indices)]

    def _times(self, t: Any, count: int) -> Array | None:
        if t is None:
            if not math.isnan(self._begin):
                raise InvalidRequestError("earlier updates had times, and this one has none; give t always, or never")
            if self._forgetting is not None and self._rate is None:
                raise InvalidRequestError("forgetting needs time: give t with each update, or the stream's rate")
            return None
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if times.shape != (count,):
            raise ShapeError("times", f"({count},)", times.shape)
        if self._samples and math.isnan(self._begin):
            raise InvalidRequestError("earlier updates had no times, and this one has; give t each time, or never")
        steps = np.diff(times, prepend=times[:1] if math.isnan(self._last) else self._last)
        if not np.isfinite(times).all() or (steps < 0.0).any():
            bad = int(np.flatnonzero(~(steps >= 0.0))[0])
            raise InvalidRequestError(f"time is not finite, or goes backwards, in sample {bad}; leave it out")
        return times

    def _fadings(self, times: Array | None, count: int) -> Array:
        """What the logarithm of the weights of earlier samples falls by at each sample, shape (samples,)."""
        if self._forgetting is None:
            return np.zeros(count)
        if times is None:
            return np.full(count, 1.0 / (self._rate * self._forgetting)) if self._rate else np.zeros(count)
        before = times[0] if math.isnan(self._last) else self._last
        return np.diff(times, prepend=before) / self._forgetting

    def _include(self, chunk: Chunk, fadings: Array) -> Array:
        """Include samples; their residuals, shape (samples, rows)."""
        if len(chunk) <= MOST_ROTATED:
            return np.array([self._include_one(chunk, k, float(fadings[k])) for k in range(len(chunk))])
        matrices = self._rows.matrices(chunk)
        self._factors.include_block(matrices, fadings)
        return np.stack([W[:, -1] - W[:, :-1] @ b for W, b in zip(matrices, self._predictors, strict=True)], axis=1)

    def _include_one(self, chunk: Chunk, k: int, fading: float) -> Array:
        sample = self._sample
        rows = sample.evaluate(chunk.q[k], chunk.v[k], chunk.a[k])
        residual = np.empty(len(self.row_names))
        for row, (first, width) in enumerate(zip(sample.starts, sample.widths, strict=True)):
            y = chunk.torque[k, row]
            residual[row] = y - rows[first : first + width - 1] @ self._predictors[row]
            rows[first + width - 1] = y
        self._factors.include(rows, sample.starts, fading)
        return residual

    def _look(self) -> None:
        """Take the parameters of now as those that residuals are of."""
        x, _, _ = self._estimator.solve()
        self._predictors = self._rows.predictors(self.base.to_standard(x))
        self._sure = bool(np.sum(self._factors.counts) > len(self.base))
        while self._next_look <= self._samples:
            self._next_look *= 2

    def __repr__(self) -> str:
        return f"Stream({self.model.robot.name!r}: {self._samples} samples, {len(self.base)} base parameters)"


def _per_row(noise: float | Sequence[float] | Mapping[str, float], names: Sequence[str]) -> Array:
    if isinstance(noise, Mapping):
        missing = [name for name in names if name not in noise]
        if missing:
            raise InvalidRequestError(f"noise has no entry for '{missing[0]}'; give one for each row")
        noise = [noise[name] for name in names]
    stds = np.asarray(noise, dtype=float)
    if stds.ndim and stds.shape != (len(names),):
        raise ShapeError("noise", f"({len(names)},)", stds.shape)
    stds = np.broadcast_to(stds, (len(names),))
    if not (np.isfinite(stds).all() and (stds > 0.0).all()):
        raise InvalidRequestError("noise must be positive numbers [N m or N]")
    return frozen(np.array(stds))
