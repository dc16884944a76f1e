"""Segment after segment: each motion is designed for what those before it, and existing logs, leave uncertain.

Algorithm 1 of the Figaro thesis; and the block-triangular motions of the power-model paper (chapter IV.B), where the
first joints rest and the others move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.excitation.design import Design, Progress, design
from dynid.excitation.motion import Grid, free_coefficients
from dynid.excitation.problem import ExcitationProblem

ENOUGH = 0.05
"""Segments end when one changes the criterion (for the condition number: its logarithm) by less than this."""


def design_stack(
    problem: ExcitationProblem,
    segments: int,
    *,
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    enough: float = ENOUGH,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Iterator[Design]:
    """Design segments one after the other, each against what is known by then.

    Args:
        problem: The problem of the first segment.
        segments: Number of segments at most.
        time_limit: For all segments together [s].
        starts: As `design`, for each segment.
        seed: As `design`.
        enough: Segments end when one changes the criterion by less than this.
        progress: As `design`.
    """
    before = None
    for k in range(segments):
        found = design(problem, time_limit=time_limit / segments, starts=starts, seed=seed + k, progress=progress)
        yield found
        if before is not None and abs(before - found.value) < enough:
            return
        before = found.value
        problem = with_known(problem, found.matrix)


def design_block_triangular(
    problem: ExcitationProblem,
    posture: Sequence[float | None],
    moving: Sequence[bool] | None = None,
    *,
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Iterator[Design]:
    """Design one motion for each joint: all move, then all but the first, ..., at last only the last one.

    Joints at rest excite less, so each motion is designed together with the information of those before it.

    Args:
        problem: The problem with all joints moving.
        posture: As `free_coefficients`.
        moving: For each joint whether it moves at all; there is no motion for the others. All do when None.
        time_limit: For all motions together [s].
        starts: As `design`, for each motion.
        seed: As `design`.
        progress: As `design`.
    """
    joints = [k for k in range(len(posture)) if moving is None or moving[k]]
    share = time_limit / len(joints)
    for resting, first in enumerate(joints):
        still_moving = [k in joints and k >= first for k in range(len(posture))]
        free = free_coefficients(problem.grid.free.family, posture, still_moving)
        problem = replace(problem, grid=Grid.of(free, len(problem.grid.times)))
        found = design(problem, time_limit=share, starts=starts, seed=seed + resting, progress=progress)
        yield found
        problem = with_known(problem, found.matrix)


def with_known(problem: ExcitationProblem, information: Array) -> ExcitationProblem:
    """The problem once an information matrix, which contains what was known before, is known."""
    values, U = np.linalg.eigh(information)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * U.T
    return replace(problem, information=replace(problem.information, known=factor))
