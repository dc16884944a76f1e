"""A person on two force plates with markers: who stands, squats, and lifts one leg after the other, in simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from dynid import Capture, DynamicModel, ForcePlate, Robot, Stance, human
from dynid.arrays import Array
from dynid.logs.floating_body import base_poses
from dynid.logs.processing.signals import eighth_order
from dynid.model import body_pose
from dynid.robot.human.skeleton import marker_rows
from tests.floating_truth import true_parameters, with_parameters

RATE = 100.0
"""Sampling rate of markers [Hz]."""

PLATE_RATE = 1000.0
"""Sampling rate of force plates [Hz]."""

SECONDS = 30.0
"""How long a capture is."""


@dataclass(frozen=True, eq=False)
class Captured:
    """A simulated capture with its truth.

    Attributes:
        robot: The person's model, with the true masses.
        q: Positions of the whole robot at the markers' times, shape (samples, nq).
        wrench: What the ground exerts about the world's origin at the plates' times, shape (plate samples, 6).
        capture: Markers and plates, without noise.
    """

    robot: Robot
    q: Array
    wrench: Array
    capture: Capture

    def noisy(self, seed: int = 0, markers: float = 1e-3, force: float = 1.0, moment: float = 0.3) -> Capture:
        """The capture with noise of markers [m] per coordinate, and of plates [N and N m] per channel."""
        rng = np.random.default_rng(seed)
        places = self.capture.markers + markers * rng.standard_normal(self.capture.markers.shape)
        size = np.array([force] * 3 + [moment] * 3)
        plates = [
            replace(plate, wrench=plate.wrench + size * rng.standard_normal(plate.wrench.shape))
            for plate in self.capture.plates
        ]
        return replace(self.capture, markers=places, plates=tuple(plates))


def step(t: Array, begin: float, end: float) -> Array:
    """From 0 to 1 with continuous accelerations."""
    s = np.clip((t - begin) / (end - begin), 0.0, 1.0)
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s**2))


def bump(t: Array, begin: float, end: float, edge: float = 1.0) -> Array:
    """From 0 to 1 and back."""
    return step(t, begin, begin + edge) - step(t, end - edge, end)


@cache
def captured(
    seed: int = 0, sex: str = "female", height: float = 1.68, mass: float = 62.0, segments: int | None = None
) -> Captured:
    """A person who moves on two plates, with all Plug-in Gait markers; segments of a draw are 15 % off the table's."""
    robot = human(sex=sex, height=height, mass=mass)
    if segments is not None:
        robot = with_parameters(robot, true_parameters(robot, segments))
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    q = _positions(robot, t, seed)
    states = robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2))
    on_base = DynamicModel(robot, observed="wrench_moving").inverse_dynamics(*states)
    R, p = body_pose(robot, "pelvis", q)
    force, moment = (np.einsum("sij,sj->si", R, part) for part in np.split(on_base, 2, axis=1))
    wrench = np.hstack([force, moment + np.cross(p, force)])
    names = tuple(name for name, _, _ in marker_rows())
    markers = np.stack([body_pose(robot, name, q)[1] for name in names], axis=1)
    fast = np.arange(0.0, t[-1], 1.0 / PLATE_RATE)
    wrench = CubicSpline(t, wrench)(fast)
    plates = _plates(robot, t, q, fast, wrench)
    return Captured(robot, q, wrench, Capture(t, markers, names, tuple(plates), name="simulated"))


