"""Logs on which automatic processing is compared with the best of a grid: real ones, and simulated ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid import Drive, DynamicModel, Log, Robot
from dynid.arrays import Array
from tests.real_logs import real_log
from tests.scoring import CUTOFF, ScoredLog, even_rate, is_even, resting
from tests.truth_logs import Motion, Practice, Sensors, Truth, both, builtin, correlated, random_arm, vibration, white


@dataclass(frozen=True, eq=False)
class Subject:
    """A log to identify from, and what to score the parameters on.

    Attributes:
        robot: The robot.
        terms: Its terms: the true ones, or a sensible list.
        training: The log.
        validation: Rows of another motion.
        drive: The drives.
        joints: Joints that are scored, from 0.
        truth: True standard parameters, shape (parameters,); None where nobody knows them.
        states: True states of the validation motion: q, v, a, each of shape (samples, joints).
        cutoff: Cut-off [Hz] of the yardstick.
    """

    robot: Robot
    terms: tuple[str, ...]
    training: Log
    validation: ScoredLog
    drive: Drive
    joints: tuple[int, ...]
    truth: Array | None = None
    states: tuple[Array, Array, Array] | None = None
    cutoff: float = CUTOFF

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the errors that can be had."""
        names = [f"{torque}{rows}" for torque in self.validation.torques for rows in ("", " moving")]
        if self.truth is None:
            return tuple(names)
        excited = len(self.joints) == self.robot.nv
        return (*names, "truth", *(("parameters",) if excited else ()))

    @property
    def rate(self) -> float:
        """Sampling rate [Hz] of the log."""
        return even_rate(self.training.time)

    @cached_property
    def thresholds(self) -> list[float]:
        """Velocity thresholds [rad/s or m/s] of every point of the grid; none for joints at rest."""
        scored = ScoredLog.of(self.training, DynamicModel(self.robot, self.terms), self.drive, self.cutoff)
        return np.where(resting(scored.q), 0.0, scored.thresholds).tolist()

    def grid_processing(self, cutoff: float, filters_torque: bool) -> dict[str, object]:
        """Processing of a point of the grid, completely stated."""
        return {
            "lowpass": cutoff,
            "torque_lowpass": cutoff if filters_torque else "none",
            "trim": min(round(3.5 * self.rate / cutoff), len(self.training) // 8),
            "velocity_threshold": self.thresholds,
            **({} if is_even(self.training.time) else {"resample": self.rate}),
        }


Case = Callable[[int], Subject]
"""The subject of a seed; real logs have one only."""


def simulated(practice: Practice, cutoff: float = CUTOFF) -> Case:
    """Logs of a simulated robot: motion, noise and validation motion change with the seed."""

    def subject(seed: int) -> Subject:
        truth = practice.truth
        other = practice.log(1000 + seed)
        validation = ScoredLog.of(other, truth.model, None, cutoff, lambda t: practice.states(t, 1000 + seed))
        t = np.arange(0.0, practice.motion.seconds, max(0.02, practice.motion.seconds / 2000))
        return Subject(
            robot=truth.robot,
            terms=truth.terms,
            training=practice.log(seed),
            validation=validation,
            drive=Drive(),
            joints=tuple(j for j in range(truth.robot.nv) if j not in practice.motion.still),
            truth=truth.parameters,
            states=practice.states(t, 1000 + seed),
            cutoff=cutoff,
        )

    return subject


def real(name: str, terms: tuple[str, ...], velocities: bool = True) -> Case:
    """One of the real logs."""

    def subject(_: int) -> Subject:
        found = real_log(name)
        model = DynamicModel(found.robot, terms)
        drive = found.experiment.drive
        validation = ScoredLog.of(found.validation, model, drive, found.cutoff)
        silent = np.mean(found.training.torque == 0.0, axis=0) > 0.5
        joints = tuple(j for j in range(found.robot.nv) if not silent[j])
        training = found.training if velocities else replace(found.training, velocity=None)
        return Subject(found.robot, terms, training, validation, drive, joints, cutoff=found.cutoff)

    return subject


VCO = ("viscous", "coulomb", "offset")
VCOA = (*VCO, "armature")
UR5, SPATIAL = builtin("ur5"), builtin("spatial_3r")
PANDA, LWR = builtin("panda", *VCO), builtin("lwr4")
TX40 = builtin("tx40", *VCOA)
ARMS = [Truth(random_arm(seed, 3 + seed % 3), VCO) for seed in range(6)]
NOISY = white(0.03)
DEFAULT, SLOW, FAST = Motion(), Motion(60.0, 0.02, (1, 2, 3, 5)), Motion(12.0, 0.6, (1, 2, 3, 5), size=0.4)
REST, BARELY = replace(DEFAULT, resting=(1, 3)), replace(DEFAULT, resting=(0, 4), drift=0.03)

SIMULATED: dict[str, Case] = {
    "exact": simulated(Practice(ARMS[0], DEFAULT, Sensors(200))),
    "white_1000hz": simulated(Practice(UR5, DEFAULT, Sensors(1000, white(2e-5), torque=NOISY))),
    "white_30hz": simulated(Practice(SPATIAL, DEFAULT, Sensors(30, white(5e-4), torque=NOISY))),
    "quantised_fine_500hz": simulated(Practice(PANDA, DEFAULT, Sensors(500, step=2e-5, torque=NOISY))),
    "quantised_125hz": simulated(Practice(UR5, DEFAULT, Sensors(125, step=2e-4, torque=NOISY))),
    "quantised_coarse_100hz": simulated(Practice(ARMS[1], DEFAULT, Sensors(100, step=1e-3, torque=NOISY))),
    "quantised_coarse_50hz": simulated(Practice(TX40, DEFAULT, Sensors(50, step=1.5e-3, torque=NOISY))),
    "slow_jitter_30hz": simulated(Practice(UR5, SLOW, Sensors(30, correlated(1e-3, 0.05), torque=NOISY))),
    "slow_jitter_100hz": simulated(Practice(ARMS[2], SLOW, Sensors(100, correlated(5e-4, 0.03), torque=NOISY))),
    "correlated_250hz": simulated(Practice(LWR, DEFAULT, Sensors(250, correlated(3e-4, 0.05), torque=NOISY))),
    "correlated_slowly_50hz": simulated(Practice(ARMS[3], DEFAULT, Sensors(50, correlated(1e-3, 0.5), torque=NOISY))),
    "wobble_100hz": simulated(
        Practice(UR5, DEFAULT, Sensors(100, both(vibration(3e-4, 8.0), white(1e-4)), torque=vibration(0.1, 8.0)))
    ),
    "vibrating_torque_50hz": simulated(
        Practice(UR5, DEFAULT, Sensors(50, white(1e-4), torque=both(vibration(0.3, 7.0), NOISY)))
    ),
    "vibrating_torque_250hz": simulated(
        Practice(ARMS[4], DEFAULT, Sensors(250, white(5e-5), torque=both(vibration(0.4, 6.0, 2.0), NOISY)))
    ),
    "coloured_torque_125hz": simulated(Practice(UR5, DEFAULT, Sensors(125, white(1e-4), torque=correlated(0.1, 0.1)))),
    "resting_100hz": simulated(Practice(ARMS[2], REST, Sensors(100, white(1e-4), torque=NOISY))),
    "resting_quantised_250hz": simulated(Practice(LWR, REST, Sensors(250, white(2e-4), 1e-4, torque=NOISY))),
    "barely_moving_100hz": simulated(Practice(UR5, BARELY, Sensors(100, white(1e-4), torque=NOISY))),
    "barely_moving_250hz": simulated(Practice(LWR, BARELY, Sensors(250, correlated(2e-4, 0.02), torque=NOISY))),
    "good_velocity_100hz": simulated(Practice(UR5, DEFAULT, Sensors(100, step=1e-3, torque=NOISY, velocity="exact"))),
    "good_velocity_slow_30hz": simulated(
        Practice(ARMS[5], SLOW, Sensors(30, correlated(1e-3, 0.05), torque=NOISY, velocity="exact"))
    ),
    "coarse_velocity_125hz": simulated(
        Practice(UR5, DEFAULT, Sensors(125, white(5e-5), torque=NOISY, velocity="coarse"))
    ),
    "late_velocity_100hz": simulated(
        Practice(ARMS[1], DEFAULT, Sensors(100, white(1e-4), torque=NOISY, velocity="late"))
    ),
    "difference_velocity_100hz": simulated(
        Practice(SPATIAL, DEFAULT, Sensors(100, white(3e-4), torque=NOISY, velocity="differences"))
    ),
    "slow_100hz": simulated(Practice(UR5, SLOW, Sensors(100, white(1e-4), torque=NOISY))),
    "fast_500hz": simulated(Practice(ARMS[0], FAST, Sensors(500, white(1e-4), torque=NOISY)), cutoff=15.0),
    "fast_100hz": simulated(Practice(UR5, FAST, Sensors(100, step=1e-4, torque=NOISY)), cutoff=15.0),
    "uneven_100hz": simulated(Practice(ARMS[3], DEFAULT, Sensors(100, white(1e-4), torque=NOISY, uneven=0.15))),
    "wrong_stamps_250hz": simulated(Practice(UR5, DEFAULT, Sensors(250, white(5e-5), torque=NOISY, stamps=0.1))),
    "dry_friction_125hz": simulated(
        Practice(Truth(random_arm(7, 3), VCO, 0.6), DEFAULT, Sensors(125, white(1e-4), torque=NOISY))
    ),
}

TIAGO_TERMS = tuple(f"{term}:1:2:3:4:5" for term in VCO)
REAL: dict[str, Case] = {
    "tx40": real("tx40", (*VCOA, "coupling")),
    "panda": real("panda", VCO),
    "panda_positions": real("panda", VCO, velocities=False),
    "tiago": real("tiago", TIAGO_TERMS),
    "ur10": real("ur10", VCOA),
    "ur10_positions": real("ur10", VCOA, velocities=False),
    "ur10e": real("ur10e", VCOA),
    "ur10e_positions": real("ur10e", VCOA, velocities=False),
}
CASES = REAL | SIMULATED


def drawn(number: int) -> Case:
    """A simulated log whose robot, rate, motion and sensors are drawn at random: none that was looked at before."""
    rng = np.random.default_rng((number, 31))
    joints = int(rng.integers(2, 6))
    terms = (
        "viscous",
        "coulomb",
        *(("offset",) if rng.random() < 0.5 else ()),
        *(("armature",) if rng.random() < 0.3 else ()),
    )
    truth = Truth(random_arm(500 + number, joints), terms, float(rng.uniform(0.05, 0.4)), seed=number)
    rate = float(rng.choice([30.0, 50.0, 100.0, 125.0, 250.0, 500.0, 1000.0]))
    lowest = float(np.exp(rng.uniform(np.log(0.02), np.log(min(0.5, rate / 200)))))
    seconds = float(np.clip(rng.uniform(1.5, 3.0) / lowest, 12.0, 60.0))
    motion = Motion(seconds, lowest, (1, 2, 3, 5), size=float(rng.uniform(0.4, 1.2)))
    if joints > 2 and rng.random() < 0.25:
        motion = replace(motion, resting=(int(rng.integers(joints)),), drift=0.03)
    size = float(np.exp(rng.uniform(np.log(1e-5), np.log(1e-3))))
    position = (white(size), correlated(size, float(rng.uniform(0.01, 0.3))), vibration(size, 0.2 * rate))[
        rng.integers(3)
    ]
    noise = float(rng.uniform(0.005, 0.05))
    torque = (white(noise), correlated(2 * noise, 0.1), both(white(noise), vibration(5 * noise, min(7.0, 0.2 * rate))))
    sensors = Sensors(
        rate=rate,
        position=position,
        step=float(rng.choice([0.0, 0.0, size, 3 * size])),
        torque=torque[rng.integers(3)],
        velocity=str(rng.choice(["", "", "", "exact", "coarse", "late", "differences"])),
        uneven=float(rng.choice([0.0, 0.0, 0.0, 0.1])),
    )
    return simulated(Practice(truth, motion, sensors), cutoff=float(round(np.clip(50 * lowest, 5.0, 0.3 * rate))))


def case_of(name: str) -> Case:
    """A log by its name: one of `CASES`, or `drawn_NUMBER`."""
    return drawn(int(name.removeprefix("drawn_"))) if name.startswith("drawn_") else CASES[name]
