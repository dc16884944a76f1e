"""What is logged of simulated legged robots: force sensors, encoders, torques of joints and motion capture."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import Contact, Log, Stance
from dynid.arrays import Array
from tests.floating_motions import StandingMotion
from tests.floating_robots import LeggedRobot
from tests.floating_simulation import Run

FORCE_NOISE, TORQUE_NOISE = 1.0, 0.3
"""Standard deviations of force sensors [N], [N m], per channel and foot at the sampling rate."""

OFFSETS = (5.0, 1.0)
"""Standard deviations of offsets of force sensors [N], [N m], where they have any."""

JOINT_NOISE = 0.1
"""Standard deviation of the torques of joints [N m], likewise."""

CAPTURE_NOISE = (1e-4, 3e-4)
"""Standard deviations of motion capture [m], [rad], likewise."""

COUNTS = 2**14
"""Counts of encoders in a revolution of the joint."""


def sensor_offsets(legged: LeggedRobot, seed: int) -> dict[str, Array]:
    """Offsets of the force sensor of each foot [N], [N m], shape (6,)."""
    rng = np.random.default_rng((seed, 17))
    return {body: np.repeat(OFFSETS, 3) * rng.normal(size=6) for body in legged.feet}


def measured(run: Run, motion: StandingMotion, seed: int, offsets: dict[str, Array] | None = None) -> Log:
    """What is logged of a run.

    On soles, that is encoders and force sensors, and soles rest where they are. Robots with feet that are points have
    forces at them, torques in their joints, and motion capture. Where the base is held, nobody measures what holds it.

    Args:
        run: What the robot did.
        motion: What it followed.
        seed: Number of the draw of noise.
        offsets: Offsets of the sensors in all soles, which then log in the air, too.
    """
    rng = np.random.default_rng((seed, 14))
    legged, position = motion.legged, counted(run.q[:, 7:])
    noise = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3)
    noisy = {body: wrench + noise * rng.normal(size=wrench.shape) for body, wrench in run.wrenches.items()}
    if not legged.is_pointed:
        for body, offset in (offsets or {}).items():
            in_air = noise * rng.normal(size=(len(run.time), 6))
            noisy[body] = noisy.get(body, in_air) + offset
        contacts = [Contact(body, wrench) for body, wrench in noisy.items()]
        stance = [Stance(body, pose) for body, pose in motion.feet.items()]
        return Log(time=run.time, position=position, stance=stance, contacts=contacts)
    contacts = [Contact(body, w[:, :3] if body in legged.feet else None) for body, w in noisy.items()]
    return Log(
        time=run.time,
        position=position,
        torque=run.torque + JOINT_NOISE * rng.normal(size=run.torque.shape),
        base_pose=captured(run.q[:, :7], rng),
        contacts=contacts,
    )


def captured(pose: Array, rng: np.random.Generator) -> Array:
    """Poses of the base as motion capture sees them."""
    turn = Rotation.from_rotvec(CAPTURE_NOISE[1] * rng.normal(size=(len(pose), 3))) * Rotation.from_quat(pose[:, 3:])
    return np.hstack([pose[:, :3] + CAPTURE_NOISE[0] * rng.normal(size=(len(pose), 3)), turn.as_quat()])


def counted(angles: Array) -> Array:
    """Angles [rad] as encoders count them."""
    count = 2.0 * np.pi / COUNTS
    return count * np.round(angles / count)
