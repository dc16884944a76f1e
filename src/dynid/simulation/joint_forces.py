"""Friction and actuator terms of a simulated robot: motor inertia, friction, springs, offsets.

The terms of a model and their parameters become matrices and *dry elements*. A dry element is Coulomb friction along
one direction of the velocities, w = d . v: a joint's own, or a coupling's. Its torque is

* level(w) sign(w) while it slips, and whatever holds it while it sticks, up to the breakaway level (the discontinuous
  form); or
* level(w) tanh(w / smoothing), a smooth form that never sticks.

Stribeck's effect is in the level: kinetic + (breakaway - kinetic) exp(-(w / stribeck)^2).

Any other term, such as a user's own, is simulated where its torque at each joint is a sum of a function of that joint's
velocity, one of its position and a constant inertia times its acceleration: the two functions become *curves*, tables
that are interpolated by cubic polynomials. Signs of velocities in them do not stick: they are steep, not discontinuous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError, ShapeError
from dynid.model import terms
from dynid.model.dynamic_model import DynamicModel
from dynid.robot import Robot

MATRICES: Mapping[type[terms.Term], str] = {
    terms.Armature: "inertia",
    terms.Viscous: "viscous",
    terms.ViscousTemperature: "viscous",  # at the temperature that fv is of
    terms.Spring: "stiffness",
}
"""Terms that are diagonals of matrices, and of which."""

CURVE_POINTS = 20001
"""Points of a curve: a step of about 1e-3 rad or rad/s."""

SLOWEST_REACH = 10.0
"""Curves over velocities reach to twice the joint's limit, and to this [rad/s or m/s] at least; straight beyond."""

UNLIMITED_REACH = 10.0 * np.pi
"""Curves over positions reach half a radian (or metre) beyond the joint's limits, and this far where it has none."""


class JointForces(NamedTuple):
    """Torques `inertia a + viscous v + stiffness q + offset + D' friction(D v) + curves(q, v)`.

    D has a row for each dry element.

    A named tuple of contiguous arrays, so that compiled code takes it as it is.

    Attributes:
        inertia: Motor inertia and couplings [kg m^2], shape (nv, nv).
        viscous: Viscous friction [N m s/rad], shape (nv, nv).
        stiffness: Springs [N m/rad], shape (nv, nv).
        offset: Constant torques [N m], shape (nv,).
        direction: D, shape (elements, nv).
        kinetic: Levels forwards and backwards at speed [N m], shape (elements, 2).
        breakaway: The same at rest, shape (elements, 2).
        stribeck: Velocity over which breakaway becomes kinetic [rad/s], shape (elements,); infinite for none.
        smoothing: Velocity of the smooth form [rad/s], shape (elements,); zero for the discontinuous one.
        gear: How dry friction grows with the torques that meet in a gear, shape (elements, 6): km, ke, kms, kes [1], qm
            and qe [1/(N m)] of `dynid.model.terms.gears`; zero for friction without a load.
        axis: The joint at which each dry element with a gear acts, shape (elements,).
        sigmoid: Rise [N m], steepness [s/rad] and shift [rad/s] of each joint's sigmoid friction, shape (nv, 3).
        curves: Torque and slope at evenly spaced velocities and positions, shape (2, nv, points, 2); None without.
        reach: Where each curve ends, on both sides of zero [rad/s, then rad], shape (2, nv).
    """

    inertia: Array
    viscous: Array
    stiffness: Array
    offset: Array
    direction: Array
    kinetic: Array
    breakaway: Array
    stribeck: Array
    smoothing: Array
    gear: Array
    axis: Indices
    sigmoid: Array
    curves: Array | None = None
    reach: Array | None = None

    @staticmethod
    def of(model: DynamicModel, parameters: Array) -> JointForces:
        """The forces of a model's terms.

        Args:
            model: The model.
            parameters: Standard parameters p of links and terms, shape (parameters,).

        Raises:
            InvalidRequestError: If the model has a term that cannot be simulated.
        """
        if np.shape(parameters) != (len(model.names),):
            raise ShapeError("parameters", f"({len(model.names)},)", np.shape(parameters))
        n = model.robot.nv
        values = dict(zip(model.names, np.asarray(parameters, dtype=float).tolist(), strict=True))
        square, none = np.zeros((n, n)), np.zeros(0)
        forces = JointForces(
            square,
            square,
            square,
            np.zeros(n),
            np.zeros((0, n)),
            np.zeros((0, 2)),
            np.zeros((0, 2)),
            none,
            none,
            np.zeros((0, 6)),
            np.zeros(0, dtype=np.int64),
            np.zeros((n, 3)),
        )
        for term in model.terms:
            forces = _with_term(forces, term, model.robot, values)
        return forces

    def smoothed(self, velocity: float) -> JointForces:
        """The same with the smooth form of Coulomb friction, tanh(w / velocity); discontinuous when it is zero."""
        if velocity > 0.0 and self.gear.any():
            raise InvalidRequestError("friction of loaded gears sticks: it has no smooth form; leave smoothing out")
        return self._replace(smoothing=np.full(len(self.smoothing), float(velocity)))

    def with_stribeck(self, ratio: float, velocity: float) -> JointForces:
        """The same with a breakaway level of `ratio` times the kinetic one, which speed [rad/s] takes away."""
        return self._replace(breakaway=ratio * self.kinetic, stribeck=np.full(len(self.stribeck), float(velocity)))

    def rates(self, M: Array) -> tuple[float, float]:
        """How fast these forces change velocities, with the mass matrix M, shape (nv, nv).

        Returns:
            The fastest decay by friction, and the fastest angular frequency of springs [1/s].
        """
        slope = np.zeros(len(self.direction))
        smooth = self.smoothing > 0.0
        slope[smooth] = self.breakaway[smooth].max(axis=1) / self.smoothing[smooth]
        slope[~smooth] = np.abs(self.breakaway - self.kinetic)[~smooth].max(axis=1) / self.stribeck[~smooth]
        D = self.viscous + self.direction.T @ (slope[:, None] * self.direction)
        D = D + np.diag(0.25 * np.abs(self.sigmoid[:, 0] * self.sigmoid[:, 1]))
        both = np.stack([D, self.stiffness])
        if self.curves is not None:
            both += [np.diag(steepest) for steepest in np.abs(self.curves[..., 1]).max(axis=2)]
        decays, squares = np.linalg.eigvals(np.linalg.solve(M + self.inertia, both))
        return float(np.abs(decays).max()), float(np.sqrt(np.abs(squares).max()))


