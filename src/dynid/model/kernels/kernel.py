"""The observation matrix for many samples: what is computed, where it goes, and by whom.

A plan holds a robot as flat tables, and which number goes to which place of an output buffer. It is filled by the
compiled kernel, in threads over samples; where nothing can be compiled, by NumPy, with the same results. A joint's row
has entries only for links that the joint moves.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import TooLargeError
from dynid.machine import available_bytes, cores, parallel
from dynid.model.kernels.vectorised import link_blocks
from dynid.robot import SIZE, WORLD, Joint, JointKind, Robot, skew

logger = logging.getLogger(__name__)

NO_COMPILE = "DYNID_NO_COMPILE"
"""Set this environment variable to compute with NumPy only."""

WORTH_COMPILING = 2000
"""Below this number of samples NumPy is done before Numba is imported."""

_SURELY_FREE = 100_000_000
"""Bytes that are taken without asking the system."""

_FEWEST_SAMPLES = 512
"""Fewest samples that are worth a thread of their own."""

_KINDS = {
    JointKind.REVOLUTE: 0,
    JointKind.CONTINUOUS: 0,
    JointKind.PRISMATIC: 1,
    JointKind.SPHERICAL: 2,
    JointKind.FREE_FLYER: 3,
}

Integers = NDArray[np.int64]


class RowKind(Enum):
    """What a plan's rows are; values as the compiled kernel knows them."""

    TORQUE = None
    IMPULSE = 1
    ENERGY = 2


@dataclass(frozen=True, eq=False)
class RegressorPlan:
    """A robot's regressor, laid out row by row.

    Row r of the dynamics is a matrix of shape (samples, widths[r]); the matrices of all rows lie one after the other in
    one buffer. `places[r][c]` is the column of that matrix for inertial parameter c, or -1 where it is not wanted.

    Attributes:
        robot: The robot.
        widths: Columns of each row's matrix; there may be more than the plan fills.
        places: For each row, where each inertial parameter goes, shape (10 * solid links,).
        form: What the rows are; those of energy are one row, of all links.
    """

    robot: Robot
    widths: tuple[int, ...]
    places: tuple[Integers, ...]
    form: RowKind = RowKind.TORQUE

    @staticmethod
    def dense(robot: Robot) -> RegressorPlan:
        """All columns in every row."""
        width = SIZE * len(robot.solid_links)
        return RegressorPlan(robot, (width,) * robot.nv, (np.arange(width),) * robot.nv)

    def evaluate(self, q: Array, v: Array, a: Array) -> list[Array]:
        """The rows' matrices.

        Args:
            q: Positions, shape (samples, nq), checked by `Robot.states`.
            v: Velocities, shape (samples, nv).
            a: Accelerations, shape (samples, nv).

        Returns:
            For each row a C-ordered array of shape (samples, widths[r]), zero where the plan puts nothing; together
            they are one buffer.
        """
        samples = len(q)
        what = f"the observation matrix of '{self.robot.name}' ({len(self.robot.joints)} moving joints) at"
        advice = "take fewer samples at a time, or lock joints"
        require_memory(f"{what} {samples} samples", 8 * samples * sum(self.widths), advice)
        buffer = np.zeros(samples * sum(self.widths))
        ends = np.cumsum([0, *(samples * width for width in self.widths)])
        rows = [buffer[ends[r] : ends[r + 1]].reshape(samples, width) for r, width in enumerate(self.widths)]
        compiled = kernel_for(samples)
        if compiled is None and self.form is not RowKind.TORQUE:
            raise NotImplementedError(f"rows of {self.form.name.lower()} are computed by `formulations` instead")
        if compiled is None:
            self._fill_with_numpy(buffer, ends, q, v, a)
        else:
            self._fill_in_threads(compiled.fill, buffer, ends, q, v, a)
        return rows

    def _fill_with_numpy(self, buffer: Array, ends: Integers, q: Array, v: Array, a: Array) -> None:
        starts, screws, rows, columns, adds = self.pairs
        first, strides = ends[rows], np.array(self.widths)[rows]
        samples = np.arange(len(q))[:, None, None]
        for link, of_link, values in link_blocks(self.robot, q, v, a):
            pairs = np.arange(starts[link], starts[link + 1])
            for some in (pairs[~adds[pairs]], *pairs[adds[pairs]][:, None]):
                places = (first[some, None] + columns[some]) + samples * strides[some, None]
                wanted = np.broadcast_to(columns[some] >= 0, places.shape)
                found = values[:, np.searchsorted(of_link, screws[some])]
                buffer[places[wanted]] += found[wanted]

    def _fill_in_threads(
        self, fill: Callable[..., None], buffer: Array, ends: Integers, q: Array, v: Array, a: Array
    ) -> None:
        starts, screws, rows, columns, adds = self.pairs
        widths = np.array(self.widths)
        tables = (*robot_tables(self.robot), starts, screws, adds, ends[rows], widths[rows], columns)
        states = tuple(map(_read_only, (q, v, a)))

        def work(piece: tuple[int, int]) -> None:
            fill(*tables, np.array(self.robot.gravity), self.form.value, *states, buffer, *piece)

        parallel(work, _pieces(len(q)))

    @cached_property
    def pairs(self) -> tuple[np.ndarray, ...]:
        """Pairs of a link and a unit motion of a joint below it that give a wanted number.

        For each link where its pairs start; for each pair the unit motion, the row, the ten columns, and whether
        another motion in the same row (that of a mimic joint) has written there before.
        """
        robot, solid = self.robot, self.robot.solid_links
        blocks = {i: SIZE * block for block, i in enumerate(solid)}
        places = np.array(self.places)
        starts, screws, rows, columns, adds = [0], [], [], [], []
        none = np.zeros(0, dtype=np.int64)
        below: dict[int, tuple[Integers, Integers]] = {WORLD: (none, none)}
        first = 0
        for i, joint in enumerate(robot.joints):
            own = np.arange(joint.kind.nv), np.arange(joint.v.start, joint.v.stop)
            below[i] = np.append(first + own[0], below[joint.parent][0]), np.append(own[1], below[joint.parent][1])
            first += joint.kind.nv
            of_link, in_rows = below[i] if self.form is not RowKind.ENERGY else np.zeros((2, 1), dtype=np.int64)
            found = places[in_rows, blocks[i] : blocks[i] + SIZE] if i in blocks else np.zeros((0, SIZE), np.int64)
            wanted = np.flatnonzero((found >= 0).any(axis=1))
            again = np.ones(len(wanted), dtype=np.bool_)
            again[np.unique(in_rows[wanted], return_index=True)[1]] = False
            parts = of_link[wanted], in_rows[wanted], found[wanted], again
            for every, of_this in zip((screws, rows, columns, adds), parts, strict=True):
                every.append(of_this)
            starts.append(starts[-1] + len(wanted))
        return (np.array(starts), *map(np.concatenate, (screws, rows, columns, adds)))


