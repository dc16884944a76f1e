"""Channels of force plates to a wrench and a pose, for the types 1 to 4 of C3D files.

Corners are those of the quadrants +x +y, -x +y, -x -y and +x -y of the plate's frame, whose z axis usually points into
the ground. The wrench is about the centre of the surface, along the axes of the plate; its sign is the file's.
"""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.robot import pose

CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6}
"""How many channels a plate of each type has: 1 Fx Fy Fz Px Py Mz, 2 Fx Fy Fz Mx My Mz, 3 Fx12 Fx34 Fy14 Fy23 Fz1 Fz2
Fz3 Fz4, 4 as 2 with a calibration matrix."""


LEAST_FORCE = 2.0
"""Vertical force [N] below which a centre of pressure is none."""


def plate_pose(corners: Array) -> Array | None:
    """The frame of a plate, (4, 4), by its corners [m], shape (4, 3); None where they span no surface."""
    x, y = corners[0] - corners[1], corners[0] - corners[3]
    z = np.cross(x, y)
    if not np.linalg.norm(z) > 1e-6 * max(np.linalg.norm(x), np.linalg.norm(y), 1e-3) ** 2:
        return None
    y = np.cross(z, x)
    R = np.column_stack([axis / np.linalg.norm(axis) for axis in (x, y, z)])
    return pose(R, corners.mean(axis=0))


def plate_wrench(kind: int, channels: Array, origin: Array, moment: float, matrix: Array | None) -> Array:
    """The wrench about the centre of a plate's surface, along its axes, shape (samples, 6) [N, N m].

    Args:
        kind: Type of the plate, 1 to 4.
        channels: Its channels in the units of the file, shape (samples, channels).
        origin: FORCE_PLATFORM:ORIGIN [m]: from the sensors' origin to the centre of the surface; of type 3 the half
            distances of the sensors, and that way.
        moment: Unit of moments [N m], such as 0.001 for N mm; that of places of type 1 is that of lengths.
        matrix: Calibration matrix of type 4, (6, 6): forces and moments by channels.
    """
    if kind == 1:
        force = channels[:, :3]
        # Without load there is no centre of pressure, and files have anything there.
        places = np.where(np.abs(force[:, 2:]) > LEAST_FORCE, channels[:, 3:5] * moment, 0.0)
        at = np.column_stack([places, np.zeros(len(channels))])
        free = np.column_stack([np.zeros((len(channels), 2)), channels[:, 5] * moment])
        return np.hstack([force, np.cross(at, force) + free])
    if kind == 3:
        return _of_corners(channels, origin)
    six = channels if kind == 2 or matrix is None else channels @ matrix.T
    force = six[:, :3]
    return np.hstack([force, moment * six[:, 3:] - np.cross(origin, force)])


def _of_corners(channels: Array, origin: Array) -> Array:
    """The wrench by eight channels of four sensors that measure forces."""
    x12, x34, y14, y23, z1, z2, z3, z4 = channels.T
    a, b, depth = origin
    force = np.column_stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4])
    at_sensors = np.column_stack([b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4), b * (x34 - x12) + a * (y14 - y23)])
    return np.hstack([force, at_sensors - np.cross([0.0, 0.0, depth], force)])


@dataclass(frozen=True)
class PlateChannelThresholds:
    """When a channel counts as saturated."""

    run: int = 5
    """Samples in a row that are equal to the largest or smallest number: noise changes them in a channel that works.
    By judgement."""

    steps: float = 6.0
    """How far the channel must come from within three samples, in steps of its resolution: a peak that is rounded to
    numbers of a converter is reached within less than three steps, where it stays for five samples. By judgement."""

    before: int = 3
    """Samples over which that is looked at. By judgement."""


THRESHOLDS = PlateChannelThresholds()


def saturated_samples(channel: Array) -> int:
    """How many samples of a channel are cut off at the end of its range; zero where none is.

    >>> x = np.sin(np.arange(200) / 10.0)
    >>> saturated_samples(x), saturated_samples(np.minimum(x, 0.9)), saturated_samples(np.round(x, 2))
    (0, 27, 0)
    """
    differences = np.abs(np.diff(channel))
    moving = differences[differences > 0.0]
    if not len(moving):
        return 0
    step, count = float(np.quantile(moving, 0.01)), 0
    for extreme in (channel.max(), channel.min()):
        if extreme == 0.0:
            continue  # plates that are set to zero where nobody stands on them
        edges = np.flatnonzero(np.diff(np.concatenate([[False], channel == extreme, [False]]).astype(np.int8)))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            if last - first < THRESHOLDS.run:
                continue
            around = [k for k in (first - THRESHOLDS.before, last - 1 + THRESHOLDS.before) if 0 <= k < len(channel)]
            if any(abs(channel[k] - extreme) > THRESHOLDS.steps * step for k in around):
                count += int(last - first)
    return count
