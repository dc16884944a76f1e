"""Viscous friction that falls as the oil warms up."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Role
from dynid.model.terms.nonlinear_term import NonlinearTerm
from dynid.robot.robot import Joint

REFERENCE = 20.0
"""Temperature [degrees Celsius] at which friction is fv."""


class ViscousTemperature(NonlinearTerm):
    """Viscous friction fv exp(-kT (T - 20)) v, with the temperature T in degrees Celsius.

    It takes the place of `Viscous`. Where temperatures of samples are not known, it is that at 20 degrees.
    """

    symbols = ("fv",)
    units = ("N m s/rad",)
    roles = (Role.VISCOUS,)
    needs = frozenset("v")
    needs_temperature = True
    nonlinear_symbols = ("kT",)
    nonlinear_units = ("1/K",)
    grids = ((-0.02, 0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16),)
    bounds = ((-0.2, 0.5),)
    typical_values = (0.02,)
    _temperature: Array | None = None

    def with_temperature(self, temperature: Array) -> ViscousTemperature:
        """The same for samples of known temperatures, shape (samples, nv)."""
        return self._with(_temperature=temperature)

    def features(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[Array, ...]:
        """The velocity, less as it is warmer."""
        return (v * np.exp(-shape[0] * self._above()),)

    def feature_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array | float, ...], ...]:
        """The exponential."""
        return ((np.exp(-shape[0] * self._above()),),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, shape: Array) -> tuple[tuple[Array, ...], ...]:
        """None at the reference."""
        above = self._above()
        return ((-above * v * np.exp(-shape[0] * above),),)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's damping."""
        return (joint.dynamics.damping,)

    def _above(self) -> Array:
        """Temperature above the reference [K] of the joint's samples."""
        return np.zeros(1) if self._temperature is None else self._temperature - REFERENCE

    def _bound(self, joint: Joint) -> ViscousTemperature:
        if self._temperature is None:
            return self
        return self._with(_temperature=self._temperature[:, joint.v.start])
