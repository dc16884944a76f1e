"""People on a force plate of whom everything is known: Pinocchio's inverse dynamics, and noise of cameras and plates.

Segments are off those of an anthropometric table at random, and stay physically consistent. The person swings on both
feet and on each, and holds postures (`tests/floating_motions.py`), all on one plate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from dynid import Capture, ForcePlate, Robot
from dynid.arrays import Array
from dynid.robot.human.human_body import human_description
from dynid.robot.pinocchio import to_pinocchio
from tests.floating_motions import StandingMotion, postures, swinging
from tests.floating_robots import LeggedRobot, mirrored
from tests.floating_truth import true_parameters, with_parameters
from tests.marker_truth import LABELS, pinocchio_markers, waves

MARKER_RATE, PLATE_RATE = 100.0, 1000.0
"""Sampling rates [Hz]."""

PLATE = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 0.0, 0.0, -0.2], [0.0, 0.0, 1.0, -0.002], [0.0, 0.0, 0.0, 1.0]])
"""Pose of the force plate in the world: it is turned, and its origin is below the floor."""

CORNERS = (PLATE @ np.array([[-0.5, -0.5, 0.002, 1.0], [0.5, -0.5, 0.002, 1.0], [0.5, 0.5, 0.002, 1.0],
                             [-0.5, 0.5, 0.002, 1.0]]).T).T[:, :3]  # fmt: skip


@dataclass(frozen=True)
class Noise:
    """Standard deviations of what is measured, per channel and sample.

    Attributes:
        marker: Of markers [m].
        force: Of the plate's forces [N].
        moment: Of its moments [N m].
        skin: Of the slow motion of markers on the skin [m].
    """

    marker: float = 1e-3
    force: float = 1.0
    moment: float = 0.3
    skin: float = 0.0


EXACT = Noise(0.0, 0.0, 0.0)


def person(sex: str, table: str, height: float = 1.75, mass: float = 70.0) -> LeggedRobot:
    """A body of an anthropometric table as a legged robot, a little crouched, arms a little out."""
    return LeggedRobot(
        f"{sex}, {table}",
        human_description(sex, height, mass, table),
        ("left_sole", "right_sole"),
        mirrored(
            {
                "hip_left_flexion": 0.12,
                "knee_left_flexion": 0.20,
                "ankle_left_flexion": 0.05,
                "shoulder_left_abduction": 0.5,
                "shoulder_left_flexion": 0.2,
                "elbow_left_flexion": 0.6,
                "elbow_left_pronation": 0.8,
            },
            "_left_",
            "_right_",
        ),
        (-0.05, -0.04, 0.10, 0.04),
        pelvis=(0.03, 0.05, 0.05, 0.1, 0.15, 0.2),
        lift=mirrored({"hip_left_flexion": 0.4, "knee_left_flexion": 0.4}, "_left_", "_right_"),
        reach=0.8,
    )


@dataclass(frozen=True, eq=False)
class Person:
    """How a body moves, whatever its segments weigh.

    Attributes:
        legged: The body of the table.
        seconds: Length of the motion on both feet [s]; those on each foot have half of it.
        seed: Number of the draw of the motions.
    """

    legged: LeggedRobot
    seconds: float = 40.0
    seed: int = 1

    @cached_property
    def motions(self) -> tuple[StandingMotion, ...]:
        """What it is identified from."""
        legged, seed = self.legged, self.seed
        return (
            swinging(legged, self.seconds, seed, fastest=0.8),
            *(swinging(legged, self.seconds / 2, seed, (foot,), fastest=0.8) for foot in legged.feet),
            postures(legged, max(2, round(self.seconds / 5)), seed),
        )

    @cached_property
    def unseen(self) -> StandingMotion:
        """A faster motion, that it is not identified from."""
        return swinging(self.legged, 20.0, self.seed + 1000, fastest=1.0)

    @cached_property
    def range_of_motion(self) -> tuple[Array, Array]:
        """Times [s] and positions of a recording in which all joints move, for the calibration of markers."""
        return waves(self.legged.robot, 30.0, self.seed, share=0.45)

    @cached_property
    def markers(self) -> dict[int, Array]:
        """Markers of the motions, the unseen one last, at the rate of cameras."""
        return {}

    def seen_markers(self, motion: StandingMotion) -> tuple[Array, Array]:
        """Times [s] and exact markers [m] of a motion."""
        t = np.arange(0.0, motion.t[-1], 1.0 / MARKER_RATE)
        if id(motion) not in self.markers:
            self.markers[id(motion)] = pinocchio_markers(self.legged.robot, motion.states(t)[0])
        return t, self.markers[id(motion)]


@dataclass(frozen=True, eq=False)
class Subject:
    """One person with true segments, whose total mass is that of the body of the table: a person knows it.

    Attributes:
        person: How the body moves.
        seed: Number of the draw of the segments, and of noise.
        relative: How far segments are off the table's, in units of `inertia.sizes`.
    """

    person: Person
    seed: int
    relative: float = 0.15

    @cached_property
    def parameters(self) -> Array:
        """True segments, shape (10 * solid links,)."""
        table = self.person.legged.robot.parameters
        found = true_parameters(self.person.legged.robot, self.seed, self.relative)
        return found * (table[::10].sum() / found[::10].sum())

    @cached_property
    def robot(self) -> Robot:
        """The true body."""
        return with_parameters(self.person.legged.robot, self.parameters)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(self.parameters[::10].sum())

    def capture(self, motion: StandingMotion, noise: Noise = Noise(), seed: int = 0, name: str = "") -> Capture:
        """What cameras and plate measure of a motion."""
        rng = np.random.default_rng((self.seed, seed, 18))
        t, exact = self.person.seen_markers(motion)
        markers = exact + noise.marker * rng.normal(size=exact.shape)
        if noise.skin:
            markers += noise.skin * skin(motion, t, self.seed)
        fast = np.arange(0.0, motion.t[-1], 1.0 / PLATE_RATE)
        wrench = plate_wrench(self.robot, *motion.states(fast))
        wrench += np.repeat([noise.force, noise.moment], 3) * rng.normal(size=wrench.shape)
        return Capture(t, markers, LABELS, (ForcePlate("plate", fast, wrench, PLATE, CORNERS),), name=name)

    def captures(self, noise: Noise = Noise()) -> tuple[Capture, ...]:
        """Captures of all motions that it is identified from."""
        motions = enumerate(self.person.motions, start=1)
        return tuple(self.capture(motion, noise, k, f"motion {k}") for k, motion in motions)

    def calibration_capture(self, noise: Noise = Noise()) -> Capture:
        """The recording in which all joints move."""
        rng = np.random.default_rng((self.seed, 19))
        t, q = self.person.range_of_motion
        markers = pinocchio_markers(self.person.legged.robot, q)
        return Capture(t, markers + noise.marker * rng.normal(size=markers.shape), LABELS)


def skin(motion: StandingMotion, t: Array, seed: int) -> Array:
    """Motions of markers on the skin with a size of one, in step with joints: shape (samples, markers, 3)."""
    joints = motion.joints(t)
    joints = (joints - joints.mean(axis=0)) / (joints.std(axis=0) + 1e-9)
    mix = np.random.default_rng((seed, 20)).normal(size=(joints.shape[1], 3 * len(LABELS))) / np.sqrt(joints.shape[1])
    return (joints @ mix).reshape(len(t), len(LABELS), 3) / np.sqrt(3.0)


def plate_wrench(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """The wrench of `PLATE` on a robot by Pinocchio's inverse dynamics, along its axes and about its origin."""
    model = to_pinocchio(robot)
    data = model.createData()
    on_base = np.array([pin.rnea(model, data, *state)[:6] for state in zip(q, v, a, strict=True)])
    turn = Rotation.from_quat(q[:, 3:7])
    force, moment = turn.apply(on_base[:, :3]), turn.apply(on_base[:, 3:])
    moment += np.cross(q[:, :3] - PLATE[:3, 3], force)
    return np.hstack([force @ PLATE[:3, :3], moment @ PLATE[:3, :3]])


def rms(errors: Array) -> tuple[float, float]:
    """Root mean squares of forces [N] and of moments [N m] of wrenches, shape (samples, 6)."""
    return tuple(float(np.sqrt(np.mean(errors[:, part] ** 2))) for part in (slice(0, 3), slice(3, 6)))  # type: ignore[return-value]
