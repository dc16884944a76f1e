"""Stribeck friction: more at rest than at speed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Role
from dynid.model.terms.linear_friction import sign, sign_slope
from dynid.model.terms.nonlinear_term import NonlinearTerm
from dynid.robot.robot import Joint, Robot


class Stribeck(NonlinearTerm):
    """Coulomb friction that is higher near rest: (fs + fst exp(-(v / vs)^2)) sign(v).

    It breaks away at fs + fst and comes down to fs over the Stribeck velocity vs; where friction is lower near rest, as
    that of many gears, fst is negative. Neither end can be. It takes the place of `Coulomb`.
    """

    symbols = ("fs", "fst")
    units = ("N m", "N m")
    roles = (Role.COULOMB, Role.STRIBECK)
    needs = frozenset("v")
    nonlinear_symbols = ("vs",)
    nonlinear_units = ("rad/s",)
    grids = (tuple(np.geomspace(2e-3, 1.0, 15).tolist()),)
    bounds = ((1e-4, 3.0),)
    typical_values = (1.0,)

    def features(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[Array, ...]:
        """The sign of v, and its part that speed takes away."""
        direction = sign(v, self.width)
        return direction, direction * np.exp(-((v / shape[0]) ** 2))

    def feature_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Those of the exponential, and of a smooth sign."""
        direction, bend = sign(v, self.width), sign_slope(v, self.width)
        fading = np.exp(-((v / shape[0]) ** 2))
        return (bend,), (fading * (bend - 2.0 * v / shape[0] ** 2 * direction),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array, ...], ...]:
        """None of the sign."""
        vs = shape[0]
        return (np.zeros_like(v),), (sign(v, self.width) * np.exp(-((v / vs) ** 2)) * 2.0 * v**2 / vs**3,)

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Friction at speed, fs, and friction at rest, fs + fst."""
        yield from super().quadratic_forms(robot)
        for joint in self.joints_of(robot):
            for symbol in self.symbols:
                yield "breakaway", joint.number, joint.number, f"{symbol}{joint.number}"

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's friction."""
        return (joint.dynamics.friction, None)
