"""Samples of logs on which causes of errors are tried: evenly spread, in blocks of time, a bounded number of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.factors.decimation import counted_rows, kept_around
from dynid.logs import PreparedLog, decimated
from dynid.model import Chunk, DynamicModel
from dynid.robot import Joint

SAMPLES = 1600
"""Samples that causes are tried on."""

FILTER_MARGIN = 20
"""Decimated samples on each side of a block that are filtered with it: the filter has forgotten its ends by then, to a
thousandth."""

BLOCKS = 24
"""Blocks of time that they come in: errors of different blocks are taken as independent."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive samples of a log before they are decimated, and which of the decimated ones are looked at.

    Attributes:
        time: Time stamps [s], shape (samples,).
        torque: Measured torques, shape (samples, rows).
        factors: How rows are decimated; empty where they are not.
        own: Which of the decimated samples are looked at.
        filtered: By how much decimated predictions differ from predictions at decimated states, shape (own, rows).
    """

    time: Array
    torque: Array
    factors: tuple[int, ...]
    own: NDArray[np.intp]
    filtered: Array

    def torque_later(self, seconds: Array) -> Array:
        """Decimated torques as they were so much later [s], for each row, shape (own, rows)."""
        time = self.time if self.factors else self.time[self.own]
        columns = [
            np.interp(np.clip(time + delay, self.time[0], self.time[-1]), self.time, torque)
            for delay, torque in zip(seconds, self.torque.T, strict=True)
        ]
        found = np.stack(columns, axis=1)
        return (decimated(found, self.factors)[self.own] if self.factors else found) - self.filtered


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples to try causes on.

    Attributes:
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        torque: Measured torques, shape (samples, rows).
        torque_rate: Rate of change of the predicted torques [N m/s or N/s], shape (samples, rows).
        load: Predicted torques of the links alone, without friction and motors, and their first and second
            derivatives with time, shape (samples, rows, 3).
        keep: Rows that count, shape (samples, rows).
        block: Block of time that each belongs to, shape (samples,).
        stretches: Where torques at other times are found; empty where they are not known.
        noise: What mending has multiplied the errors of each torque with, shape (rows,).
    """

    q: Array
    v: Array
    a: Array
    torque: Array
    torque_rate: Array
    load: Array
    keep: NDArray[np.bool_]
    block: NDArray[np.intp]
    stretches: tuple[Stretch, ...] = ()
    noise: Array | float = 1.0

    def __len__(self) -> int:
        return len(self.torque)

    def scaled(self, joint: Joint, factor: float) -> "Samples":
        """The same with a joint's motion multiplied."""
        q, v, a = self.q.copy(), self.v.copy(), self.a.copy()
        q[:, joint.q] *= factor
        v[:, joint.v] *= factor
        a[:, joint.v] *= factor
        return replace(self, q=q, v=v, a=a)

    def moved(self, joint: Joint, offset: float) -> "Samples":
        """The same with another zero of a joint's positions [rad or m]."""
        q = self.q.copy()
        q[:, joint.q] += offset
        return replace(self, q=q)

    def at_speed(self, factor: float) -> "Samples":
        """The same with all joints so many times faster."""
        return replace(self, v=factor * self.v, a=factor**2 * self.a)

    def with_torque(self, row: int, factor: float) -> "Samples":
        """The same with a measured torque multiplied."""
        factors = np.ones(self.torque.shape[1])
        factors[row] = factor
        return replace(self, torque=self.torque * factors, noise=self.noise * np.abs(factors))

    def with_torques_swapped(self, first: int, second: int, stds: Array) -> "Samples":
        """The same with two measured torques swapped; errors of each, of standard deviations `stds`, go with it."""
        order = np.arange(self.torque.shape[1])
        order[[first, second]] = second, first
        return replace(
            self,
            torque=self.torque[:, order],
            torque_rate=self.torque_rate[:, order],
            keep=self.keep[:, order],
            noise=self.noise * stds[order] / stds,
        )

    def with_positions_swapped(self, first: Joint, second: Joint) -> "Samples":
        """The same with the positions of two joints swapped."""
        q, v, a = self.q.copy(), self.v.copy(), self.a.copy()
        q[:, [first.q.start, second.q.start]] = self.q[:, [second.q.start, first.q.start]]
        for new, old in ((v, self.v), (a, self.a)):
            new[:, [first.v.start, second.v.start]] = old[:, [second.v.start, first.v.start]]
        return replace(self, q=q, v=v, a=a)

    def every(self, step: int) -> "Samples":
        """Every so many samples, without torques at other times."""
        taken = {name: values[::step] for name, values in vars(self).items() if name not in ("stretches", "noise")}
        return replace(self, **taken, stretches=())

    def later(self, seconds: Array | float) -> "Samples":
        """The same with torques as they were measured so much later [s]: one time, or one for each row."""
        delays = np.broadcast_to(np.asarray(seconds, dtype=float), self.torque.shape[1:])
        return replace(self, torque=np.concatenate([part.torque_later(delays) for part in self.stretches]))


def links_alone(model: DynamicModel, parameters: Array) -> Array:
    """Standard parameters without friction and motors, shape (parameters,)."""
    return np.where([parameter.link is None for parameter in model.parameters], 0.0, parameters)