def _with_term(forces: JointForces, term: terms.Term, robot: Robot, values: Mapping[str, float]) -> JointForces:
    """The forces with one more term."""
    p = [values[parameter.name] for parameter in term.parameters(robot)]
    if isinstance(term, terms.LinkSpring):
        return forces  # the plant has it
    if isinstance(term, terms.Combined):
        return _with_combined(forces, term, robot, p)
    if type(term) is terms.Coupling:
        return _with_coupling(forces, term, robot, p)
    if type(term) is terms.Stribeck:
        return _with_stribeck(forces, term, robot, np.reshape(p, (-1, 2)))
    if isinstance(term, terms.GearFriction):
        return _with_gear(forces, term, robot, np.reshape(p, (-1, len(term.symbols))))
    if type(term) is terms.Sigmoid:
        return _with_sigmoid(forces, term, robot, p)
    kind = MATRICES.get(type(term))
    if kind is not None and isinstance(term, terms.TermOfJoints):
        return forces._replace(**{kind: getattr(forces, kind) + _diagonal(robot.nv, _rows(term, robot), p)})
    return _with_linear(forces, term, robot, p)


def _with_linear(forces: JointForces, term: terms.Term, robot: Robot, p: Sequence[float]) -> JointForces:
    """The forces with a constant torque, with dry friction, or with a term of any other kind."""
    if type(term) is terms.Offset:
        return forces._replace(offset=forces.offset + np.diag(_diagonal(robot.nv, _rows(term, robot), p)))
    if type(term) is terms.Coulomb:
        return _with_dry(forces, np.eye(robot.nv)[_rows(term, robot)], np.column_stack([p, p]))
    if type(term) is terms.AsymmetricCoulomb:
        return _with_dry(forces, np.eye(robot.nv)[_rows(term, robot)], np.reshape(p, (-1, 2)))
    return _with_curves(forces, term, robot, np.array(p))


def _rows(term: terms.TermOfJoints, robot: Robot) -> list[int]:
    return [joint.v.start for joint in term.joints_of(robot)]


