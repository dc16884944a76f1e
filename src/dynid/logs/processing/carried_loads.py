"""Loads that a robot carries in a log: their torques taken out, so that what remains is of the robot alone.

A load adds `W_link(q, v, a) p` to the torques, with the columns W_link of its link and its ten parameters p about that
link's joint frame. Both are known, so the rest is exact, whatever is done to the rows afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.settings import Drive
from dynid.model import Chunk, ChunkStore, DynamicModel, RowLayout, Segment
from dynid.robot import SIZE, Load

PIECE_SAMPLES = 20_000
"""Samples whose columns are in memory at a time."""


@dataclass(frozen=True, eq=False)
class LoadColumns:
    """The ten columns of a body on a link, in the rows of the joints that move it.

    Attributes:
        model: The model whose rows they are.
        link: Index of the link.
    """

    model: DynamicModel
    link: int

    @property
    def rows(self) -> tuple[int, ...]:
        """Observed rows of the joints that move the link, ascending."""
        robot = self.model.robot
        acting = {row for at in robot.chain(self.link) for row in range(robot.nv)[robot.joints[at].v]}
        first = self.model.rows.start
        return tuple(sorted(row - first for row in acting if row in range(robot.nv)[self.model.rows]))

    def layout(self) -> RowLayout:
        """Where the columns stand in the rows."""
        robot = self.model.robot
        block = range(SIZE * (at := robot.solid_links.index(self.link)), SIZE * (at + 1))
        first = self.model.rows.start
        return RowLayout.of(robot, (), [block if k - first in self.rows else () for k in range(robot.nv)])

    def torques(self, chunk: Chunk, parameters: Array) -> Array:
        """Torques [N m or N] of a body with ten parameters about the link's joint frame, shape (samples, rows)."""
        layout, found = self.layout(), np.zeros(chunk.torque.shape)
        q, v, a = self.model.robot.states(chunk.q, chunk.v, chunk.a)
        for first in range(0, len(q), PIECE_SAMPLES):
            part = slice(first, first + PIECE_SAMPLES)
            matrices = layout.evaluate(q[part], v[part], a[part])[self.model.rows]
            for row in self.rows:
                found[part, row] = matrices[row] @ parameters
        return found


def without_carried(ready: PreparedLog, carried: Load | str, model: DynamicModel, drive: Drive) -> PreparedLog:
    """A log without the torques of the load that it carries.

    Args:
        ready: The log.
        carried: The load.
        model: The model whose rows its torques are.
        drive: The drives, which must give torques.

    Raises:
        InvalidRequestError: If the load is not known, or torques are in units of current.
        UnknownNameError: If the robot has no body of the load's.
    """
    if isinstance(carried, str):
        raise InvalidRequestError(
            f"a log carries the load '{carried}', which is not known: identify it with dynid payload "
            "(dynid.identify_payload), or state its mass and center_of_mass"
        )
    if drive.torque_constants == "unknown":
        raise InvalidRequestError(
            f"a log carries a load of {carried.mass:.4g} kg, and its torques cannot be taken out of currents while "
            "drive.torque_constants = 'unknown'; state these, or find them with dynid gains"
        )
    link, parameters = carried.of_link(model.robot)
    columns = LoadColumns(model, link)
    segments = tuple(_without(segment, columns, parameters) for segment in ready.segments)
    times = tuple(
        stamps if isinstance(segment, Chunk) else segment.times
        for segment, stamps in zip(segments, ready.times, strict=True)
    )
    return replace(ready, segments=segments, times=times)


def _without(segment: Segment, columns: LoadColumns, parameters: Array) -> Segment:
    if isinstance(segment, Chunk):
        return replace(segment, torque=segment.torque - columns.torques(segment, parameters))

    def parts() -> Iterator[tuple[Chunk, Array]]:
        for first in range(0, len(segment), PIECE_SAMPLES):
            part = slice(first, first + PIECE_SAMPLES)
            chunk = segment[part]
            yield replace(chunk, torque=chunk.torque - columns.torques(chunk, parameters)), segment.stamps(part)

    return ChunkStore().add(parts(), segment.own) or segment