def bench_samples(model: DynamicModel, logs: Sequence[PreparedLog], parameters: Array) -> Samples:
    """Samples of logs, decimated as rows are.

    Where rows were decimated, predictions were filtered as measurements were, and the model at decimated states says
    something else, most of all where friction steps. The difference is taken off the measured torques, so that errors
    are those of the estimate.

    Args:
        model: The model.
        logs: The logs.
        parameters: Standard parameters, shape (parameters,).
    """
    rows = [-(-len(chunk) // _step(log)) for log in logs for chunk in log.segments]
    edges, at, parts = np.linspace(0, sum(rows), BLOCKS + 1), 0, []
    for log in logs:
        for chunk, time in zip(log.segments, log.times, strict=True):
            step = _step(log)
            count = -(-len(chunk) // step)
            chosen = _chosen(at, count, edges, sum(rows))
            for first, last, own, block in _pieces(chosen, count, decimates=step > 1):
                part = chunk[first * step : last * step]
                stamps = time[first * step : last * step]
                parts.append(_part(model, log, part, stamps, own - first, block, parameters))
            at += count
    found = [np.concatenate(arrays) for arrays in zip(*(part[0] for part in parts), strict=True)]
    return Samples(*found, stretches=tuple(part[1] for part in parts))  # type: ignore[arg-type]


def _step(log: PreparedLog) -> int:
    return int(np.prod(log.processing.decimate or (1,)))


def _chosen(at: int, count: int, edges: Array, total: int) -> list[tuple[NDArray[np.intp], int]]:
    """Rows of a segment that are looked at, by block; the segment begins at row `at` of all."""
    found = []
    wanted = SAMPLES // BLOCKS
    for block in range(BLOCKS):
        first, last = max(int(edges[block]) - at, 0), min(int(edges[block + 1]) - at, count)
        if last <= first:
            continue
        share = max(1, round(wanted * (last - first) / max(total / BLOCKS, 1.0)))
        found.append((np.unique(np.linspace(first, last - 1, min(share, last - first)).astype(np.intp)), block))
    return found


def _pieces(
    chosen: Sequence[tuple[NDArray[np.intp], int]], count: int, decimates: bool
) -> Iterator[tuple[int, int, NDArray[np.intp], NDArray[np.intp]]]:
    """First and last row that are processed at once, the rows that are looked at, and their blocks.

    A short segment is one piece. Of a long one that is decimated, each block is a piece of consecutive rows in the
    middle of it, with margins for the filter.
    """
    if not chosen:
        return
    if not decimates or count <= 2 * SAMPLES:
        own = np.concatenate([rows for rows, _ in chosen])
        yield 0, count, own, np.concatenate([np.full(len(rows), block) for rows, block in chosen])
        return
    for rows, block in chosen:
        middle, size = int(rows[len(rows) // 2]), len(rows)
        begin = min(max(middle - size // 2, 0), count - size)
        own = np.arange(begin, begin + size)
        yield max(begin - FILTER_MARGIN, 0), min(begin + size + FILTER_MARGIN, count), own, np.full(size, block)


def _part(
    model: DynamicModel,
    log: PreparedLog,
    chunk: Chunk,
    time: Array,
    own: NDArray[np.intp],
    block: NDArray[np.intp],
    parameters: Array,
) -> tuple[tuple[Array | NDArray, ...], Stretch]:
    """The chosen samples of a stretch: states, torques, rates, which count, blocks; and the stretch itself."""
    factors = tuple(log.processing.decimate or ())
    step = _step(log)
    states = (chunk.q, chunk.v, chunk.a)
    of_links = links_alone(model, parameters)
    if step > 1:
        period = step * float(np.median(np.diff(time)))
        whole = model.inverse_dynamics(*states, parameters)
        chunk = replace(chunk, torque=chunk.torque_beside(whole))
        wanted = (*states, chunk.torque, whole)
        q, v, a, torque, predicted = (decimated(x, factors) for x in wanted)
        rates = np.gradient(predicted, period, axis=0)[own]
        load = model.inverse_dynamics(q, v, a, of_links)
        slopes = np.gradient(load, period, axis=0)
        loads = [x[own] for x in (load, slopes, np.gradient(slopes, period, axis=0))]
        q, v, a, torque = (x[own] for x in (q, v, a, torque))
        filtered = predicted[own] - model.inverse_dynamics(q, v, a, parameters)
    else:
        q, v, a, torque = (x[own] for x in (*states, chunk.torque))
        filtered = np.zeros_like(torque)
        _, rates, _ = _derivatives(model, chunk, time, own, parameters)
        loads = _derivatives(model, chunk, time, own, of_links)
        factors = ()
    keep = chunk.keep if chunk.keep is None or step == 1 else kept_around(chunk.keep, step)
    keep = counted_rows(model.row_names, log.processing, v[:, model.rows], None if keep is None else keep[own])
    stretch = Stretch(time, chunk.torque, factors, own, filtered)
    return (q, v, a, torque - filtered, rates, np.stack(loads, axis=-1), keep, block), stretch


def _derivatives(
    model: DynamicModel, chunk: Chunk, time: Array, own: NDArray[np.intp], parameters: Array
) -> list[Array]:
    """Predicted torques at some samples, and their first and second derivatives with time, from their neighbours."""
    middle = np.clip(own, 1, len(chunk) - 2)
    behind, here, ahead = (
        model.inverse_dynamics(chunk.q[rows], chunk.v[rows], chunk.a[rows], parameters)
        for rows in (middle - 1, middle, middle + 1)
    )
    step = 0.5 * np.maximum(time[middle + 1] - time[middle - 1], 1e-9)[:, None]
    return [here, (ahead - behind) / (2.0 * step), (ahead - 2.0 * here + behind) / step**2]