def require_memory(what: str, needed: int, advice: str) -> None:
    """Refuse what does not fit into memory.

    Args:
        what: What would have to be computed.
        needed: Memory that it takes [bytes].
        advice: What to try instead.

    Raises:
        TooLargeError: If so much is not free.
    """
    if needed > _SURELY_FREE and needed > (free := available_bytes()):
        raise TooLargeError(what, needed, free, advice)


def stacked_rows(rows: Sequence[Array]) -> Array:
    """Rows' matrices of equal shape as one array (rows, samples, width); no copy if they fill their common buffer."""
    buffer = rows[0].base
    if buffer is not None and buffer.size == rows[0].size * len(rows):
        return buffer.reshape(len(rows), *rows[0].shape)
    return np.stack(rows)


def _read_only(values: Array) -> Array:
    """A view that cannot be written to: the kernel is compiled for that, whatever the user's arrays are."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def _pieces(samples: int) -> list[tuple[int, int]]:
    """Ranges of samples, a few for each thread so that none waits long for another."""
    count = max(1, min(4 * cores(), samples // _FEWEST_SAMPLES))
    edges = np.linspace(0, samples, count + 1).astype(int).tolist()
    return list(pairwise(edges))


@cache
def robot_tables(robot: Robot) -> tuple[np.ndarray, ...]:
    """The robot's joints and their unit motions (screws) as the compiled kernel takes them."""
    joints = robot.joints
    rotation = np.array([joint.placement[:3, :3] for joint in joints])
    axis = np.array([joint.axis for joint in joints])
    turned = rotation @ skew(axis)
    screws = [screw for joint in joints for screw in _screws(joint)]
    return (
        np.array([_KINDS[joint.kind] for joint in joints]),
        np.array([joint.parent for joint in joints]),
        rotation,
        turned,
        turned @ skew(axis),
        np.array([joint.placement[:3, 3] for joint in joints]),
        np.einsum("jik,jk->ji", rotation, axis),
        axis,
        np.array([joint.ratio for joint in joints]),
        np.array([joint.offset for joint in joints]),
        np.array([joint.q.start for joint in joints]),
        np.array([joint.v.start for joint in joints]),
        np.cumsum([0, *(joint.kind.nv for joint in joints)]),
        np.array([direction for direction, _ in screws]),
        np.array([is_linear for _, is_linear in screws]),
    )


