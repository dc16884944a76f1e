"""Rows of logs in units of current, with unknown drive gains and known loads: `C g = W (b + b_load)`.

For each joint and block of time a triangular factor is kept, with the currents C of the motors that act on the joint:
all that the estimation of gains needs of a log. Where the same motion was made without and with a load, rows of both
at the same time are added and subtracted: what the model does not explain is the same in both, and does not spoil the
difference, which is the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.estimation.factors.decimation import processed_rows
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, Chunk, TorqueRows, chunks_of

ROOT_HALF = float(np.sqrt(0.5))


Block = list[tuple[Array, Flags]]
"""Rows `[W | C]` of each joint in a block of time, and which of them count."""


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
class Rows:
    """Rows `C g = W b + F u + d` of one joint: base parameters b, unknown parameters u of the load, known torques d."""

    W: Array
    F: Array
    C: Array
    d: Array


@dataclass(frozen=True, eq=False)
class CurrentRows:
    """Rows `C g = W b + V b_load` of one log, or of the sum or difference of two.

    Attributes:
        base: The base parameters.
        triangles: For each joint and each block of time the triangular factor of `[W | C]`, or of `[W | V | C]` where
            the load has columns of its own; W and V over the independent columns of the joint, C over the motors that
            act on it.
        counts: Number of rows, shape (joints, blocks).
        ratios: Joint torque [N m] per unit of motor torque, shape (motors, joints); the identity where currents belong
            to joints.
        load: What the log carries; None without a load.
        group: Number of the group of logs whose blocks are of the same times.
    """

    base: BaseParameters
    triangles: tuple[tuple[Array, ...], ...]
    counts: Array
    ratios: Array
    load: CarriedLoad | None = None
    group: int = 0

    @cached_property
    def maps(self) -> tuple[tuple[Array, Array], ...]:
        """For each joint P and c of `W_base b = W (P b + c)`, with c from parameters that are known beforehand."""
        rows, n = TorqueRows(self.base.model), len(self.base.names)
        zero, *each = (rows.predictors(self.base.to_standard(b)) for b in (np.zeros(n), *np.eye(n)))
        return tuple((np.column_stack([one[j] - c for one in each]), c) for j, c in enumerate(zero))

    def combined(self, joint: int, b: Array, u: Array, *, known: bool) -> Array:
        """Values x with `triangle @ x = W b + F u + d`, for the columns of a joint's triangles.

        Args:
            joint: The joint.
            b: Base parameters, shape (base, ...).
            u: Unknown parameters of the load, shape (free, ...).
            known: Whether known torques d are to be in it.
        """
        (P, c), motors = self.maps[joint], np.count_nonzero(self.ratios[:, joint])
        columns = self.triangles[joint][0].shape[1]
        x = np.zeros((columns, *b.shape[1:]))
        x[: len(c)] = P @ b + c if known else P @ b
        if self.load is not None:
            first = 0 if columns == len(c) + motors else len(c)
            x[first : first + len(c)] += P @ (self.load.free @ u + (self.load.known if known else 0.0))
        return x

    @cached_property
    def joints(self) -> tuple[Rows, ...]:
        """The same for each joint, of all blocks."""
        whole = (np.asarray(np.linalg.qr(np.concatenate(blocks), mode="r")) for blocks in self.triangles)
        return tuple(self._expanded(j, triangle) for j, triangle in enumerate(whole))

    def _expanded(self, joint: int, triangle: Array) -> Rows:
        (P, c), motors = self.maps[joint], np.flatnonzero(self.ratios[:, joint])
        n, first = len(c), triangle.shape[1] - len(motors)
        C = np.zeros((len(triangle), len(self.ratios)))
        C[:, motors] = triangle[:, first:]
        W, d = triangle[:, :n] @ P, triangle[:, :n] @ c
        if self.load is None:
            return Rows(W, W[:, :0], C, d)
        V = W if first == n else triangle[:, n:first] @ P
        return Rows(W, V @ self.load.free, C, d + V @ self.load.known)


def current_rows(
    log: PreparedLog,
    base: BaseParameters,
    size: int,
    ratios: Array | None = None,
    load: CarriedLoad | None = None,
    group: int = 0,
) -> CurrentRows:
    """Reduce a log whose torques were prepared with torque constants of one.

    Args:
        log: The log, ready for the model.
        base: The base parameters.
        size: Rows of a block of time.
        ratios: As in `CurrentRows`, where motors act on several joints; else each joint has its own current.
        load: What the log carries.
        group: As in `CurrentRows`.
    """
    N = np.eye(base.model.row_count) if ratios is None else ratios
    return rows_of_blocks(blocks_of_log(log, base, size, N), base, N, load, group)


def rows_of_blocks(
    blocks: Iterable[Block], base: BaseParameters, N: Array, load: CarriedLoad | None, group: int = 0
) -> CurrentRows:
    """Rows of a log that was cut into blocks of time; arguments as `current_rows`."""
    return _reduced(base, [[rows[kept] for rows, kept in block] for block in blocks], N, load, group)


def paired_rows(
    without: PreparedLog,
    loaded: PreparedLog,
    base: BaseParameters,
    size: int,
    load: CarriedLoad,
    ratios: Array | None = None,
    group: int = 0,
) -> tuple[CurrentRows, CurrentRows]:
    """Rows of the sum and of the difference of two logs of one motion, sampled at the same times.

    Args:
        without: The log without the load, ready for the model.
        loaded: The log with it.
        base: The base parameters.
        size: Rows of a block of time.
        load: The load.
        ratios: As in `CurrentRows`.
        group: As in `CurrentRows`.
    """
    N = np.eye(base.model.row_count) if ratios is None else ratios
    one, other = (blocks_of_log(log, base, size, N) for log in (without, loaded))
    return rows_of_pairs(one, other, base, N, load, group)


def rows_of_pairs(
    without: Iterable[Block], loaded: Iterable[Block], base: BaseParameters, N: Array, load: CarriedLoad, group: int = 0
) -> tuple[CurrentRows, CurrentRows]:
    """The same of logs that were cut into blocks of the same times."""
    sums: list[list[Array]] = []
    differences: list[list[Array]] = []
    for one, other in zip(without, loaded, strict=False):
        sums.append([])
        differences.append([])
        for j, ((A, kept), (B, also)) in enumerate(zip(one, other, strict=True)):
            rows = min(len(A), len(B))
            own = kept[:rows] & also[:rows]
            A, B = ROOT_HALF * A[:rows][own], ROOT_HALF * B[:rows][own]
            n = A.shape[1] - np.count_nonzero(N[:, j])
            for sign, into in ((1.0, sums), (-1.0, differences)):
                whole = B + sign * A
                into[-1].append(np.concatenate([whole[:, :n], B[:, :n], whole[:, n:]], axis=1))
    return _reduced(base, sums, N, load, group), _reduced(base, differences, N, load, group)


def _reduced(
    base: BaseParameters, blocks: Sequence[Sequence[Array]], N: Array, load: CarriedLoad | None, group: int
) -> CurrentRows:
    joints = list(zip(*blocks, strict=True))
    triangles = tuple(tuple(np.asarray(np.linalg.qr(rows, mode="r")) for rows in own) for own in joints)
    return CurrentRows(base, triangles, np.array([[len(rows) for rows in own] for own in joints]), N, load, group)


def blocks_of_log(log: PreparedLog, base: BaseParameters, size: int, N: Array) -> Iterator[Block]:
    """Rows `[W | C]` of each joint, a block of time at a time, and which of them count."""
    rows, model, processing = TorqueRows(base.model), base.model, log.processing
    motors = [np.flatnonzero(N[:, j]) for j in range(model.row_count)]
    thresholds = np.broadcast_to(np.asarray(processing.thresholds or 0.0), (model.row_count,))
    measured = [name not in processing.unmeasured for name in model.row_names]
    plain = processing.but(velocity_threshold=None, unmeasured=())
    chunks = list(chunks_of(log.segments))
    count = max(map(len, motors))
    signals = [
        [_of_motor(chunk, N, motors, k) if count > 1 else chunk.torque for chunk in chunks] for k in range(count)
    ]
    signals.append([chunk.v[:, model.rows] for chunk in chunks])
    signals.append([_left_out(chunk) for chunk in chunks])
    own = ([_with(chunk, y) for chunk, y in zip(chunks, signal, strict=True)] for signal in signals)
    for matrices in zip(*(processed_rows(rows, each, plain) for each in own), strict=True):
        whole = []
        for j, (*currents, speed, dropped) in enumerate(zip(*matrices, strict=True)):
            columns = [currents[0], *(currents[k][:, -1:] for k in range(1, len(motors[j])))]
            counts = (np.abs(speed[:, -1]) >= thresholds[j]) & (np.abs(dropped[:, -1]) < 0.01) & measured[j]
            whole.append((np.concatenate(columns, axis=1), counts))
        for first in range(0, len(whole[0][0]), size):
            part = slice(first, first + size)
            yield [(W[part], counts[part]) for W, counts in whole]


def _with(chunk: Chunk, signal: Array) -> Chunk:
    """The chunk with another signal in the place of torques, of which all samples count."""
    return replace(chunk, torque=signal, keep=None, measured=None, weight=None)


def _left_out(chunk: Chunk) -> Array:
    """One where a sample does not count, shape (samples, rows)."""
    return np.zeros(chunk.torque.shape) if chunk.keep is None else (~chunk.keep).astype(float)


def _of_motor(chunk: Chunk, N: Array, motors: Sequence[Indices], k: int) -> Array:
    """Torques that the k-th motor of each joint makes with a torque constant of one, shape (samples, rows)."""
    pick = np.array([own[k] if k < len(own) else own[0] for own in motors])
    return (chunk.torque @ np.linalg.inv(N))[:, pick] * N[pick, range(len(pick))]
