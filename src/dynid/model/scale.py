"""Whether equations that hold for every multiple of the parameters determine their size.

The centre of pressure c of masses M in all obeys `X(q) p = c(q) M(p)`, and on a free pivot the first moment h of all
masses about it is parallel to gravity: `h(q, p) x g(q) = 0`. Neither has a right-hand side, so that p and 2 p fit
alike. Here c(q) and g(q) are those of one robot with random links, as they would be measured, and ranks are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.independent_columns import columns_in_order, largest_by_unit, norms_of
from dynid.model.kernels.kernel import joint_poses
from dynid.model.observed import CENTRE_OF_PRESSURE
from dynid.model.sampling import random_states, sample_count
from dynid.model.standing import rotations_as_quaternions
from dynid.model.still_bodies import carried_links, place_on_link
from dynid.robot import SIZE, Robot


@dataclass(frozen=True)
class Scale:
    """What is determined of the size of base parameters.

    Attributes:
        is_determined: Whether all of them are; otherwise only their ratios are, and to the total mass.
        count: How many numbers the equations determine: ratios, where they have no scale.
        by_total_mass: Whether a known total mass determines all of them.
        has_total_mass: Whether it is known.
    """

    is_determined: bool
    count: int
    by_total_mass: bool
    has_total_mass: bool

    def findings(self) -> tuple[Finding, ...]:
        """A note where the scale is undetermined."""
        if self.is_determined:
            return ()
        code = "scale-needs-total-mass" if self.by_total_mass else "scale-undetermined"
        return (Finding.of(code, "base parameters", count=self.count),)


def scale_of(base: BaseParameters, *, has_total_mass: bool, rng: np.random.Generator) -> Scale | None:
    """The scale of base parameters; None where every equation has a right-hand side.

    Args:
        base: The base parameters.
        has_total_mass: Whether the total mass is known.
        rng: The random generator.
    """
    if not base.model.observed.is_homogeneous:
        return None
    model = base.model.typical
    p = random_links(model.robot, rng)
    if CENTRE_OF_PRESSURE in model.observed.measured:
        free, measured = _of_pressure(model, p, rng)
    else:
        free, measured = _of_pivot(model, p, rng)
    weight = _total_mass(model)[None]

    def rank(*parts: Array) -> int:
        return _rank(base, np.concatenate(parts))

    by_total_mass = rank(measured, weight) == rank(free, weight)
    count = rank(measured)
    is_determined = count == rank(free) or (has_total_mass and by_total_mass)
    return Scale(is_determined, count, by_total_mass, has_total_mass)


def random_links(robot: Robot, rng: np.random.Generator) -> Array:
    """Masses and first moments of a robot like any other, with zero inertia; shape (10 * solid links,)."""
    p = np.zeros((len(robot.solid_links), SIZE))
    p[:, 0] = rng.uniform(1.0, 5.0, len(p))
    p[:, 1:4] = p[:, :1] * rng.uniform(-0.3, 0.3, (len(p), 3))
    return p.ravel()


def _of_pressure(model: DynamicModel, links: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Equations with the total mass as an unknown of its own, and with the centre of pressure as it is measured."""
    states = random_states(model, sample_count(model), rng)
    W = model.regressor(*states)
    rows = len(model.row_indices)
    of_pressure = W[rows : rows + 2]
    weight = _total_mass(model)
    p = np.zeros(len(model.names))
    p[: len(links)] = links
    centre = of_pressure @ p / (weight @ p)
    others = W[:rows].reshape(-1, W.shape[2])
    flat = of_pressure.reshape(-1, W.shape[2])
    measured = flat - np.outer(centre.ravel(), weight)
    return np.concatenate([others, flat, weight[None]]), np.concatenate([others, measured])


def _of_pivot(model: DynamicModel, links: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Equations at any direction of gravity, and at that in which the robot hangs."""
    states = random_states(model, sample_count(model), rng)
    q = states[0].copy()
    free = model.regressor(*states)
    base = model.robot.joints[0]
    q[:, base.q] = model.robot.neutral[base.q]
    moment = _moment_about_pivot(model, q, links)
    turned = _turning(moment / np.linalg.norm(moment, axis=1, keepdims=True), model.robot.gravity)
    R0 = base.placement[:3, :3]
    q[:, base.q.stop - 4 : base.q.stop] = rotations_as_quaternions(R0.T @ turned @ R0)
    measured = model.regressor(q)
    width = free.shape[2]
    return free.reshape(-1, width), measured.reshape(-1, width)


def _moment_about_pivot(model: DynamicModel, q: Array, links: Array) -> Array:
    """First moment of all masses about the pivot, along the axes of the world, shape (samples, 3)."""
    robot = model.robot
    R, p = joint_poses(robot, q)
    link, placement = place_on_link(robot, model.observed.pivot)
    point = placement[:3, :3] @ np.array(model.observed.point) + placement[:3, 3]
    pivot = p[link] + R[link] @ point
    total = np.zeros((len(q), 3))
    carried = set(carried_links(robot))
    for i, (mass, *first) in zip(robot.solid_links, links.reshape(-1, SIZE)[:, :4], strict=True):
        if i in carried:
            total += mass * (p[i] - pivot) + R[i] @ np.array(first)
    return total


def _turning(directions: Array, gravity: Array) -> Array:
    """Rotations that turn unit vectors, shape (samples, 3), down, with any angle about that; (samples, 3, 3)."""
    from scipy.spatial.transform import Rotation

    down = gravity / np.linalg.norm(gravity)
    axes = np.cross(directions, down)
    sines = np.linalg.norm(axes, axis=1)
    angles = np.arctan2(sines, directions @ down)
    return Rotation.from_rotvec(axes / np.maximum(sines, 1e-300)[:, None] * angles[:, None]).as_matrix()


def _total_mass(model: DynamicModel) -> Array:
    """The columns of the weight of all links together [m/s^2], shape (parameters,)."""
    robot, weight = model.robot, np.zeros(len(model.names))
    carried = set(carried_links(robot))
    blocks = [block for block, i in enumerate(robot.solid_links) if i in carried]
    weight[SIZE * np.array(blocks, dtype=np.intp)] = np.linalg.norm(robot.gravity)
    return weight


def _rank(base: BaseParameters, matrix: Array) -> int:
    """Number of independent columns of parameters that are not known, counted as base parameters are."""
    names = base.model.names
    unknown = [k for k, name in enumerate(names) if name not in base.known]
    rows = [(np.arange(len(names)), matrix)]
    scale = largest_by_unit(base.model.parameters, norms_of(rows, len(names)))
    return len(columns_in_order([(rows[0][0], matrix / scale)], unknown, base.tolerance).chosen)
