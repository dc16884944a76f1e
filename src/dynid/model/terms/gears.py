"""Friction in a gear that grows with its load, otherwise from the motor's side than from the outer side.

Two torques meet in a gear: the motor's, tau, and what the links need at the joint against gravity, Coriolis and
centrifugal forces, b (an outer torque is -b). Dry friction against the motion can be up to

    fs + |km tau + ke b| + exp(-(v / vs)^2) (fst + |kms tau + kes b| + qm tau^2 or qe b^2)

With km unlike ke, a joint that is driven and one that is driven back differ. The square of the smaller torque counts
while tau and b have one sign, so that the motor carries the load: qe b^2 where the motor drives, qm tau^2 where it is
driven back. These are the friction models M3 to M6 for servos of Duclusaud et al. (2025), whose M1 is `coulomb` and M2
`stribeck`, each with `viscous`.

Friction is part of what the motor must give, so that tau is an implicit quantity. Where commands are logged, it is
known; else it is solved for: friction grows by less than the torque does, so that there is one solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import inertial_regressor
from dynid.model.parameters import Role, Sign
from dynid.model.terms.linear_terms import sign
from dynid.model.terms.nonlinear_friction import LOADED_SAMPLES, UNKNOWN_LINK
from dynid.model.terms.nonlinear_term import NonlinearTerm
from dynid.model.terms.term import DIFFERENCE_STEP, Term
from dynid.robot import Joint, Robot

ROUNDS = 60
"""Rounds in which the motor's torque is solved for; more only where each still brings it closer."""

MOST_ROUNDS = 600
"""Most rounds: enough for friction of 95 % of the torque."""

SETTLED = 1e-12
"""Change of the motor's torque in a round, relative to the largest, from which it is solved."""


