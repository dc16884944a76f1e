"""What comes into a stream, checked: states, right-hand sides of the rows, and times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.logs import Contact
from dynid.logs.floating_body import contact_torques
from dynid.model import DynamicModel


def require_streamable(model: DynamicModel, *, is_identified: bool) -> None:
    """Refuse models whose rows cannot be had of a sample alone.

    Args:
        model: The model.
        is_identified: Whether its links are those of an identification, which friction under load then refers to.

    Raises:
        InvalidRequestError: If equations combine rows of the dynamics, or friction depends on links that are not known.
    """
    if model.observed.combines_rows:
        raise InvalidRequestError(
            f"equations {model.observed.text} combine rows of the dynamics and cannot be streamed; measure joint "
            "torques or the wrench"
        )
    for term in model.terms:
        if term.needs_links and not is_identified:
            raise InvalidRequestError(
                f"friction of the term {type(term).__name__} depends on loads, which a stream does not know; identify "
                "a log with it first and give the result, or take coulomb"
            )


def as_rows(what: str, values: Any, width: int, samples: int | None = None) -> Array:
    """One sample, or several, as an array of shape (samples, width).

    Raises:
        ShapeError: If it has another shape.
        InvalidRequestError: If it holds something else than finite numbers.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{what} must be an array of numbers: {error}") from error
    rows = array[None] if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] != width or (samples is not None and len(rows) != samples):
        some = "samples" if samples is None else samples
        raise ShapeError(what, f"({width},) or ({some}, {width})", array.shape)
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InvalidRequestError(f"{what} are NaN or infinite in sample {bad} of the update; leave that sample out")
    return rows


def same_form(before: str, now: str) -> str:
    """The form of an update, which all have in common.

    Args:
        before: That of the updates before; empty where there were none.
        now: That of this one.

    Raises:
        InvalidRequestError: If they differ.
    """
    if before not in ("", now):
        raise InvalidRequestError(
            "earlier updates were of the other form: update with q, v, a, tau each time, or with t, q, tau each "
            "time, or reset the stream in between"
        )
    return now


def right_hand_sides(model: DynamicModel, q: Array, tau: Any, contacts: Any) -> Array:
    """What was measured of each row [N m or N], shape (samples, rows); arguments as `Stream.update`."""
    robot = model.robot
    if contacts is None:
        return as_rows(f"torques of '{robot.name}'", tau, model.row_count, len(q))
    if not robot.has_floating_base:
        raise InvalidRequestError(f"the base of '{robot.name}' is fixed; leave contacts out")
    found = np.zeros((len(q), robot.nv))
    if tau is not None:
        found[:, 6:] = as_rows(f"torques of the joints of '{robot.name}'", tau, robot.nv - 6, len(q))
    elif any(row >= 6 for row in model.row_indices):
        raise InvalidRequestError(
            f"torques of the joints of '{robot.name}' are missing; give them, or make the stream of "
            "dynid.DynamicModel(robot, observed='wrench_moving'), which has the rows of the base alone"
        )
    if isinstance(contacts, Mapping):
        contacts = [Contact(body, np.atleast_2d(np.asarray(wrench, dtype=float))) for body, wrench in contacts.items()]
    for contact in contacts:
        if contact.wrench is None:
            raise InvalidRequestError(f"the contact at '{contact.body}' has no wrench, and a stream needs it")
        contact.require_samples(len(q))
        found += contact_torques(robot, contact, q)
    return found[:, list(model.row_indices)]


def row_stds(noise: float | Sequence[float] | Mapping[str, float], names: Sequence[str]) -> Array:
    """Standard deviation of the errors of each row [N m or N], shape (rows,), of what a user states.

    Raises:
        ShapeError: If there are more or fewer than rows.
        InvalidRequestError: If one is missing, or is not positive.
    """
    if isinstance(noise, Mapping):
        missing = [name for name in names if name not in noise]
        if missing:
            raise InvalidRequestError(f"noise has no entry for '{missing[0]}'; give one for each row")
        noise = [noise[name] for name in names]
    try:
        stds = np.asarray(noise, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"noise must be numbers [N m or N]: {error}") from error
    if stds.ndim and stds.shape != (len(names),):
        raise ShapeError("noise", f"({len(names)},)", stds.shape)
    stds = np.array(np.broadcast_to(stds, (len(names),)))
    if not (np.isfinite(stds).all() and (stds > 0.0).all()):
        raise InvalidRequestError("noise must be positive numbers [N m or N]")
    return frozen(stds)


@dataclass
class Clock:
    """The time of a stream: that of its samples, or by a rate.

    Attributes:
        rate: Sampling rate [Hz] of samples without times; None where it is not known.
        begin: Time [s] of the first sample; NaN before it, and where samples have none.
        last: Time [s] of the last sample.
        samples: How many samples came.
    """

    rate: float | None
    begin: float = math.nan
    last: float = math.nan
    samples: int = 0

    @property
    def first(self) -> float:
        """Time [s] that the stream's time is counted from."""
        return 0.0 if math.isnan(self.begin) else self.begin

    @property
    def seconds(self) -> float:
        """How long the samples lasted [s]; NaN where neither times nor a rate are known."""
        if not math.isnan(self.begin):
            return self.last - self.begin
        return self.samples / self.rate if self.rate else math.nan

    def times(self, t: Any, count: int) -> Array | None:
        """Times of samples [s], shape (samples,); None where they are not known.

        Args:
            t: Times [s], one number or shape (samples,); None for samples without.
            count: How many samples there are.

        Raises:
            ShapeError: If there are more or fewer times than samples.
            InvalidRequestError: If time goes backwards or is not finite, or some samples have times and others not.
        """
        if t is None:
            if not math.isnan(self.begin):
                raise InvalidRequestError("earlier updates had times, and this one has none; give t always, or never")
            return (self.samples + np.arange(count)) / self.rate if self.rate else None
        try:
            times = np.atleast_1d(np.asarray(t, dtype=float))
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"times must be numbers [s]: {error}") from error
        if times.shape != (count,):
            raise ShapeError("times", f"({count},)", times.shape)
        if self.samples and math.isnan(self.begin):
            raise InvalidRequestError("earlier updates had no times, and this one has; give t always, or never")
        steps = np.diff(times, prepend=times[:1] if math.isnan(self.last) else self.last)
        if not np.isfinite(times).all() or (steps < 0.0).any():
            bad = int(np.flatnonzero(~(steps >= 0.0))[0])
            raise InvalidRequestError(
                f"time goes backwards, or is not finite, in sample {bad} ({times[bad]:g} s); leave it out, "
                "or reset the stream where a new recording begins"
            )
        return times

    def advance(self, t: Any, count: int) -> None:
        """Take note of samples whose times were good."""
        if t is not None and count:
            times = np.atleast_1d(np.asarray(t, dtype=float))
            self.begin = float(times[0]) if math.isnan(self.begin) else self.begin
            self.last = float(times[-1])
        self.samples += count
