"""What comes into a stream, checked: states, right-hand sides of the rows, and times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.factors.factors import Factors
from dynid.logs import Contact
from dynid.logs.floating_body import contact_torques
from dynid.model import DynamicModel
from dynid.robot import LARGEST_NUMBER


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


def require_positive(**settings: Any) -> None:
    """Refuse settings that are neither None nor positive numbers.

    Raises:
        InvalidRequestError: If one is something else.
    """
    for name, value in settings.items():
        try:
            is_good = value is None or (math.isfinite(value) and value > 0.0)
        except TypeError:
            is_good = False
        if not is_good:
            raise InvalidRequestError(f"{name} must be a positive number, not {value!r:.60}")


def require_kinds(**settings: tuple[object, type]) -> None:
    """Refuse settings that are neither None nor of the kind beside them.

    Raises:
        InvalidRequestError: If one is something else.
    """
    for name, (value, kind) in settings.items():
        if value is not None and not isinstance(value, kind):
            raise InvalidRequestError(f"{name} must be {kind.__name__}, not {value!r:.60}")


def as_rows(what: str, values: Any, width: int, samples: int | None = None) -> Array:
    """One sample, or several, as an array of shape (samples, width).

    Raises:
        ShapeError: If it has another shape.
        InvalidRequestError: If it holds something else than finite numbers, or such that squares of them overflow.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{what} must be an array of numbers: {error}") from error
    rows = array[None] if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] != width or (samples is not None and len(rows) != samples):
        some = "samples" if samples is None else samples
        raise ShapeError(what, f"({width},) or ({some}, {width})", array.shape)
    good = (np.abs(rows) <= LARGEST_NUMBER).all(axis=1)  # NaN compares as false
    if not good.all():
        bad = int(np.argmin(good))
        problem = f"beyond {LARGEST_NUMBER:g}" if np.isfinite(rows[bad]).all() else "NaN or infinite"
        raise InvalidRequestError(f"{what} are {problem} in sample {bad} of the update; leave that sample out")
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


def unmeasured_rows(model: DynamicModel, factors: Sequence[Factors]) -> tuple[str, ...]:
    """Names of the rows of which no log has a sample, though logs have samples: those of drives without a signal."""
    counts = {name: sum(one.joints[name].rows for one in factors if name in one.joints) for name in model.row_names}
    return tuple(name for name, count in counts.items() if count == 0) if any(counts.values()) else ()


def right_hand_sides(
    model: DynamicModel, q: Array, tau: Any, contacts: Any, unmeasured: NDArray[np.bool_] | None = None
) -> Array:
    """What was measured of each row [N m or N], shape (samples, rows).

    Args:
        model: The model.
        q: Positions, shape (samples, nq).
        tau: As in `Stream.update`.
        contacts: As in `Stream.update`.
        unmeasured: Which rows were not measured, shape (rows,): what `tau` has of them is not looked at.
    """
    robot = model.robot
    if contacts is None:
        tau = _with_zeros(tau, np.flatnonzero(unmeasured)) if unmeasured is not None else tau
        return as_rows(f"torques of '{robot.name}'", tau, model.row_count, len(q))
    if not robot.has_floating_base:
        raise InvalidRequestError(f"the base of '{robot.name}' is fixed; leave contacts out")
    found = np.zeros((len(q), robot.nv))
    if tau is not None:
        if unmeasured is not None:
            silent = np.array(model.row_indices)[unmeasured] - 6
            tau = _with_zeros(tau, silent[silent >= 0])
        found[:, 6:] = as_rows(f"torques of the joints of '{robot.name}'", tau, robot.nv - 6, len(q))
    elif any(row >= 6 for row in model.row_indices):
        raise InvalidRequestError(
            f"torques of the joints of '{robot.name}' are missing; give them, or make the stream of "
            "dynid.DynamicModel(robot, observed='wrench_moving'), which has the rows of the base alone"
        )
    for contact in _contacts(contacts):
        if contact.wrench is None:
            raise InvalidRequestError(f"the contact at '{contact.body}' has no wrench, and a stream needs it")
        contact.require_samples(len(q))
        found += contact_torques(robot, contact, q)
    return found[:, list(model.row_indices)]


def _with_zeros(tau: Any, columns: NDArray[np.intp]) -> Any:
    """Torques with zeros in some columns; as they are where they have no such columns, which is refused later."""
    try:
        found = np.array(tau, dtype=float)
    except (TypeError, ValueError):
        return tau
    if found.ndim and found.shape[-1] > max(columns, default=-1):
        found[..., columns] = 0.0
    return found


def _contacts(stated: Any) -> list[Contact]:
    """Contacts, of what a user states.

    Raises:
        InvalidRequestError: If they are something else.
    """
    try:
        if isinstance(stated, Mapping):
            return [Contact(body, np.atleast_2d(np.asarray(wrench, dtype=float))) for body, wrench in stated.items()]
        found = list(stated)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"contacts must be wrenches by the names of bodies: {error}") from error
    if not all(isinstance(one, Contact) for one in found):
        raise InvalidRequestError("contacts are wrenches by the names of bodies, or dynid.Contact objects")
    return found


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
        with np.errstate(invalid="ignore"):
            steps = np.diff(times, prepend=times[:1] if math.isnan(self.last) else self.last)
        good = (np.abs(times) <= LARGEST_NUMBER) & (steps >= 0.0)
        if not good.all():
            bad = int(np.argmin(good))
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
