"""Trajectories as samples, with splines between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A trajectory as samples, with splines between them.

    Where velocities and accelerations are given, pieces of degree five meet them; else the positions' spline of degree
    five (less for few rows) gives them.

    Attributes:
        t: Times [s], increasing, shape (samples,).
        q: Positions [rad or m], shape (samples, joints).
        v: Velocities [rad/s or m/s], shape (samples, joints); None where they are not known.
        a: Accelerations [rad/s^2 or m/s^2], shape (samples, joints); None where they are not known.
        torque: Measured torques [N m or N], shape (samples, joints), of a log; None otherwise.
    """

    t: Array
    q: Array
    v: Array | None = None
    a: Array | None = None
    torque: Array | None = None

    def __post_init__(self) -> None:
        t = frozen(self.t)
        object.__setattr__(self, "t", t)
        if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0.0).all():
            late = np.flatnonzero(np.diff(t, axis=0) <= 0.0)
            found = f"row {late[0] + 2} is not later than the one before" if len(late) else f"it has {len(t)}"
            raise InvalidRequestError(f"a trajectory needs two rows or more, with increasing times; {found}")
        for name, what in (("q", "positions"), ("v", "velocities"), ("a", "accelerations"), ("torque", "torques")):
            values = getattr(self, name)
            if values is None:
                continue
            values = frozen(values)
            object.__setattr__(self, name, values)
            if values.ndim != 2 or len(values) != len(t):
                raise ShapeError(f"{what} of a trajectory", f"({len(t)}, joints)", values.shape)

    def __repr__(self) -> str:
        known = "".join(f", {name}" for name in "va" if getattr(self, name) is not None)
        return f"Trajectory({len(self.t)} samples of q{known}; {self.q.shape[1]} joints, {self.duration:.4g} s)"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.t[-1] - self.t[0])

    @cached_property
    def _spline(self) -> object:
        from scipy.interpolate import BPoly, make_interp_spline

        if self.v is not None and self.a is not None:
            return BPoly.from_derivatives(self.t, np.stack([self.q, self.v, self.a], axis=1))
        degree = min(5, len(self.t) - 1)
        return make_interp_spline(self.t, self.q, k=degree - 1 + degree % 2)

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s] since the first, each of shape (samples, joints)."""
        t = np.clip(self.t[0] + np.asarray(times), self.t[0], self.t[-1])
        spline = self._spline
        q, v, a = (np.asarray(spline(t, nu=k) if k else spline(t)) for k in range(3))  # type: ignore[operator]
        return q, v, a