def _positions(robot: Robot, t: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    q = np.tile(robot.neutral, (len(t), 1))

    def add(name: str, x: Array) -> None:
        q[:, robot.joint(name).q] += x[:, None]

    for joint in robot.joints[1:]:
        if joint.name.split("_")[0] in ("hip", "knee", "ankle"):
            continue
        lower, upper = joint.limits.lower, joint.limits.upper
        size = min(0.3, 0.25 * (upper - lower))
        size *= 0.5 if joint.name.startswith("spine") else 1.0
        middle = 0.5 * np.clip(lower + upper, -0.9, 0.9)
        waves = sum(np.sin(2 * np.pi * rng.uniform(0.1, 0.6) * t + rng.uniform(0, 6.3)) / 2 for _ in range(3))
        add(joint.name, middle + size * np.asarray(waves))
    squat = 0.33 * (bump(t, 1.0, 4.0, 1.5) + bump(t, 4.0, 7.0, 1.5) + bump(t, 26.0, 29.0, 1.5))
    shift = 0.12 * (bump(t, 7.0, 16.0, 1.5) - bump(t, 16.0, 25.0, 1.5))
    for side, sign, begin, end in (("left", 1.0, 18.0, 23.0), ("right", -1.0, 9.0, 14.0)):
        lift = bump(t, begin, end, 1.2)
        swing = lift * np.sin(2 * np.pi * 0.5 * (t - begin))
        add(f"hip_{side}_flexion", squat + 0.5 * lift + 0.3 * swing)
        add(f"knee_{side}_flexion", 2.0 * squat + 0.8 * lift - 0.3 * swing)
        add(f"ankle_{side}_flexion", squat + 0.2 * swing)
        add(f"hip_{side}_abduction", -sign * shift + 0.25 * lift)
        add(f"hip_{side}_rotation", 0.2 * swing)
        add(f"ankle_{side}_inversion", -sign * shift)
    left = base_poses(robot, Stance("left_sole"), q)
    right_sole = _sole(robot, "right_sole", q, left)[0]
    right = base_poses(robot, Stance("right_sole", right_sole), q)
    on_left = (t < 16.0)[:, None]
    q[:, :7] = np.where(on_left, left, right * np.sign(np.sum(left[:, 3:] * right[:, 3:], axis=1))[:, None])
    q[:, :3] = np.where(on_left, left[:, :3], right[:, :3])
    return q


def _sole(robot: Robot, body: str, q: Array, base: Array) -> Array:
    """Poses of a sole, shape (samples, 4, 4)."""
    whole = q.copy()
    whole[:, :7] = base
    R, p = body_pose(robot, body, whole)
    T = np.tile(np.eye(4), (len(q), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = R, p
    return T


def _plates(robot: Robot, t: Array, q: Array, fast: Array, wrench: Array) -> list[ForcePlate]:
    """Two plates, with the left foot on the first: the wrench is divided so that pressure is under the feet."""
    feet = [body_pose(robot, f"{side}_sole", q)[1][0] for side in ("left", "right")]
    _, _, fz, mx, my, _ = wrench.T
    at = np.column_stack([-my / fz, mx / fz])
    share = np.clip((at[:, 1] - feet[1][1]) / (feet[0][1] - feet[1][1]), 0.0, 1.0)
    # What is lifted carries nothing; between, the share is that of the pressure.
    share = np.where((fast > 8.9) & (fast < 14.1), 1.0, np.where((fast > 17.9) & (fast < 23.1), 0.0, share))
    middle = 0.5 * (feet[0] + feet[1])
    plates = []
    for k, part in enumerate((share, 1.0 - share)):
        sign = 1.0 if k == 0 else -1.0
        x, y = np.array([0.0, 0.60]) + middle[0] - 0.22, sign * np.array([0.005, 0.405]) + middle[1]
        # Quadrants +x +y, -x +y, -x -y, +x -y of a frame with x forward, y to the right and z downward.
        low, high = min(y), max(y)
        corners = np.array([[x[1], low, 0.0], [x[0], low, 0.0], [x[0], high, 0.0], [x[1], high, 0.0]])
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = np.diag([1.0, -1.0, -1.0]), corners.mean(axis=0)
        # Both act along the same line as the whole, but for the level of each foot's pressure, and the free moment.
        own = part[:, None] * wrench[:, :3]
        point = np.column_stack([at[:, 0], np.full(len(at), feet[k][1]), np.zeros(len(at))])
        alone = (part == 1.0)[:, None]
        point = np.where(alone, np.column_stack([at, np.zeros(len(at))]), point)
        moment = np.cross(point, own)
        moment[:, 2] += part * (wrench[:, 5] - np.cross(np.column_stack([at, np.zeros(len(at))]), wrench[:, :3])[:, 2])
        about = moment - np.cross(pose[:3, 3], own)
        plates.append(
            ForcePlate(
                f"plate {k + 1}", fast, np.hstack([own, about]) @ np.kron(np.eye(2), pose[:3, :3]), pose, corners
            )
        )
    return plates


def world_wrench(plates: Sequence[ForcePlate]) -> Array:
    """The sum of what plates exert, about the world's origin, shape (plate samples, 6)."""
    total = np.zeros_like(plates[0].wrench)
    for plate in plates:
        force, moment = (part @ plate.pose[:3, :3].T for part in np.split(plate.wrench, 2, axis=1))
        total += np.hstack([force, moment + np.cross(plate.pose[:3, 3], force)])
    return total


def angle_between(one: Array, other: Array) -> float:
    """Largest angle [rad] between two lists of quaternions."""
    return float((Rotation.from_quat(one) * Rotation.from_quat(other).inv()).magnitude().max())
