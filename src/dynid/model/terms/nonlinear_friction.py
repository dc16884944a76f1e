"""Friction with nonlinear parameters: Stribeck, sigmoid, and viscous friction that depends on temperature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import inertial_regressor
from dynid.model.parameters import Role
from dynid.model.terms.linear_terms import sign, sign_slope
from dynid.model.terms.nonlinear_term import NonlinearTerm
from dynid.model.terms.term import DIFFERENCE_STEP, TermOfJoints
from dynid.robot import Joint, Robot


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

    def features(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[Array, ...]:
        """The sign of v, and its part that speed takes away."""
        direction = sign(v, self.width)
        return direction, direction * np.exp(-((v / nonlinear[0]) ** 2))

    def feature_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Those of the exponential, and of a smooth sign."""
        direction, bend = sign(v, self.width), sign_slope(v, self.width)
        fading = np.exp(-((v / nonlinear[0]) ** 2))
        return (bend,), (fading * (bend - 2.0 * v / nonlinear[0] ** 2 * direction),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array, ...], ...]:
        """None of the sign."""
        vs = nonlinear[0]
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

    def features(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[Array, ...]:
        """The sigmoid less its value at rest."""
        steepness, shift = nonlinear
        return (_sigmoid(steepness * (v + shift)) - _sigmoid(steepness * shift),)

    def feature_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Largest at v = -shift."""
        return ((nonlinear[0] * _slope(nonlinear[0] * (v + nonlinear[1])),),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array, ...], ...]:
        """Over steepness and over shift; both are zero at rest."""
        steepness, shift = nonlinear
        moving, resting = _slope(steepness * (v + shift)), _slope(steepness * shift)
        return (((v + shift) * moving - shift * resting, steepness * (moving - resting)),)


def _sigmoid(x: Array | float) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))


def _slope(x: Array | float) -> Array:
    return 0.25 / np.cosh(np.clip(0.5 * np.asarray(x), -300.0, 300.0)) ** 2


REFERENCE_TEMPERATURE = 20.0
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

    def features(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[Array, ...]:
        """The velocity, less as it is warmer."""
        return (v * np.exp(-nonlinear[0] * self._above()),)

    def feature_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array | float, ...], ...]:
        """The exponential."""
        return ((np.exp(-nonlinear[0] * self._above()),),)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array, ...], ...]:
        """None at the reference."""
        above = self._above()
        return ((-above * v * np.exp(-nonlinear[0] * above),),)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's damping."""
        return (joint.dynamics.damping,)

    def _above(self) -> Array:
        """Temperature above the reference [K] of the joint's samples."""
        return np.zeros(1) if self._temperature is None else self._temperature - REFERENCE_TEMPERATURE

    def _bound(self, joint: Joint) -> ViscousTemperature:
        if self._temperature is None:
            return self
        return self._with(_temperature=self._temperature[:, joint.v.start])


LOADED_SAMPLES = 4000
"""Samples whose loads are found at a time, to bound memory."""

UNKNOWN_LINK = (1.0, 0.11, 0.13, 0.17, 0.1, 0.01, 0.12, 0.02, 0.03, 0.14)
"""Inertial parameters of a link of which nothing is known yet: 1 kg, at some distance from its joint."""


class LoadCoulomb(TermOfJoints):
    """Coulomb friction fl |load| sign(v): fl is friction per torque of the load, the torque that the links need.

    The load is that of the links as they are known: of the robot's file at first, then of the estimate, and again,
    until nothing changes. Use it beside `Coulomb`, which is friction without a load.

    Args:
        joints: As `TermOfJoints`.
        links: Inertial parameters of the links, shape (10 * solid links,); the robot file's when None.
        width: As `TermOfJoints`.
    """

    symbols = ("fl",)
    units = ("1",)
    roles = (Role.LOAD,)
    needs = frozenset("qva")
    needs_links = True

    def __init__(
        self, joints: Sequence[str | int] | None = None, links: Array | None = None, width: float = 0.0
    ) -> None:
        super().__init__(joints, width)
        self.links = links

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The size of each joint's load, with the sign of its velocity."""
        loads = self._loads(robot, q, v, a)
        for column, joint in enumerate(self.joints_of(robot)):
            row = joint.v.start
            yield row, column, np.abs(loads[row]) * sign(v[:, row], self.width)

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """By central differences, but for the jumps of signs."""
        for row, parameter, over, coordinate, values in super().slopes(robot, q, v, a):
            at_jump = (np.abs(v[:, row]) <= DIFFERENCE_STEP) & (self.width == 0.0)
            yield row, parameter, over, coordinate, np.where(at_jump, 0.0, values)

    def with_links(self, parameters: Array) -> LoadCoulomb:
        """The same on other links."""
        return self._with(links=np.asarray(parameters, dtype=float))

    def typical(self) -> LoadCoulomb:
        """The same on links that have all there is of load."""
        return self._with(links=None)

    def _loads(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torques of the links, shape (nv, samples)."""
        links = self.links
        if links is None:
            stated = [robot.links[i] for i in robot.solid_links]
            links = np.concatenate([link.parameters if link.has_inertia else np.array(UNKNOWN_LINK) for link in stated])
        pieces = [slice(k, k + LOADED_SAMPLES) for k in range(0, len(q), LOADED_SAMPLES)]
        return np.concatenate([inertial_regressor(robot, q[p], v[p], a[p]) @ links for p in pieces], axis=1)
