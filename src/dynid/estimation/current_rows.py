"""Rows of logs in units of current, with unknown drive gains and known loads: `C g = W (b + b_load)`.

For each joint and block of time the triangular factor of `[W | C]` is kept, with the currents C of the motors that act
on the joint: all that the estimation of gains needs of a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.decimation import processed_rows
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, TorqueRows, chunks_of


@dataclass(frozen=True, eq=False)
class CarriedLoad:
    """What a log carries, in terms of base parameters.

    Attributes:
        name: Its name.
        known: What its known parameters add to the base parameters, shape (base,).
        free: What one unit of each unknown parameter adds, shape (base, free); these are estimated beside the gains.
        names: Names of the unknown parameters.
    """

    name: str
    known: Array
    free: Array
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CurrentRows:
    """Rows `C g = W (b + b_load)` of one log.

    Attributes:
        base: The base parameters.
        triangles: For each joint and each block of time the triangular factor of `[W | C]`, W over the independent
            columns of the joint, C over the motors that act on it.
        counts: Number of rows, shape (joints, blocks).
        ratios: Joint torque [N m] per unit of motor torque, shape (motors, joints); the identity where currents belong
            to joints.
        lasting: For how many rows errors last; 1 where they are white.
        load: What the log carries; None without a load.
    """

    base: BaseParameters
    triangles: tuple[tuple[Array, ...], ...]
    counts: Array
    ratios: Array
    lasting: float = 1.0
    load: CarriedLoad | None = None

    @cached_property
    def maps(self) -> tuple[tuple[Array, Array], ...]:
        """For each joint P and c of `W_base b = W (P b + c)`, with c from parameters that are known beforehand."""
        rows, n = TorqueRows(self.base.model), len(self.base.names)
        zero, *each = (rows.predictors(self.base.to_standard(b)) for b in (np.zeros(n), *np.eye(n)))
        return tuple((np.column_stack([one[j] - c for one in each]), c) for j, c in enumerate(zero))

    def block(self, joint: int, block: int) -> Rows:
        """The rows of one joint and block of time, as few as their triangle has."""
        return self._expanded(joint, self.triangles[joint][block])

    @cached_property
    def joints(self) -> tuple[Rows, ...]:
        """The same for each joint, of all blocks."""
        whole = (np.asarray(np.linalg.qr(np.concatenate(blocks), mode="r")) for blocks in self.triangles)
        return tuple(self._expanded(j, triangle) for j, triangle in enumerate(whole))

    def _expanded(self, joint: int, triangle: Array) -> Rows:
        (P, c), motors = self.maps[joint], np.flatnonzero(self.ratios[:, joint])
        C = np.zeros((len(triangle), len(self.ratios)))
        C[:, motors] = triangle[:, len(c) :]
        own = triangle[:, : len(c)]
        W, d = own @ P, own @ c
        if self.load is None:
            return Rows(W, W[:, :0], C, d)
        return Rows(W, W @ self.load.free, C, d + W @ self.load.known)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows `C g = W b + F u + d` of one joint: base parameters b, unknown parameters u of the load, known torques d."""

    W: Array
    F: Array
    C: Array
    d: Array


def current_rows(
    log: PreparedLog, base: BaseParameters, size: int, ratios: Array | None = None, load: CarriedLoad | None = None
) -> CurrentRows:
    """Reduce a log whose torques were prepared with torque constants of one.

    Args:
        log: The log, ready for the model.
        base: The base parameters.
        size: Rows of a block of time.
        ratios: As in `CurrentRows`, where motors act on several joints; else each joint has its own current.
        load: What the log carries.
    """
    rows, count = TorqueRows(base.model), base.model.row_count
    N = np.eye(count) if ratios is None else ratios
    motors = [np.flatnonzero(N[:, j]) for j in range(count)]
    passes = max(map(len, motors))
    found: list[list[Array]] = [[] for _ in range(count)]
    counts: list[list[int]] = [[] for _ in range(count)]
    own = [_with_current(log, N, motors, k) if passes > 1 else log.segments for k in range(passes)]
    pieces = (processed_rows(rows, segments, log.processing, size) for segments in own)
    for matrices in zip(*pieces, strict=True):
        for j in range(count):
            columns = [matrices[0][j], *(matrices[k][j][:, -1:] for k in range(1, len(motors[j])))]
            found[j].append(np.asarray(np.linalg.qr(np.concatenate(columns, axis=1), mode="r")))
            counts[j].append(len(columns[0]))
    return CurrentRows(base, tuple(map(tuple, found)), np.array(counts), N, load=load)


def _with_current(log: PreparedLog, N: Array, motors: Sequence[Array], k: int) -> list:
    """Segments whose torques are those that the k-th motor of each joint makes, with a torque constant of one."""
    pick = np.array([own[k] if k < len(own) else own[0] for own in motors])
    inverse = np.linalg.inv(N)
    part = N[pick, range(len(pick))]
    return [replace(chunk, torque=(chunk.torque @ inverse)[:, pick] * part) for chunk in chunks_of(log.segments)]
