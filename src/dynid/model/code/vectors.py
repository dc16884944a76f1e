"""Vectors, matrices and pseudo-inertias of numbers that may be known only when generated code runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dynid.arrays import Array
from dynid.model.code.expressions import Number

SNAP = 4e-16
"""Elements of rotations closer than this to 0, 1 and -1 are these: rounding of products of right angles."""


class Vector(NamedTuple):
    """Three numbers."""

    x: Number
    y: Number
    z: Number

    @staticmethod
    def of(values: Iterable[float] | Array) -> Vector:
        """A vector of known numbers."""
        return Vector(*(float(value) for value in values))

    def __add__(self, other: Vector) -> Vector:  # type: ignore[override]
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: Number) -> Vector:  # type: ignore[override]
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def __matmul__(self, other: Vector) -> Number:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector) -> Vector:
        """Cross product."""
        return Vector(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def outer(self, other: Vector) -> Matrix:
        """Matrix of this, as a column, times the other, as a row."""
        return Matrix(other * self.x, other * self.y, other * self.z)

    @property
    def skew(self) -> Matrix:
        """Matrix S with S y = x cross y."""
        return Matrix(Vector(0.0, -self.z, self.y), Vector(self.z, 0.0, -self.x), Vector(-self.y, self.x, 0.0))


class Matrix(NamedTuple):
    """Three rows."""

    a: Vector
    b: Vector
    c: Vector

    @staticmethod
    def rotation(R: Array) -> Matrix:
        """A known rotation, shape (3, 3), with right angles exact."""
        return Matrix(*(Vector.of(_snapped(float(x)) for x in row) for row in R))

    @property
    def T(self) -> Matrix:
        """Transposed."""
        return Matrix(*(Vector(*column) for column in zip(*self, strict=True)))

    def __add__(self, other: Matrix) -> Matrix:  # type: ignore[override]
        return Matrix(self.a + other.a, self.b + other.b, self.c + other.c)

    def __call__(self, x: Vector) -> Vector:
        """The matrix times a vector."""
        return Vector(self.a @ x, self.b @ x, self.c @ x)

    def __matmul__(self, other: Matrix) -> Matrix:
        columns = other.T
        return Matrix(*(Vector(*(row @ column for column in columns)) for row in self))

    def congruent(self, symmetric: Matrix) -> Matrix:
        """R A R' of a symmetric A, which is symmetric to the last bit."""
        half = self @ symmetric
        upper = {(i, j): half[i] @ self[j] for i in range(3) for j in range(i, 3)}
        return Matrix(*(Vector(*(upper[min(i, j), max(i, j)] for j in range(3))) for i in range(3)))

    @property
    def moment(self) -> Vector:
        """Of the sum of force (a column) times point (a row): the sum of point cross force."""
        return Vector(self.c.y - self.b.z, self.a.z - self.c.x, self.b.x - self.a.y)


ZERO = Vector(0.0, 0.0, 0.0)
NOTHING = Matrix(ZERO, ZERO, ZERO)
UNTURNED = Matrix(Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.0), Vector(0.0, 0.0, 1.0))


def _snapped(x: float) -> float:
    return next((whole for whole in (0.0, 1.0, -1.0) if abs(x - whole) <= SNAP), x)


class Twist(NamedTuple):
    """A velocity of a frame along its axes, and about them."""

    along: Vector
    about: Vector

    def __add__(self, other: Twist) -> Twist:  # type: ignore[override]
        return Twist(self.along + other.along, self.about + other.about)

    def __mul__(self, factor: Number) -> Twist:  # type: ignore[override]
        return Twist(self.along * factor, self.about * factor)

    def __matmul__(self, wrench: Wrench) -> Number:
        """The power of a wrench."""
        return self.along @ wrench.force + self.about @ wrench.moment


class Wrench(NamedTuple):
    """A force, and a moment about the origin of a frame, along the frame's axes."""

    force: Vector
    moment: Vector

    def __add__(self, other: Wrench) -> Wrench:  # type: ignore[override]
        return Wrench(self.force + other.force, self.moment + other.moment)


STILL = Twist(ZERO, ZERO)
NO_WRENCH = Wrench(ZERO, ZERO)


class PseudoInertia(NamedTuple):
    """The pseudo-inertia [[Sigma, h], [h', m]] of a link, in its frame.

    The link's points x are accelerated by U x + a, with the same U for all. The force on it is then U h + m a, and the
    moment about the origin that of the matrix U Sigma + a h'.
    """

    second: Matrix
    first: Vector
    mass: Number

    def __add__(self, other: PseudoInertia) -> PseudoInertia:  # type: ignore[override]
        return PseudoInertia(self.second + other.second, self.first + other.first, self.mass + other.mass)

    def wrench(self, U: Matrix, a: Vector) -> Wrench:
        """Force and moment that accelerate the link's points x by U x + a."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.second
        turning = Vector(
            U.c.y * yy - U.b.z * zz + (U.c.z - U.b.y) * yz + U.c.x * xy - U.b.x * xz,
            U.a.z * zz - U.c.x * xx + (U.a.x - U.c.z) * xz + U.a.y * yz - U.c.y * xy,
            U.b.x * xx - U.a.y * yy + (U.b.y - U.a.x) * xy + U.b.z * xz - U.a.z * yz,
        )
        return Wrench(U(self.first) + a * self.mass, turning + self.first.cross(a))

    def moved(self, R: Matrix, r: Vector) -> PseudoInertia:
        """The same, seen from a frame in which this one is turned by R and stands at r."""
        h = R(self.first)
        arm = r.outer(h)
        return PseudoInertia(
            R.congruent(self.second) + (arm + arm.T + (r * self.mass).outer(r)), h + r * self.mass, self.mass
        )


class MomentumMatrix(NamedTuple):
    """Sum of velocity * (point, 1)' over the mass of a body: the top three rows [Pi, pi]."""

    second: Matrix
    first: Vector

    def __add__(self, other: MomentumMatrix) -> MomentumMatrix:  # type: ignore[override]
        return MomentumMatrix(self.second + other.second, self.first + other.first)

    @property
    def wrench(self) -> Wrench:
        """The momentum, and its moment about the origin."""
        return Wrench(self.first, self.second.moment)

    def moved(self, R: Matrix, r: Vector) -> MomentumMatrix:
        """The same, seen from a frame in which this one is turned by R and stands at r."""
        first = R(self.first)
        return MomentumMatrix(R @ self.second @ R.T + first.outer(r), first)