def _screws(joint: Joint) -> list[tuple[Array, bool]]:
    """Directions of a joint's unit motions, with a mimic joint's ratio, and whether they are linear."""
    parts = zip(joint.subspace[:3].T, joint.subspace[3:].T, strict=True)
    return [(linear, True) if linear.any() else (angular, False) for linear, angular in parts]


def kernel_for(samples: int) -> ModuleType | None:
    """The compiled functions, where so many samples are worth their loading or they are loaded already."""
    is_loaded = compiled_kernel.cache_info().currsize > 0
    return compiled_kernel() if is_loaded or samples >= WORTH_COMPILING else None


@cache
def compiled_kernel() -> ModuleType | None:
    """The module of compiled functions, or None where they cannot be had; says so when it has to compile."""
    if os.environ.get(NO_COMPILE):
        return None
    try:
        from dynid.model.kernels import compiled
    except Exception as error:  # whatever keeps Numba from working here, NumPy does the work
        logger.warning("Numba cannot be used (%s): regressors are computed with NumPy, some 20 times slower", error)
        return None
    if not compiled.is_cached():
        logger.warning("compiling the regressor kernel: this happens once and takes a few seconds")
    return compiled


def inertial_regressor(robot: Robot, q: object, v: object = None, a: object = None) -> Array:
    """The observation matrix W of the links' inertial parameters.

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv); zero when None.
        a: Accelerations, shape (samples, nv); zero when None. With v and a zero only gravity acts.

    Returns:
        Array of shape (nv, samples, 10 * solid links): row i, sample s gives the torque [N m or N] of row i as
        `W[i, s] @ robot.parameters`. A floating base has its six rows first: force then moment on the base, in the
        base frame. `W.reshape(-1, W.shape[-1])` stacks the rows joint by joint.

    >>> from dynid import load_robot
    >>> robot = load_robot("builtin:pendulum")
    >>> W = inertial_regressor(robot, [[0.5]], a=[[2.0]])
    >>> float((W @ robot.parameters)[0, 0].round(4))  # 24.525 sin(0.5) + 1.6708 * 2
    15.0995
    """
    return stacked_rows(RegressorPlan.dense(robot).evaluate(*robot.states(q, v, a)))


def link_poses(robot: Robot, q: object) -> tuple[Array, Array]:
    """Poses of all links in the world, as `joint_poses`; what stands still is the last, at the index `WORLD`.

    Returns:
        Rotations, shape (joints + 1, samples, 3, 3), and origins [m], shape (joints + 1, samples, 3).
    """
    R, p = joint_poses(robot, q)
    still = np.broadcast_to(np.eye(3), (1, *R.shape[1:]))
    return np.concatenate([R, still]), np.concatenate([p, np.zeros((1, *p.shape[1:]))])


def joint_poses(robot: Robot, q: object) -> tuple[Array, Array]:
    """Poses of all joint frames in the world.

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).

    Returns:
        Rotations, shape (joints, samples, 3, 3), and origins [m], shape (joints, samples, 3).
    """
    q, _, _ = robot.states(q)
    rotations: list[Array] = []
    origins: list[Array] = []
    for joint in robot.joints:
        R, p = joint.move(q)
        if joint.parent != WORLD:
            below = rotations[joint.parent]
            R, p = below @ R, (below @ p[:, :, None])[:, :, 0] + origins[joint.parent]
        rotations.append(R)
        origins.append(p)
    return np.array(rotations), np.array(origins)
