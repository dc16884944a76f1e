"""Sigmoid friction: smooth, bounded, and different forwards and backwards."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Role
from dynid.model.terms.nonlinear_term import NonlinearTerm


class Sigmoid(NonlinearTerm):
    """Friction fsig (s(v) - s(0)) with the sigmoid s(v) = 1 / (1 + exp(-ksig (v + vsig))).

    It rises by fsig in all, within a few 1/ksig of the velocity -vsig. Lightweight arms with torque sensors have it.
    With vsig = 0 it is fsig/2 tanh(ksig v / 2): Coulomb friction without the jump.
    """

    symbols = ("fsig",)
    units = ("N m",)
    roles = (Role.SIGMOID,)
    needs = frozenset("v")
    nonlinear_symbols = ("ksig", "vsig")
    nonlinear_units = ("s/rad", "rad/s")
    grids = (tuple(np.geomspace(1.0, 300.0, 9).tolist()), (-0.3, -0.05, 0.0, 0.05, 0.3))
    bounds = ((0.05, 5000.0), (-3.0, 3.0))
    typical_values = (3.0, 0.2)

    def features(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[Array, ...]:
        """The sigmoid less its value at rest."""
        steepness, shift = shape
        return (_sigmoid(steepness * (v + shift)) - _sigmoid(steepness * shift),)

    def feature_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Largest at v = -shift."""
        return ((shape[0] * _slope(shape[0] * (v + shape[1])),),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array, ...], ...]:
        """Over steepness and over shift; both are zero at rest."""
        steepness, shift = shape
        moving, resting = _slope(steepness * (v + shift)), _slope(steepness * shift)
        return (((v + shift) * moving - shift * resting, steepness * (moving - resting)),)


def _sigmoid(x: Array | float) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))


def _slope(x: Array | float) -> Array:
    return 0.25 / np.cosh(np.clip(0.5 * np.asarray(x), -300.0, 300.0)) ** 2
