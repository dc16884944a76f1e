"""The ten numbers of a load as mass, centre of mass and inertia about it, with standard deviations, and as a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, finite_or_none
from dynid.estimation.payloads.load_problem import SIZES, LoadFit
from dynid.estimation.physical.cone_program import Cone, ConeKind, minimise, stacked
from dynid.estimation.quantiles import chi_square_quantile, student_quantile
from dynid.robot import Load, inertia

NUMBERS = ("mass", "x", "y", "z", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Mass, centre of mass, and inertia about it."""

UNITS = ("kg", *["m"] * 3, *["kg m^2"] * 6)
"""Units of these."""


@dataclass(frozen=True)
class BodyThresholds:
    """When numbers of a load are said to be open, moved or wrong."""

    open_mass: float = 0.2
    """Standard deviation of the mass, relative to it, from which it is not determined. By judgement."""

    open_center: float = 0.05
    """Standard deviation of a coordinate of the centre of mass [m] from which it is not determined: half the size of a
    hand tool. By judgement."""

    open_inertia: float = 0.5
    """Standard deviation of a moment of inertia, relative to the largest one that a body of that mass and
    `usual_radius` has or, where that is more, the largest that was found, from which it is not determined. By
    judgement; slow motions of simulated arms are far beyond it (`benchmarks/payloads.py`)."""

    usual_radius: float = 0.1
    """Radius of gyration [m] of loads that arms usually carry. By judgement."""

    moved_stds: float = 2.0
    """Standard deviations by which physical consistency must move a number for both to be shown: the usual 95 %. By
    judgement."""

    disagree_chance: float = 0.01
    """Chance that a load which is as stated is said to be another. Shown by `benchmarks/payloads.py`."""


THRESHOLDS = BodyThresholds()


def body_numbers(p: Array) -> Array:
    """Mass [kg], centre of mass [m] and inertia about it [kg m^2] of ten parameters; (10,) to (10,), also complex."""
    m, h = p[0], p[1:4]
    x, y, z = h
    about = np.array([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]) / m
    return np.concatenate([[m], h / m, p[4:] - about])


