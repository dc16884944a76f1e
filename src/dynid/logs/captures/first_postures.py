"""Postures to begin with: the base where its markers are, and samples from others that fit.

A few samples are found from the neutral posture. Those that end in a wrong one, whose markers fit worse than in others,
begin again where the nearest sample that fits has ended. The samples between begin between these.
"""

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.logs.captures.marker_steps import PostureProblem, solved
from dynid.robot import WORLD, Robot

EVERY = 10
"""Every so many-th sample is found first: a tenth of a second at 100 Hz, in which people hardly move."""

FIRST_STEPS = 30
"""Steps from the neutral posture."""

RESTARTS = 12
"""Most times that samples begin again from others."""

WORSE = 4.0
"""Cost, in medians of those of all samples, from which on a posture may be a wrong one."""

EXACT = 1e-14
"""Cost [m^2] below which markers fit exactly, up to rounding."""

FARTHER = 0.1
"""Weight of markers one segment farther from the base when the base is placed: near ones say more."""


def first_postures(problem: PostureProblem) -> Array:
    """Postures near the markers of all samples, shape (samples, nq)."""
    count = len(problem.seen)
    coarse = np.unique([*range(0, count, EVERY), count - 1])
    own = problem.of(coarse)
    q = with_restarts(own, solved(own, placed(own), FIRST_STEPS))
    return between(problem.tree.robot, coarse, q, np.arange(count))


def with_restarts(problem: PostureProblem, q: Array) -> Array:
    """Postures in which samples that fit worse than others have begun again from their neighbours."""
    q, costs, untried = q.copy(), problem.costs(q), np.ones(len(q), dtype=bool)
    for _ in range(RESTARTS):
        bad = costs > WORSE * np.median(costs) + EXACT
        good = np.flatnonzero(~bad)
        again = np.flatnonzero(bad & untried)
        if not len(again) or not len(good):
            break
        nearest = good[np.abs(again[:, None] - good).argmin(axis=1)]
        start = q[nearest]
        found = solved(problem.of(again), start, FIRST_STEPS)
        after = problem.of(again).costs(found)
        better = after < 0.9 * costs[again]
        q[again[better]], costs[again[better]] = found[better], after[better]
        # One that stays as bad begins again only when a neighbour has changed.
        untried[again] = better
        for k in again[better].tolist():
            untried[max(0, k - 1) : k + 2] = True
    return q


def placed(problem: PostureProblem) -> Array:
    """Neutral postures with a floating base where the markers have it, shape (samples, nq)."""
    robot, tree = problem.tree.robot, problem.tree
    q = np.tile(robot.neutral, (len(problem.seen), 1))
    q[:, problem.columns[0]] = np.clip(
        q[:, problem.columns[0]], *(limit[problem.columns[1]] for limit in problem.limits)
    )
    if not robot.has_floating_base:
        return q
    nearness = np.array([0.0 if link == WORLD else FARTHER ** segments_from_base(robot, link) for link in tree.links])
    weights = np.where(problem.weights > 0.0, nearness, 0.0)
    R, p = rigid_motions(tree.positions(q[:1])[0], problem.seen, weights)
    from scipy.spatial.transform import Rotation

    P = robot.joints[0].placement
    turn = P[:3, :3].T @ R @ P[:3, :3]
    q[:, 3:7] = Rotation.from_matrix(turn).as_quat()
    q[:, :3] = (R @ P[:3, 3] + p - P[:3, 3]) @ P[:3, :3]
    return q


def rigid_motions(model: Array, seen: Array, weights: Array) -> tuple[Array, Array]:
    """Rotations, (samples, 3, 3), and shifts [m], (samples, 3), that take points nearest to where they were seen.

    Args:
        model: The points [m], shape (points, 3).
        seen: Where they were seen [m], shape (samples, points, 3).
        weights: Their weights, zero where one was not seen, shape (samples, points).
    """
    total = weights.sum(axis=1, keepdims=True)
    share = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 0.0)
    seen = np.where(share[:, :, None] > 0.0, seen, 0.0)
    from_, to = share @ model, np.einsum("sm,smi->si", share, seen)
    spread = np.einsum("sm,smi,smj->sij", share, seen - to[:, None], model - from_[:, None])
    U, _, Vt = np.linalg.svd(spread)
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]
    R = U @ Vt
    return R, to - np.einsum("sij,sj->si", R, from_)


def segments_from_base(robot: Robot, link: int) -> int:
    """How many bodies are between a link and the base."""
    return sum(1 for k in robot.chain(link) if not robot.links[k].is_virtual) - 1


def between(robot: Robot, rows: NDArray[np.intp], q: Array, wanted: NDArray[np.intp]) -> Array:
    """Positions at wanted samples, interpolated between those of some rows, shape (wanted, nq)."""
    from dynid.logs.quaternions import with_steady_signs

    q = q.copy()
    for joint in robot.independent_joints:
        if joint.kind.has_quaternion:
            q[:, joint.q] = with_steady_signs(q[:, joint.q])
    found = np.column_stack([np.interp(wanted, rows, column) for column in q.T])
    return robot.normalised(found)