def _with_stribeck(forces: JointForces, term: terms.Stribeck, robot: Robot, levels: Array) -> JointForces:
    """Dry elements whose breakaway level is higher by fst, which comes down over the Stribeck velocity."""
    fs, fst = levels.T
    if (fs < 0.0).any():
        raise InvalidRequestError(f"Coulomb friction of {fs.min():g} N m is negative and cannot be simulated")
    if (fs + fst < 0.0).any():
        raise InvalidRequestError(f"breakaway friction of {(fs + fst).min():g} N m cannot be simulated")
    speeds = np.array([parameter.value for parameter in term.nonlinear(robot)])
    return _with_elements(forces, _rows(term, robot), fs, fs + fst, speeds, np.zeros((len(fs), 6)))


def _with_gear(forces: JointForces, term: terms.GearFriction, robot: Robot, values: Array) -> JointForces:
    """Dry elements whose level grows with the torques that meet in a gear, near rest more than at speed."""
    columns = dict(zip(term.symbols, values.T, strict=True))
    none = np.zeros(len(values))
    gear = np.column_stack([columns.get(symbol, none) for symbol in term.gains])
    fs, fst = columns["fs"], columns.get("fst", none)
    if (gear < 0.0).any() or (fs < 0.0).any() or (fs + fst < 0.0).any():
        raise InvalidRequestError("friction of loaded gears has a negative parameter and cannot be simulated")
    speeds = np.array([parameter.value for parameter in term.nonlinear(robot)])
    speeds = speeds if len(speeds) else np.full(len(values), np.inf)
    return _with_elements(forces, _rows(term, robot), fs, fs + fst, speeds, gear)


def _with_elements(
    forces: JointForces, rows: Sequence[int], kinetic: Array, breakaway: Array, stribeck: Array, gear: Array
) -> JointForces:
    """The forces with a dry element at each of some joints, of any level: where it is zero now, it may grow."""
    return forces._replace(
        direction=np.concatenate([forces.direction, np.eye(len(forces.offset))[rows]]),
        kinetic=np.concatenate([forces.kinetic, np.column_stack([kinetic, kinetic])]),
        breakaway=np.concatenate([forces.breakaway, np.column_stack([breakaway, breakaway])]),
        stribeck=np.concatenate([forces.stribeck, stribeck]),
        smoothing=np.concatenate([forces.smoothing, np.zeros(len(kinetic))]),
        gear=np.concatenate([forces.gear, gear]),
        axis=np.concatenate([forces.axis, np.array(rows, dtype=np.int64)]),
    )


def _with_sigmoid(forces: JointForces, term: terms.Sigmoid, robot: Robot, p: Sequence[float]) -> JointForces:
    sigmoid = forces.sigmoid.copy()
    sigmoid[_rows(term, robot), 0] = p
    sigmoid[_rows(term, robot), 1:] = np.reshape([parameter.value for parameter in term.nonlinear(robot)], (-1, 2))
    return forces._replace(sigmoid=sigmoid)


def _with_coupling(forces: JointForces, term: terms.Coupling, robot: Robot, p: Sequence[float]) -> JointForces:
    i, j = robot.joint(term.first).v.start, robot.joint(term.second).v.start
    cross = np.zeros((robot.nv, robot.nv))
    cross[i, j] = cross[j, i] = 1.0
    direction = np.zeros((1, robot.nv))
    direction[0, i], direction[0, j] = term.ratio, 1.0
    forces = forces._replace(inertia=forces.inertia + p[0] * cross, viscous=forces.viscous + p[1] * cross)
    return _with_dry(forces, direction, np.full((1, 2), p[2]))


def _with_combined(forces: JointForces, term: terms.Combined, robot: Robot, p: Sequence[float]) -> JointForces:
    """The forces with a term along combinations of joints, each of which is a direction of the velocities."""
    kind, along = type(term.kind), term.along(robot)
    D = np.array([each.direction for each in along])
    if kind in MATRICES:
        name, P = MATRICES[kind], np.array(p)
        rest = P * [each.rest for each in along] if kind is terms.Spring else np.zeros(len(P))
        matrix = getattr(forces, name) + D.T @ (P[:, None] * D)
        return forces._replace(**{name: matrix, "offset": forces.offset - D.T @ rest})
    if kind is terms.Offset:
        return forces._replace(offset=forces.offset + D.T @ np.array(p))
    if kind in (terms.Coulomb, terms.AsymmetricCoulomb):
        levels = np.reshape(p, (len(D), -1))
        return _with_dry(forces, D, np.column_stack([levels[:, 0], levels[:, -1]]))
    raise InvalidRequestError(
        f"the term {kind.__name__} on combinations of joints cannot be simulated; leave it out, or state it of joints"
    )