def slopes_of_numbers(p: Array) -> Array:
    """Derivatives of `body_numbers`, shape (10, 10), exact to rounding: a complex step has no difference to round."""
    step = 1e-30
    columns = [body_numbers(p.astype(complex) + 1j * step * unit).imag / step for unit in np.eye(len(p))]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class LoadBody:
    """A load with its uncertainty.

    Attributes:
        parameters: The ten parameters of the physically consistent load about the frame of its body, shape (10,).
        by_data: The same as the data alone have them, shape (10,).
        covariance: Of these, shape (10, 10).
        determined: Which of the ten parameters have an effect on what was measured, shape (10,).
        freedom: Degrees of freedom of the error.
    """

    parameters: Array
    by_data: Array
    covariance: Array
    determined: NDArray[np.bool_]
    freedom: int

    @staticmethod
    def of(fit: LoadFit) -> LoadBody:
        """The load of a fit."""
        p = fit.parameters
        return LoadBody(consistent(fit), p, fit.covariance, fit.determined, fit.freedom)

    @cached_property
    def numbers(self) -> Array:
        """Mass, centre of mass and inertia about it, shape (10,)."""
        return body_numbers(self.parameters)

    @cached_property
    def numbers_by_data(self) -> Array:
        """The same as the data alone have them, shape (10,)."""
        return body_numbers(self.by_data)

    @cached_property
    def number_covariance(self) -> Array:
        """Covariance of mass, centre of mass and inertia about it, to first order, shape (10, 10)."""
        J = slopes_of_numbers(self.parameters)
        return J @ self.covariance @ J.T

    @cached_property
    def stds(self) -> Array:
        """Standard deviations of mass, centre of mass and inertia; infinite where nothing determines a number."""
        J, stds = slopes_of_numbers(self.parameters), np.sqrt(np.maximum(np.diag(self.number_covariance), 0.0))
        touched = np.abs(J[:, ~self.determined]).max(axis=1, initial=0.0) > 0.0
        return np.where(touched, np.inf, stds)

    @cached_property
    def parameter_stds(self) -> Array:
        """Standard deviations of the ten parameters; infinite where nothing determines one, shape (10,)."""
        return np.where(self.determined, np.sqrt(np.maximum(np.diag(self.covariance), 0.0)), np.inf)

    def intervals(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals of mass, centre of mass and inertia, each of shape (10,)."""
        half = student_quantile(self.freedom, 0.5 + confidence / 2) * self.stds
        return self.numbers - half, self.numbers + half

    @cached_property
    def open(self) -> tuple[str, ...]:
        """Numbers that the data do not determine, by name."""
        limits, mass = THRESHOLDS, abs(float(self.numbers[0]))
        largest = max(mass * limits.usual_radius**2, float(np.abs(self.numbers[4:]).max()))
        sizes = np.array([limits.open_mass * mass, *[limits.open_center] * 3, *[limits.open_inertia * largest] * 6])
        return tuple(name for name, std, size in zip(NUMBERS, self.stds, sizes, strict=True) if not std <= size)

    @cached_property
    def moved(self) -> Array:
        """How far physical consistency moves each of the ten parameters, in standard deviations, shape (10,)."""
        stds = np.maximum(self.parameter_stds, 1e-9 * SIZES)
        return np.where(np.isfinite(stds), (self.parameters - self.by_data) / np.where(np.isfinite(stds), stds, 1), 0.0)

    @property
    def is_moved(self) -> bool:
        """Whether physical consistency clearly moves a parameter that the data determine."""
        return bool(np.abs(self.moved).max() > THRESHOLDS.moved_stds)

    def load(self, body: str) -> Load:
        """The physically consistent load."""
        return Load.of_parameters(self.parameters, body)


def consistent(fit: LoadFit) -> Array:
    """The ten parameters nearest to the data, in standard deviations, that a body can have, shape (10,).

    The pseudo-inertia is positive semidefinite. Where the data leave combinations open, the smallest inertia is taken.

    Raises:
        SolverError: If the solver did not reach its full accuracy.
    """
    p = fit.parameters
    if inertia.is_physical(p) and fit.effective.all():
        return p
    r = float(SIZES[1] / SIZES[0])
    size = max(abs(float(p[0])), 1e-3)
    C, T = size * SIZES, np.diag([1.0 / r, 1.0 / r, 1.0 / r, 1.0])
    basis = stacked(T @ inertia.pseudo_inertia_basis() @ T * (SIZES * np.ones(10))[:, None, None])
    cost = (
        np.zeros(10) if fit.effective.all() else SMALL_INERTIA_WEIGHT * np.array([basis[k] @ _TRACE for k in range(10)])
    )
    x = minimise(fit.R * C, fit.z, cost, [Cone(ConeKind.SEMIDEFINITE, basis.T, np.zeros(10))])
    return C * x


SMALL_INERTIA_WEIGHT = 1e-2
"""Weight of the inertia of a load of its own size, in squared standard deviations, where the data leave it open."""

_TRACE = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
"""Trace of the upper left 3x3 part of a stacked 4x4 matrix."""


@dataclass(frozen=True, eq=False)
class KnownComparison:
    """A load that was identified beside what it is known to be.

    Attributes:
        names: Numbers that are stated.
        stated: Their values, shape (numbers,).
        found: Those that were identified, shape (numbers,).
        stds: Their standard deviations, shape (numbers,).
        distance: Squared distance of both, in standard deviations with their correlations.
        limit: Distance that a load as stated exceeds seldom (`disagree_chance`).
    """

    names: tuple[str, ...]
    stated: Array
    found: Array
    stds: Array
    distance: float
    limit: float

    @property
    def scores(self) -> Array:
        """Differences in standard deviations, shape (numbers,)."""
        return (self.found - self.stated) / np.maximum(self.stds, 1e-300)

    @property
    def agrees(self) -> bool:
        """Whether the difference between logs with and without the load is the load."""
        return self.distance <= self.limit

    @property
    def mass_error(self) -> float:
        """Relative error of the mass."""
        return float(self.found[0] / self.stated[0] - 1.0)

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        rows = [
            {
                "name": name,
                "stated": float(a),
                "found": float(b),
                "std": finite_or_none(float(s)),
                "z": finite_or_none(z),
            }
            for name, a, b, s, z in zip(
                self.names, self.stated, self.found, self.stds, map(float, self.scores), strict=True
            )
        ]
        return {"agrees": self.agrees, "distance": self.distance, "limit": self.limit, "numbers": rows}


def compared(body: LoadBody, stated: Sequence[float | None]) -> KnownComparison:
    """A load beside what is known of it.

    Args:
        body: The load.
        stated: Mass, centre of mass and inertia about it in the same frame; None for what is not known.
    """
    own = [k for k, value in enumerate(stated) if value is not None]
    known = np.array([stated[k] for k in own], dtype=float)
    sure = [k for k in own if np.isfinite(body.stds[k])]
    d = body.numbers_by_data[sure] - np.array([stated[k] for k in sure], dtype=float)
    C = body.number_covariance[np.ix_(sure, sure)]
    sizes = np.sqrt(np.maximum(np.diag(C), 1e-300))
    distance = float((d / sizes) @ np.linalg.pinv(C / np.outer(sizes, sizes), rcond=1e-12) @ (d / sizes))
    limit = chi_square_quantile(max(len(sure), 1), THRESHOLDS.disagree_chance)
    return KnownComparison(
        tuple(NUMBERS[k] for k in own), known, body.numbers_by_data[own], body.stds[own], distance, limit
    )