class GearFriction(NonlinearTerm):
    """What the friction models of loaded gears have in common; the classes below say which parameters each has.

    Args:
        joints: As `TermOfJoints`.
        nonlinear: As `NonlinearTerm`.
        width: As `TermOfJoints`.
    """

    needs = frozenset("qva")
    needs_links = True
    nonlinear_symbols = ()
    nonlinear_units = ()
    grids = ()
    bounds = ()
    typical_values = ()
    gains: ClassVar[tuple[str, ...]]
    """Which symbol stands for km, ke, kms, kes, qm and qe; empty for none."""

    def __init__(
        self,
        joints: Sequence[str | int] | None = None,
        nonlinear: Mapping[str, float] | None = None,
        width: float = 0.0,
    ) -> None:
        super().__init__(joints, nonlinear, width)
        self.links: Array | None = None
        self.others: tuple[tuple[Term, Array], ...] = ()
        self._torque: Array | None = None
        self._values_of: dict[str, float] = {}

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every joint at its motor's torque and what its links need without acceleration."""
        bias, rest = self._bias(robot, q, v), self._rest(robot, q, v, a)
        for at, joint in enumerate(self.joints_of(robot)):
            row, speed = joint.v.start, v[:, joint.v.start]
            torque = rest[row] if self._torque is not None else self._solved(joint, speed, rest[row], bias[row])
            for k, values in enumerate(self.joint_features(joint, speed, torque, bias[row])):
                yield row, at * len(self.symbols) + k, values

    def features(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[Array, ...]:
        """Those of a joint without a load."""
        none = np.zeros_like(v)
        return self.features_at(v, none, none, {}, nonlinear)

    def features_at(
        self, v: Array, torque: Array, bias: Array, values: Mapping[str, float], nonlinear: Array
    ) -> tuple[Array, ...]:
        """Torque per unit of each symbol.

        Args:
            v: Velocities of the joint [rad/s], shape (samples,).
            torque: Torques of its motor [N m], shape (samples,).
            bias: What its links need without acceleration [N m], shape (samples,).
            values: Values of the parameters by symbol: torques of both sides may cancel, which depends on them.
            nonlinear: The Stribeck velocity [rad/s], shape (1,); none for friction without it, shape (0,).
        """
        way = sign(v, self.width)
        fading = np.exp(-((v / nonlinear[0]) ** 2)) if len(nonlinear) else np.zeros_like(v)
        found = {"fs": way, "fst": way * fading}
        for (motor, outer), share in ((self.gains[:2], np.ones_like(v)), (self.gains[2:4], fading)):
            if not motor:
                continue
            km, ke = values.get(motor, 0.0), values.get(outer, 0.0)
            km, ke = (1.0, 1.0) if km <= 0.0 and ke <= 0.0 else (km, ke)
            side = way * share * np.sign(km * torque + ke * bias)
            found[motor], found[outer] = side * torque, side * bias
            if outer == motor:
                found[motor] = side * (torque + bias)
        if self.gains[4]:
            carries, drives = torque * bias > 0.0, np.abs(torque) > np.abs(bias)
            found[self.gains[4]] = way * fading * (carries & ~drives) * torque**2
            found[self.gains[5]] = way * fading * (carries & drives) * bias**2
        return tuple(found[symbol] for symbol in self.symbols)

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """By central differences, but for the jumps of signs."""
        for row, parameter, over, coordinate, values in Term.slopes(self, robot, q, v, a):
            at_jump = (np.abs(v[:, row]) <= DIFFERENCE_STEP) & (self.width == 0.0)
            yield row, parameter, over, coordinate, np.where(at_jump, 0.0, values)

    def nonlinear_slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, int, Array]]:
        """Over the Stribeck velocity, with the motor's torque as it is."""
        if not self.nonlinear_symbols:
            return
        bias, rest = self._bias(robot, q, v), self._rest(robot, q, v, a)
        for at, joint in enumerate(self.joints_of(robot)):
            row, speed, (vs,) = joint.v.start, v[:, joint.v.start], self._values(joint)
            torque = rest[row] if self._torque is not None else self._solved(joint, speed, rest[row], bias[row])
            features = self.joint_features(joint, speed, torque, bias[row])
            for k, symbol in enumerate(self.symbols):
                if symbol in ("fst", *self.gains[2:]):
                    yield row, at * len(self.symbols) + k, at, features[k] * 2.0 * speed**2 / vs**3

    def with_links(self, parameters: Array) -> GearFriction:
        """The same on other links."""
        return self._with(links=np.asarray(parameters, dtype=float))

    def with_motor_torque(self, torque: Array) -> GearFriction:
        """The same with the motors' torques of the samples known [N m], shape (samples, nv)."""
        return self._with(_torque=torque)

    def with_values(self, values: Mapping[str, float], others: Sequence[tuple[Term, Array]] = ()) -> GearFriction:
        """The same at values of its parameters, by name, beside other terms with theirs."""
        return self._with(_values_of=dict(values), others=tuple(others))

    def typical(self) -> GearFriction:
        """The same on links that have all there is of load."""
        plain = super().typical()
        return plain._with(links=None, _torque=None, others=(), _values_of={})

    def joint_features(self, joint: Joint, v: Array, torque: Array, bias: Array) -> tuple[Array, ...]:
        """As `features_at`, of a joint of this term at the values that it knows."""
        return self.features_at(v, torque, bias, self.values(joint), self._values(joint))

    def values(self, joint: Joint) -> dict[str, float]:
        """Values of the parameters of a joint by symbol; zero where they are not known."""
        return {symbol: self._values_of.get(f"{symbol}{joint.number}", 0.0) for symbol in self.symbols}

    def stribeck_velocities(self, joint: Joint) -> Array:
        """The Stribeck velocity of a joint [rad/s], shape (1,), or shape (0,) for friction without it."""
        return self._values(joint)

    def numbers(self, joint: Joint) -> tuple[float, ...]:
        """Values of km, ke, kms, kes, qm and qe of a joint."""
        return tuple(self._values_of.get(f"{symbol}{joint.number}", 0.0) if symbol else 0.0 for symbol in self.gains)

    def _solved(self, joint: Joint, v: Array, rest: Array, bias: Array) -> Array:
        """The motor's torque that moves the rest against this friction, which grows with it; shape (samples,)."""
        values = self.values(joint).values()
        torque, before = rest, np.inf
        for done in range(MOST_ROUNDS if any(values) else 0):
            features = self.joint_features(joint, v, torque, bias)
            new = rest + sum(value * feature for value, feature in zip(values, features, strict=True))
            change, torque = float(np.abs(new - torque).max(initial=0.0)), new
            if change <= SETTLED * float(np.abs(new).max(initial=0.0)) or (done >= ROUNDS and not change < before):
                break
            before = change
        return torque

    def _rest(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """The motors' torques where they are known, else what they need beside this friction, shape (nv, samples)."""
        if self._torque is not None:
            return self._torque.T
        total = self._of_links(robot, q, v, a)
        for term, values in self.others:
            total = total + term.columns(robot, q, v, a) @ values
        return total

    def _bias(self, robot: Robot, q: Array, v: Array) -> Array:
        return self._of_links(robot, q, v, np.zeros_like(v))

    def _of_links(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torques of the links, shape (nv, samples)."""
        links = self.links
        if links is None:
            stated = [robot.links[i] for i in robot.solid_links]
            links = np.concatenate([link.parameters if link.has_inertia else np.array(UNKNOWN_LINK) for link in stated])
        pieces = [slice(k, k + LOADED_SAMPLES) for k in range(0, len(q), LOADED_SAMPLES)]
        return np.concatenate([inertial_regressor(robot, q[p], v[p], a[p]) @ links for p in pieces], axis=1)


class _WithStribeck(GearFriction):
    """Friction that is higher near rest, and comes down over the Stribeck velocity vs."""

    nonlinear_symbols = ("vs",)
    nonlinear_units = ("rad/s",)
    grids = (tuple(np.geomspace(2e-3, 1.0, 15).tolist()),)
    bounds = ((1e-4, 3.0),)
    typical_values = (1.0,)

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Friction at speed, fs, and friction at rest, fs + fst."""
        yield from super().quadratic_forms(robot)
        for joint in self.joints_of(robot):
            for symbol in ("fs", "fst"):
                yield "breakaway", joint.number, joint.number, f"{symbol}{joint.number}"


_NOT_NEGATIVE = Sign.NONNEGATIVE


class LoadFriction(GearFriction):
    """M3: (fs + kl |tau + b|) sign(v), in the place of `coulomb`."""

    symbols = ("fs", "kl")
    units = ("N m", "1")
    roles = (Role.COULOMB, Role.OTHER)
    signs = (_NOT_NEGATIVE, _NOT_NEGATIVE)
    gains = ("kl", "kl", "", "", "", "")


class LoadStribeck(_WithStribeck):
    """M4: (fs + kl |tau + b| + exp(-(v / vs)^2) (fst + kls |tau + b|)) sign(v)."""

    symbols = ("fs", "fst", "kl", "kls")
    units = ("N m", "N m", "1", "1")
    roles = (Role.COULOMB, Role.STRIBECK, Role.OTHER, Role.OTHER)
    signs = (_NOT_NEGATIVE, Sign.FREE, _NOT_NEGATIVE, _NOT_NEGATIVE)
    gains = ("kl", "kl", "kls", "kls", "", "")


class DirectionalFriction(_WithStribeck):
    """M5: (fs + |km tau + ke b| + exp(-(v / vs)^2) (fst + |kms tau + kes b|)) sign(v)."""

    symbols = ("fs", "fst", "km", "ke", "kms", "kes")
    units = ("N m", "N m", "1", "1", "1", "1")
    roles = (Role.COULOMB, Role.STRIBECK, *[Role.OTHER] * 4)
    signs = (_NOT_NEGATIVE, Sign.FREE, *[_NOT_NEGATIVE] * 4)
    gains = ("km", "ke", "kms", "kes", "", "")


class QuadraticFriction(_WithStribeck):
    """M6: M5 and exp(-(v / vs)^2) times qe b^2 where the motor drives, or qm tau^2 where it is driven back."""

    symbols = ("fs", "fst", "km", "ke", "kms", "kes", "qm", "qe")
    units = ("N m", "N m", "1", "1", "1", "1", "1/(N m)", "1/(N m)")
    roles = (Role.COULOMB, Role.STRIBECK, *[Role.OTHER] * 6)
    signs = (_NOT_NEGATIVE, Sign.FREE, *[_NOT_NEGATIVE] * 6)
    gains = ("km", "ke", "kms", "kes", "qm", "qe")