def _with_dry(forces: JointForces, direction: Array, levels: Array) -> JointForces:
    """The forces with more dry elements; those of no friction are left out."""
    if (levels < 0.0).any():
        raise InvalidRequestError(f"Coulomb friction of {levels.min():g} N m is negative and cannot be simulated")
    acting = levels.any(axis=1)
    count = np.count_nonzero(acting)
    return forces._replace(
        direction=np.concatenate([forces.direction, direction[acting]]),
        kinetic=np.concatenate([forces.kinetic, levels[acting]]),
        breakaway=np.concatenate([forces.breakaway, levels[acting]]),
        stribeck=np.concatenate([forces.stribeck, np.full(count, np.inf)]),
        smoothing=np.concatenate([forces.smoothing, np.zeros(count)]),
        gear=np.concatenate([forces.gear, np.zeros((count, 6))]),
        axis=np.concatenate([forces.axis, np.argmax(np.abs(direction[acting]), axis=1).astype(np.int64)]),
    )


def _with_curves(forces: JointForces, term: terms.Term, robot: Robot, p: Array) -> JointForces:
    """The forces with a term of any other kind, if its torques are sums of functions of the joints' own motion."""
    name, n = type(term).__name__, robot.nv
    if robot.nq != n:
        raise InvalidRequestError(f"the term {name} cannot be simulated on joints of several degrees of freedom")

    def torque(q: Array, v: Array, a: Array) -> Array:
        return (term.columns(robot, q, v, a) @ p).T

    rng, still = np.random.default_rng(0), np.zeros((200, n))
    q, v, a = rng.uniform(-3.0, 3.0, (3, 200, n))
    at_rest = torque(still, still, still)
    inertia = (torque(still, still, still + 1.0) - at_rest)[0]
    parts = inertia * a - at_rest
    for i in range(n):
        own = np.arange(n) == i  # only the joint itself moves
        parts[:, i] += (torque(q * own, still, still) + torque(still, v * own, still))[:, i]
    whole = torque(q, v, a)
    if not np.allclose(whole, parts, rtol=1e-9, atol=1e-9 * float(np.abs(whole).max(initial=0.0))):
        raise InvalidRequestError(
            f"the term {name} cannot be simulated: its torque at a joint is not a function of that joint's velocity, "
            "plus one of its position, plus an inertia times its acceleration; leave it out"
        )
    reach, grid = _reach(robot), np.linspace(-1.0, 1.0, CURVE_POINTS)[:, None]
    none = np.zeros((CURVE_POINTS, n))
    values = np.stack([torque(none, grid * reach[0], none), torque(grid * reach[1], none, none)]) - at_rest[0]
    slopes = _slopes(values) / (reach[:, None] * (2.0 / (CURVE_POINTS - 1)))
    curves = np.stack([values, slopes], axis=-1).transpose(0, 2, 1, 3)
    before = np.zeros_like(curves) if forces.curves is None else forces.curves
    return forces._replace(
        inertia=forces.inertia + np.diag(inertia),
        offset=forces.offset + at_rest[0],
        curves=np.ascontiguousarray(before + curves),
        reach=reach,
    )


def _reach(robot: Robot) -> Array:
    """How far curves go over velocities [rad/s or m/s] and positions [rad or m], shape (2, nv)."""
    reach = np.empty((2, robot.nv))
    for joint in robot.independent_joints:
        limits, row = joint.limits, joint.v.start
        speed, position = limits.velocity, max(abs(limits.lower), abs(limits.upper)) + 0.5
        reach[0, row] = max(SLOWEST_REACH, 2.0 * speed) if np.isfinite(speed) else SLOWEST_REACH
        reach[1, row] = position if np.isfinite(position) else UNLIMITED_REACH
    return reach


def _slopes(values: Array) -> Array:
    """Slopes per step over the second axis, by differences of fourth order; of first order at the ends."""
    slopes = np.gradient(values, axis=1)
    slopes[:, 2:-2] = (8.0 * (values[:, 3:-1] - values[:, 1:-3]) - (values[:, 4:] - values[:, :-4])) / 12.0
    return slopes


def _diagonal(size: int, rows: Sequence[int], values: Sequence[float]) -> Array:
    D = np.zeros((size, size))
    D[rows, rows] = values
    return D
