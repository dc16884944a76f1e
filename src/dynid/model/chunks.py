"""Chunks of samples: what passes over a log, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import ShapeError
from dynid.model.dynamic_model import DynamicModel


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some samples of a log.

    Attributes:
        q: Positions [rad or m], shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        torque: What was measured [N m or N], shape (samples, rows): one column for each observed row of the model.
        keep: Which rows of which samples count, shape (samples, rows); all when None.
        temperature: Temperatures of the joints [degrees Celsius], shape (samples, nv); None where nobody needs them.
        weight: Factors that rows of samples are multiplied with, shape (samples, rows); one when None. In least
            squares their squares weigh the squared errors.
        measured: Which torques were measured, shape (samples, rows): rows of others never count, and `keep` leaves them
            out. All when None.
    """

    q: Array
    v: Array
    a: Array
    torque: Array
    keep: Flags | None = None
    weight: Array | None = None
    temperature: Array | None = None
    measured: Flags | None = None

    def __len__(self) -> int:
        return len(self.torque)

    def __getitem__(self, part: slice) -> Chunk:
        """Some of the samples."""
        return replace(self, **{name: None if values is None else values[part] for name, values in vars(self).items()})

    def without_keep(self) -> Chunk:
        """The same samples, of which all count that were measured."""
        return replace(self, keep=self.measured)

    def torque_beside(self, predicted: Array) -> Array:
        """What was measured, and where nothing was, what is predicted: its residual is zero; shape as torque."""
        return self.torque if self.measured is None else np.where(self.measured, self.torque, predicted)


class Samples(Protocol):
    """Samples that can be passed over again and again: every `iter` starts a new pass, and nothing is held."""

    def __iter__(self) -> Iterator[Chunk]:
        """Begin a pass."""
        ...


def split(segments: Sequence[Chunk], parts: int) -> list[list[Chunk]]:
    """Samples cut into parts of equal length, in their order."""
    total = sum(map(len, segments))
    ends = [total * (k + 1) // parts for k in range(parts)]
    found: list[list[Chunk]] = [[] for _ in range(parts)]
    passed = 0
    for segment in segments:
        for k, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
            piece = segment[max(first - passed, 0) : max(last - passed, 0)]
            found[k] += [piece] if len(piece) else []
        passed += len(segment)
    return [part for part in found if part]


def checked(model: DynamicModel, chunk: Chunk) -> Chunk:
    """The chunk with states that the robot can be in, as float arrays.

    Raises:
        ShapeError: If a shape does not fit the model.
        NotAConfigurationError: If a position is not finite or a quaternion is not of unit length.
    """
    q, v, a = model.robot.states(chunk.q, chunk.v, chunk.a)
    rows = model.row_count
    for what in ("torque", "keep", "weight"):
        values = getattr(chunk, what)
        if values is not None and values.shape != (len(q), rows):
            raise ShapeError(what, f"({len(q)}, {rows})", values.shape)
    return replace(chunk, q=q, v=v, a=a, torque=np.asarray(chunk.torque, dtype=float))


def rechunked(chunks: Iterable[Chunk], samples: int) -> Iterator[Chunk]:
    """The same samples in chunks of equal size, but for the last."""
    waiting: list[Chunk] = []
    count = 0
    for chunk in chunks:
        start = 0
        while count + len(chunk) - start >= samples:
            stop = start + samples - count
            yield joined([*waiting, chunk[start:stop]])
            waiting, count, start = [], 0, stop
        if start < len(chunk):
            waiting.append(chunk[start:])
            count += len(chunk) - start
    if waiting:
        yield joined(waiting)


def joined(chunks: list[Chunk]) -> Chunk:
    """Chunks one after the other as one."""
    if len(chunks) == 1:
        return chunks[0]
    keep = weight = measured = None
    if any(chunk.keep is not None for chunk in chunks):
        keep = np.concatenate([_or_ones(chunk.keep, chunk, bool) for chunk in chunks])
    if any(chunk.measured is not None for chunk in chunks):
        measured = np.concatenate([_or_ones(chunk.measured, chunk, bool) for chunk in chunks])
    if any(chunk.weight is not None for chunk in chunks):
        weight = np.concatenate([_or_ones(chunk.weight, chunk, float) for chunk in chunks])
    q, v, a, torque = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("q", "v", "a", "torque"))
    temperatures = [chunk.temperature for chunk in chunks if chunk.temperature is not None]
    temperature = np.concatenate(temperatures) if len(temperatures) == len(chunks) else None
    return Chunk(q, v, a, torque, keep, weight, temperature, measured)


def _or_ones(values: np.ndarray | None, chunk: Chunk, kind: type) -> np.ndarray:
    return np.ones(chunk.torque.shape, dtype=kind) if values is None else values
