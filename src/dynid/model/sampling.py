"""Random states that the robot can be in, and the observation matrix at these."""

import math

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.model.independent_columns import Row
from dynid.model.observed import BASE
from dynid.model.standing import Standing
from dynid.robot import SIZE, Joint, Robot, neutral

_SPEED = 3.0
"""Velocities are drawn from +- this [rad/s or m/s]: centrifugal effects then weigh as much as gravity."""
_ACCELERATION = 10.0
"""Accelerations are drawn from +- this [rad/s^2 or m/s^2]."""
_LONGEST_STROKE = 2.0
"""Prismatic joints are drawn from ranges of at most this length [m]; angular ones from a full turn."""


_MOST_DRAWS = 30
"""Times that postures are drawn again which lead to none where all bodies stand: TALOS on both feet takes two."""

_MANY_COLUMNS = 1000
"""Columns above which W is sampled with few rows more than it has columns: the work grows with the cube of these."""


def random_states(model: DynamicModel, samples: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw states that a model can be observed in.

    Positions lie within the limits (a full turn where there are none), and quaternions are uniform rotations. A base or
    bodies that stand still do so where the neutral posture has them.

    Args:
        model: The model.
        samples: How many states.
        rng: The random generator.

    Returns:
        Positions, shape (samples, nq), velocities and accelerations, shape (samples, nv).

    Raises:
        InvalidRequestError: If bodies that stand cannot be reached together.
    """
    robot, observed = model.robot, model.observed
    q = _postures(robot, samples, rng)
    v = rng.uniform(-_SPEED, _SPEED, (samples, robot.nv))
    a = rng.uniform(-_ACCELERATION, _ACCELERATION, (samples, robot.nv))
    if observed.at_rest:
        v, a = np.zeros_like(v), np.zeros_like(a)
    if observed.stands_on == (BASE,):
        base = robot.joints[0]
        q[:, base.q] = observed.posture[base.q] if observed.posture else neutral(base.kind)
        v[:, base.v] = a[:, base.v] = 0.0
    elif observed.stands_on:
        stance = Standing.of(robot, observed.stands_on, observed.posture)
        q = _standing(stance, q, rng)
        v, a = (v, a) if observed.at_rest else stance.still(q, v, a)
    return q, v, a


def _standing(stance: Standing, drawn: Array, rng: np.random.Generator) -> Array:
    """Postures in which bodies stand, from random ones, of which as many are drawn again as do not lead to one."""
    found: list[Array] = []
    for _ in range(_MOST_DRAWS):
        q, stands = stance.closed(drawn)
        found.append(q[stands])
        missing = len(drawn) - int(np.count_nonzero(stands))
        if not missing:
            return np.concatenate(found)
        drawn = _postures(stance.robot, missing, rng)
    raise stance.refusal()


def _postures(robot: Robot, samples: int, rng: np.random.Generator) -> Array:
    return np.concatenate([_positions(joint, samples, rng) for joint in robot.independent_joints], axis=1)


def _positions(joint: Joint, samples: int, rng: np.random.Generator) -> Array:
    if joint.kind.has_quaternion:
        q = rng.normal(size=(samples, joint.kind.nq))
        q[:, -4:] /= np.linalg.norm(q[:, -4:], axis=1, keepdims=True)
        return q
    width = 2 * math.pi if joint.kind.is_angular else _LONGEST_STROKE
    return rng.uniform(*joint.limits.interval(width), (samples, 1))


def sampled_rows(model: DynamicModel, rng: np.random.Generator) -> list[Row]:
    """The columns that act on each row of W, and their values at random states."""
    samples = sample_count(model)
    parts = [random_states(model, min(200, samples - start), rng) for start in range(0, samples, 200)]
    if model.observed.combines_rows:
        matrices = np.concatenate([model.regressor(*states) for states in parts], axis=1)
        return list(zip(model.acting, matrices, strict=True))
    states = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    matrices = model.layout([columns.tolist() for columns in model.acting]).evaluate(*states)
    return [(columns, matrices[row]) for columns, row in zip(model.acting, model.row_indices, strict=True)]


def sample_count(model: DynamicModel) -> int:
    """Number of random states, with which W has more rows than independent columns, wherever these stand.

    Each link's columns need rows that act on it and that no other link takes. Mimic joints have no rows of their own,
    so that many links may stand on those of one leader.
    """
    width = len(model.names)
    if width <= _MANY_COLUMNS:
        return max(40, -(-4 * width // model.row_count))
    of_links = SIZE * len(model.robot.solid_links)
    rows: list[list[int]] = [[] for _ in model.robot.solid_links]
    taken = np.zeros(model.row_count)
    for row, columns in enumerate(model.acting):
        taken[row] = np.count_nonzero(columns >= of_links)
        for link in columns[columns < of_links][::SIZE] // SIZE:
            rows[link].append(row)
    for of_link in filter(None, rows):
        taken[of_link[int(np.argmin(taken[of_link]))]] += SIZE
    return int(1.25 * taken.max()) + 4
