"""A base that stands still: one pose for all samples, beside the postures of each."""

from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.captures.marker_steps import PostureProblem, solved
from dynid.model import moved

MOST_STEPS = 50
"""Steps of the common pose."""

SMALL_STEP = 1e-12
"""Step [m, rad] of it that ends them."""

DAMPING = 1e-9
"""Damping that is always there, in parts of the largest element: what no marker shows stays."""

SEEN = 1e-5
"""Smallest part of the information on the best seen motion of a base that the least seen one must have."""

BASE = 6
"""Motions of a base."""


def with_still_base(problem: PostureProblem, q: Array, known: Array | None = None) -> tuple[PostureProblem, Array]:
    """Hold the base where it fits best to all samples, or where it is known to be.

    Args:
        problem: The problem of a floating base.
        q: Postures near its solution, shape (samples, nq).
        known: Position of the base, shape (1, 7); estimated when None.
    """
    free = problem.free.copy()
    free[:BASE] = False
    held = replace(problem, free=free)
    q = q.copy()
    q[:, :7] = _mean_base(q) if known is None else known
    q = solved(held, q)
    if known is not None:
        return held, q
    damping, cost = 0.0, float(held.costs(q).sum())
    for _ in range(MOST_STEPS):
        step = _common_step(replace(held, free=problem.free | ~free), free, q, damping)
        tried = q.copy()
        tried[:, :7] = moved(problem.tree.robot, q[:1], np.pad(step, (0, len(free) - BASE))[None])[0, :7]
        tried = solved(held, tried)
        after = float(held.costs(tried).sum())
        if after <= cost:
            q, cost, damping = tried, after, 0.1 * damping
        else:
            damping = max(10.0 * damping, 1e-4)
        if np.abs(step).max() < SMALL_STEP or damping > 1e6:
            break
    return held, q


def base_is_seen(problem: PostureProblem, q: Array) -> bool:
    """Whether markers show where a base is that stands still in all samples, with noise of all of them counted."""
    free = problem.free.copy()
    total, _ = _common_equations(replace(problem, free=free | (np.arange(len(free)) < BASE)), free, q)
    size = np.sqrt(problem.scale[:BASE])
    values = np.linalg.eigvalsh(total / np.outer(size, size))
    return bool(values[0] > SEEN * values[-1])


def _common_step(problem: PostureProblem, free: np.ndarray, q: Array, damping: float) -> Array:
    """Step of the base that is best for all samples, whose joints follow it, shape (6,)."""
    total, side = _common_equations(problem, free, q)
    size = max(float(np.abs(total).max()), 1e-300)
    return np.asarray(np.linalg.solve(total + (DAMPING + damping) * size * np.eye(BASE), side), dtype=np.float64)


def _common_equations(problem: PostureProblem, free: np.ndarray, q: Array) -> tuple[Array, Array]:
    """Normal equations of the base, (6, 6) and (6,), from which those of the joints are eliminated."""
    total, side = np.zeros((BASE, BASE)), np.zeros(BASE)
    joints = np.flatnonzero(free)
    for one, part in problem.parts(q):
        _, H, g = one.equations(part)
        own = H[:, joints[:, None], joints] + 1e-12 * np.eye(len(joints)) if len(joints) else None
        total += H[:, :BASE, :BASE].sum(axis=0)
        side += g[:, :BASE].sum(axis=0)
        if own is not None:
            cross = H[:, joints, :BASE]
            carried = np.linalg.solve(own, np.concatenate([cross, g[:, joints, None]], axis=2))
            total -= np.einsum("sji,sjk->ik", cross, carried[:, :, :BASE])
            side -= np.einsum("sji,sj->i", cross, carried[:, :, BASE])
    return total, side


def _mean_base(q: Array) -> Array:
    """The mean position of the base, shape (7,), of samples (samples, nq)."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(q[:, 3:7]).mean().as_quat()
    return np.concatenate([np.median(q[:, :3], axis=0), turn])
