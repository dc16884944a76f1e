"""Piecewise polynomials: splines through waypoints, B-splines of control points, and polynomials that are joined.

They are as smooth as their degree says, and a coefficient changes the motion near its own time only, or nearly so.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.polynomial import chebyshev

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.excitation.trajectories.family import JERK, MOST_COEFFICIENTS, TimedFamily

if TYPE_CHECKING:
    from scipy import interpolate

_MOST_DEGREE = 30
"""Degrees at most; above that, samples would have to be too many to show the ends of pieces."""

_SAMPLES_A_DEGREE = 5
"""Samples of a piece for each degree, at least, and as many as the square of the degree: they lose 3 % of the room of
positions for cubic pieces, 6 % for quintic ones and 5 % for many degrees, and less of velocities and accelerations."""


class _PieceFamily(TimedFamily):
    """Polynomials of one degree over pieces of one length."""

    degree: int

    @property
    @abstractmethod
    def intervals(self) -> int:
        """Number of pieces of a cycle."""

    def reach(self, samples: int, derivative: int = 0) -> float:
        """A polynomial of degree d exceeds its values at m + 1 even points by 1 / (1 - c / m^2) at most.

        With `c = d^2 / (2 sin^2(pi / d))`, from the second derivative of the Chebyshev polynomial at its outermost
        extreme, for m >= 3 d; linear programs over all polynomials confirm it (`tests/excitation/test_families.py`).
        """
        degree, steps = self.degree - derivative, samples / self.intervals
        if degree < 2:
            return 1.0
        room = 1.0 - 0.5 * (degree / math.sin(math.pi / degree) / steps) ** 2
        return 1.0 / room if room > 0.0 and steps >= 3 * degree else math.inf

    def samples(self, wanted: int) -> int:
        """As many on each piece, its ends among them."""
        return self.intervals * max(-(-wanted // self.intervals), _SAMPLES_A_DEGREE * self.degree, self.degree**2)

    def times(self, samples: int) -> Array:
        """With the end of the cycle, or just before it where that is the start of the next: its jerk is another."""
        return np.append(super().times(samples), self.cycle * (1.0 - (1e-9 if self.periods > 1 else 0.0)))

    @property
    def swings(self) -> float:
        """Of two pieces of a smooth motion one goes there, and one back."""
        return 0.5 * self.intervals


class _ShapeSpline(_PieceFamily):
    """Splines whose coefficients are positions, of waypoints or of control points."""

    waypoints: int

    @property
    def size(self) -> int:
        """One position for each."""
        return self.waypoints

    @abstractmethod
    def _made(self) -> interpolate.BSpline:
        """Position per unit of each coefficient over time, of shape (samples, size)."""

    @cached_property
    def _spline(self) -> interpolate.BSpline:
        return self._made()

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """The derivative of the spline of each coefficient, shape (samples, size)."""
        if derivative > self.degree:
            return np.zeros((len(times), self.size))
        return np.asarray(self._spline(self.within(times), nu=derivative))

    def rest(self) -> Array:
        """All positions alike."""
        return np.ones(self.size)


@dataclass(frozen=True)
class Spline(_ShapeSpline):
    """Cubic or quintic splines through waypoints at equal times; the coefficients are the waypoints' positions.

    Cubic ones have continuous accelerations, quintic ones continuous jerks and more.

    Attributes:
        period: How long a cycle lasts [s].
        waypoints: How many there are, that at the start and that at the end among them.
        degree: 3 or 5.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "spline"
    meaning: ClassVar[str] = "positions of the waypoints"
    period: float
    waypoints: int
    degree: int = 3
    periods: int = 1

    def __post_init__(self) -> None:
        self._require(("waypoints", self.waypoints, 3, MOST_COEFFICIENTS))
        if self.degree not in (3, 5):
            raise InvalidRequestError(f"splines through waypoints are of degree 3 or 5, not {self.degree}")

    @property
    def intervals(self) -> int:
        """One from each waypoint to the next."""
        return self.waypoints - 1

    @property
    def more_room(self) -> str:
        """Cubic splines need some waypoints to be at rest."""
        return (
            f"splines of degree {self.degree} through {self.waypoints} waypoints cannot move and start and end at "
            "rest; state 6 or more in [excitation] waypoints"
        )

    def _made(self) -> interpolate.BSpline:
        from scipy.interpolate import make_interp_spline

        at_rest = [(order, np.zeros(self.waypoints)) for order in range(1, (self.degree + 1) // 2)]
        times = np.linspace(0.0, self.period, self.waypoints)
        return make_interp_spline(times, np.eye(self.waypoints), k=self.degree, bc_type=(at_rest, at_rest))


@dataclass(frozen=True)
class BSpline(_ShapeSpline):
    """B-splines with even knots; the coefficients are the positions of control points, which the motion comes near.

    A motion stays between its smallest and its largest control point.

    Attributes:
        period: How long a cycle lasts [s].
        waypoints: Number of control points.
        degree: Degree of the pieces, 3 or more; the derivative before the last one is continuous.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "b-spline"
    meaning: ClassVar[str] = "positions of the control points"
    period: float
    waypoints: int
    degree: int = 4
    periods: int = 1

    def __post_init__(self) -> None:
        self._require(("degrees", self.degree, 3, 9))
        self._require(("waypoints", self.waypoints, self.degree + 1, MOST_COEFFICIENTS))

    @property
    def intervals(self) -> int:
        """One from each knot to the next."""
        return self.waypoints - self.degree

    @property
    def more_room(self) -> str:
        """Three control points at each end are alike at rest."""
        return (
            f"B-splines of {self.waypoints} control points cannot move and start and end at rest; state 7 or more in "
            "[excitation] waypoints"
        )

    def _made(self) -> interpolate.BSpline:
        from scipy import interpolate

        inner = np.linspace(0.0, self.period, self.intervals + 1)
        knots = np.concatenate([np.zeros(self.degree), inner, np.full(self.degree, self.period)])
        return interpolate.BSpline(knots, np.eye(self.waypoints), self.degree)


@dataclass(frozen=True)
class Polynomial(_PieceFamily):
    """Polynomials of time, one for each piece, joined with continuous jerks.

    The coefficients are those of Chebyshev polynomials over each piece, piece by piece, which stay well conditioned.

    Attributes:
        period: How long a cycle lasts [s].
        degree: Degree of each, 5 or more.
        pieces: How many there are, each as long as the others.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "polynomial"
    meaning: ClassVar[str] = "of Chebyshev polynomials, piece by piece"
    period: float
    degree: int
    pieces: int = 1
    periods: int = 1

    def __post_init__(self) -> None:
        self._require(("degrees", self.degree, 5, _MOST_DEGREE))
        self._require(("pieces", self.pieces, 1, MOST_COEFFICIENTS // (self.degree + 1)))

    @property
    def size(self) -> int:
        """The coefficients of all pieces."""
        return self.pieces * (self.degree + 1)

    @property
    def intervals(self) -> int:
        """The number of pieces."""
        return self.pieces

    @property
    def more_room(self) -> str:
        """One piece that starts and ends at rest in one posture is constant below degree 6."""
        return (
            f"{self.pieces} polynomials of degree {self.degree} cannot move and start and end at rest; state 7 or more "
            "in [excitation] degree"
        )

    @property
    def swings(self) -> float:
        """Half as many as there are coefficients that ends and joints leave free."""
        return 0.5 * self.pieces * (self.degree - JERK)

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Chebyshev polynomials of the piece that a time is in, shape (samples, size)."""
        along = self.within(times) / self.period * self.pieces
        piece = np.minimum(np.floor(along + 1e-9), self.pieces - 1).astype(int)
        return self._on(piece, 2.0 * (along - piece) - 1.0, derivative)

    def _on(self, piece: Indices, place: Array, derivative: int) -> Array:
        """The same at places from -1 to 1 on pieces."""
        width = self.degree + 1
        slopes = chebyshev.chebder(np.eye(width), derivative) * (2.0 * self.pieces / self.period) ** derivative
        values = chebyshev.chebvander(place, len(slopes) - 1) @ slopes
        rows = np.zeros((len(place), self.pieces, width))
        rows[np.arange(len(place)), piece] = values
        return rows.reshape(len(place), self.size)

    def rest(self) -> Array:
        """The constant of each piece."""
        return np.tile(np.eye(self.degree + 1)[0], self.pieces)

    def conditions(self) -> Array:
        """Rest at both ends, and pieces that meet."""
        before = np.arange(self.pieces - 1)
        end = np.ones(len(before))
        meeting = [self._on(before, end, k) - self._on(before + 1, -end, k) for k in range(JERK + 1)]
        scaled = [rows * self.period**k for k, rows in enumerate(meeting)]
        return np.concatenate([super().conditions(), *scaled])
