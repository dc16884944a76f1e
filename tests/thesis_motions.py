"""The motions that the UR5 thesis prints, in its Tables 4.1 and 4.2: what its genetic search found in 218 hours."""

from __future__ import annotations

import math

import numpy as np

from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import fourier_motion

PERIOD = 2 * math.pi / (0.3 * math.pi)

# UR5 thesis, Tables 4.1 and 4.2: a and b of joints 1 to 6, q = sum a sin - b cos.
PRINTED_A = np.array(
    [
        [0.0094, 0.0482, 0.0038, -0.0024, -0.0214],
        [0.5765, -0.0032, -0.0051, -0.0116, 0.1018],
        [0.0435, -0.0250, 0.0174, -0.0023, -0.0074],
        [0.0642, -0.0128, 0.0186, 0.0029, -0.0212],
        [-0.6081, -0.0068, 0.0079, 0.1485, 0.0010],
        [0.6136, -0.0190, -0.1571, -0.0276, 0.0010],
    ]
)
PRINTED_B = np.array(
    [
        [-0.0085, 0.1599, -0.0283, -0.0826, 0.0378],
        [0.1459, -0.0048, -0.0093, 0.0120, -0.0094],
        [0.6786, -0.0274, -0.0145, -0.0734, -0.0106],
        [-1.2397, 0.0079, -0.0352, -0.0082, 0.0662],
        [-0.4490, 0.0036, 0.0078, 0.0059, 0.0108],
        [0.1662, 0.0217, -0.0068, -0.0529, 0.0022],
    ]
)


def printed(joints: slice, periods: int = 1) -> ParametricTrajectory:
    """The motion of some of the six joints."""
    return fourier_motion(PERIOD, np.zeros(6)[joints], -PRINTED_B[joints], PRINTED_A[joints], periods)
