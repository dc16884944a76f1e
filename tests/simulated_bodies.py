"""Trees of bodies with regressors by Pinocchio: a human-like one on spherical joints, and a satellite with an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import dynid
from dynid.arrays import Array
from dynid.robot import inertia

FORCE_STD, TORQUE_STD = 1.0, 0.3
"""Of errors of the wrench [N], [N m]."""

STDS = [FORCE_STD] * 3 + [TORQUE_STD] * 3

# Name, parent, place of its joint in the parent [m], part of the mass (de Leva 1996, men), centre and semi-axes [m].
PEOPLE = (
    ("pelvis", None, (0, 0, 0), 0.1117, (0, 0, 0.02), (0.11, 0.16, 0.12)),
    ("abdomen", "pelvis", (0, 0, 0.1), 0.1633, (0, 0, 0.1), (0.11, 0.15, 0.14)),
    ("thorax", "abdomen", (0, 0, 0.21), 0.1596, (0, 0, 0.12), (0.12, 0.18, 0.16)),
    ("head", "thorax", (0, 0, 0.26), 0.0694, (0, 0, 0.11), (0.10, 0.09, 0.14)),
    *(
        limb
        for side, s in (("left", 1.0), ("right", -1.0))
        for limb in (
            (f"{side} upper arm", "thorax", (0, 0.19 * s, 0.22), 0.0271, (0, 0, -0.14), (0.06, 0.06, 0.18)),
            (f"{side} forearm", f"{side} upper arm", (0, 0, -0.28), 0.0162, (0, 0, -0.12), (0.05, 0.05, 0.16)),
            (f"{side} hand", f"{side} forearm", (0, 0, -0.27), 0.0061, (0, 0, -0.08), (0.03, 0.05, 0.11)),
            (f"{side} thigh", "pelvis", (0, 0.09 * s, -0.02), 0.1416, (0, 0, -0.19), (0.10, 0.10, 0.25)),
            (f"{side} shank", f"{side} thigh", (0, 0, -0.42), 0.0433, (0, 0, -0.19), (0.07, 0.07, 0.25)),
            (f"{side} foot", f"{side} shank", (0, 0, -0.43), 0.0137, (0.06, 0, -0.04), (0.15, 0.06, 0.06)),
        )
    ),
)
MASS = 74.0


@dataclass(frozen=True, eq=False)
class Bodies:
    """A tree of bodies, without their inertias.

    Attributes:
        names: Names of the bodies.
        model: Its joints, the floating base first.
        prior: What is expected, shape (bodies, 10).
        bounds: What holds all mass of each.
        tilt: How far the base turns [rad].
        at_rest: Share of samples at rest.
    """

    names: tuple[str, ...]
    model: pin.Model
    prior: Array
    bounds: tuple[dynid.Ellipsoid | dynid.Box, ...]
    tilt: float
    at_rest: float

    def rows(self, samples: int, rng: np.random.Generator) -> Array:
        """Rows of the wrench in random states, along the base and about its origin, (6 samples, 10 bodies)."""
        data, found = self.model.createData(), []
        nv = self.model.nv
        for k in range(samples):
            step = np.concatenate([np.zeros(3), self.tilt * rng.normal(size=3), 0.6 * rng.normal(size=nv - 6)])
            q = pin.integrate(self.model, pin.neutral(self.model), step)
            moves = k >= self.at_rest * samples
            v = moves * np.concatenate([0.2 * rng.normal(size=6), 1.5 * rng.normal(size=nv - 6)])
            a = moves * np.concatenate([0.5 * rng.normal(size=6), 6.0 * rng.normal(size=nv - 6)])
            found.append(pin.computeJointTorqueRegressor(self.model, data, q, v, a)[:6].copy())
        return np.concatenate(found)

    def wrenches(self, W: Array, bodies: Array, rng: np.random.Generator) -> Array:
        """Measured wrenches of bodies, shape (rows,)."""
        return W @ bodies.ravel() + np.tile(STDS, len(W) // 6) * rng.normal(size=len(W))

    def different(self, spread: float, rng: np.random.Generator, *, by_parts: bool = False) -> Array:
        """Bodies inside their bounds that differ from the prior, shape (bodies, 10).

        Args:
            spread: How much: a relative standard deviation.
            rng: The random generator.
            by_parts: Whether mass, centre of mass and the inertia about it differ each for itself, and not the
                pseudo-inertia as a whole.
        """
        draw = _by_parts if by_parts else _as_a_whole
        return np.array(
            [_inside(body, own, draw, spread, rng) for body, own in zip(self.prior, self.bounds, strict=True)]
        )


def person() -> Bodies:
    """A human-like tree of 16 bodies on 15 spherical joints, with ellipsoids that hold them."""
    model, ids = pin.Model(), {}
    prior, bounds = [], []
    for name, parent, place, part, centre, axes in PEOPLE:
        joint = pin.JointModelFreeFlyer() if parent is None else pin.JointModelSpherical()
        placement = pin.SE3(np.eye(3), np.array(place, dtype=float))
        ids[name] = model.addJoint(ids.get(parent, 0), joint, placement, name)
        bounds.append(dynid.Ellipsoid(centre, 1.15 * np.array(axes)))
        even = dynid.Ellipsoid(centre, axes).uniform(1.0)
        prior.append(even * part * MASS / even[0])
    return Bodies(tuple(ids), model, np.array(prior), tuple(bounds), 0.2, 1.0 / 3.0)


def satellite(joints: int = 6) -> Bodies:
    """A satellite with an arm of revolute joints, free of gravity, with boxes that hold its bodies."""
    rng, model, parent = np.random.default_rng(5), pin.Model(), 0
    model.gravity.linear = np.zeros(3)
    prior, bounds = [], []
    for k in range(joints + 1):
        axis = [pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ][k % 3]()
        placement = pin.SE3(pin.utils.rotate("xyz"[k % 3], 0.4), np.array([0.0, 0.1, 0.35]) if k else np.zeros(3))
        parent = model.addJoint(parent, pin.JointModelFreeFlyer() if k == 0 else axis, placement, f"link{k}")
        half = np.array([0.4, 0.4, 0.3]) if k == 0 else np.array([0.08, 0.1, 0.22]) * rng.uniform(0.8, 1.2, 3)
        centre = np.zeros(3) if k == 0 else np.array([0.0, 0.05, 0.18])
        bounds.append(dynid.Box(centre - half, centre + half))
        prior.append(dynid.Box(centre - 0.8 * half, centre + 0.8 * half).uniform(300.0 if k == 0 else 800.0))
    return Bodies(tuple(model.names[1:]), model, np.array(prior), tuple(bounds), 1.0, 0.0)


def _inside(body: Array, bound: dynid.Ellipsoid | dynid.Box, draw, spread: float, rng: np.random.Generator) -> Array:
    while True:
        other = draw(body, spread, rng)
        if inertia.is_physical(other) and bound.holds(other):
            return other


def _as_a_whole(body: Array, spread: float, rng: np.random.Generator) -> Array:
    """The whitened pseudo-inertia has a normal logarithm, of which the diagonal has the given standard deviation."""
    L = np.linalg.cholesky(inertia.to_pseudo_inertia(body))
    S = spread * rng.normal(size=(4, 4))
    sizes, axes = np.linalg.eigh(0.5 * (S + S.T))
    return inertia.from_pseudo_inertia(L @ (axes * np.exp(sizes)) @ axes.T @ L.T)


def _by_parts(body: Array, spread: float, rng: np.random.Generator) -> Array:
    mass, centre, about = inertia.to_mass_com_inertia(body)
    radii = np.sqrt(np.trace(about) / mass)
    S = pin.exp3(spread * rng.normal(size=3))
    factor = 1.0 + spread * rng.normal()
    other = factor * S @ about @ S.T * (1.0 + spread * rng.normal())
    return inertia.from_mass_com_inertia(mass * factor, centre + spread * radii * rng.normal(size=3), other)
