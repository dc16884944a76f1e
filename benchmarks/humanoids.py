"""Humanoids on force sensors: what the ground's wrench identifies, from simulated logs with known truth.

TALOS and iCub of `example-robot-data` (a package for development) are simulated in MuJoCo with their feet welded to
force sensors (`tests/floating_truth.py`). Their links are 15 % off the file at random. Logs have noise of 1 N and
0.3 N m per channel and foot at 1 kHz, and encoders of 2^14 counts.

Run it: python -m benchmarks.humanoids [--robot talos] [--seeds 3]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import butter, sosfiltfilt
from tests.floating_kinematics import base_velocity, on_base
from tests.floating_motions import StandingMotion, based, postures, swinging
from tests.floating_robots import ICUB, TALOS, LeggedRobot
from tests.floating_scores import Score, score, unseen_postures
from tests.floating_truth import (
    FORCE_NOISE,
    LOG_RATE,
    OFF,
    TORQUE_NOISE,
    Run,
    measured,
    residual,
    simulate,
    true_parameters,
)

from dynid import DynamicModel, Log, identify
from dynid.arrays import Array
from dynid.model.dynamic_model import Observed
from dynid.robot import inertia

ROBOTS = {"talos": TALOS, "icub": ICUB}

CUT_OFF = 3.0
"""Cut-off frequency of the direct estimate [Hz]."""

KEPT = 20
"""Every so many-th sample of a log is a row of the direct estimate."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a robot's truth, with its motions.

    Attributes:
        legged: The robot.
        seed: Number of the draw.
        swing: Length of the motion on both feet, and of those on each foot together [s].
        held: Number of postures that are held on both feet.
    """

    legged: LeggedRobot
    seed: int
    swing: float = 60.0
    held: int = 16

    @cached_property
    def parameters(self) -> Array:
        """True links."""
        return true_parameters(self.legged.robot, self.seed)

    @cached_property
    def motions(self) -> tuple[StandingMotion, ...]:
        """What it is identified from."""
        legged, each = self.legged, self.swing / len(self.legged.feet)
        return (
            swinging(legged, self.swing, self.seed),
            *(swinging(legged, each, self.seed, (foot,)) for foot in legged.feet),
            postures(legged, self.held, self.seed),
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """What the robot did along them."""
        return tuple(simulate(self.legged, self.parameters, motion) for motion in self.motions)

    @cached_property
    def logs(self) -> tuple[Log, ...]:
        """What was logged of them."""
        both = zip(self.runs, self.motions, strict=True)
        return tuple(measured(run, motion.feet, 100 * self.seed + k) for k, (run, motion) in enumerate(both))

    @cached_property
    def unseen(self) -> Run:
        """An unseen motion."""
        return simulate(self.legged, self.parameters, swinging(self.legged, 30.0, self.seed + 1000))

    @cached_property
    def unseen_postures(self) -> Array:
        """Fifty unseen postures."""
        return unseen_postures(postures(self.legged, 50, self.seed + 1000))

    def score(self, found: Array) -> Score:
        """Figures of links."""
        return score(self.legged.robot, found, self.parameters, self.unseen_postures, self.unseen)


# --- a direct estimate ------------------------------------------------------------------------------------------------


def rows(legged: LeggedRobot, motion: StandingMotion, log: Log) -> tuple[Array, Array]:
    """Rows of the base and their right-hand sides, each in units of its standard deviation.

    States are low-passed, forwards and backwards, and the base rests on the first foot. Torques are about the middle
    of the feet, where noise of forces hardly acts.
    """
    sos = butter(4, CUT_OFF, fs=LOG_RATE, output="sos")
    robot, foot = legged.robot, next(iter(motion.feet))
    joints, kept = sosfiltfilt(sos, log.position, axis=0), slice(500, -500, KEPT)
    v = np.gradient(joints, log.time, axis=0)
    q = based(legged, joints, foot, motion.feet[foot])
    v = np.hstack([base_velocity(robot, q, v, foot), v])
    a = np.gradient(v, log.time, axis=0)
    q, v, a = q[kept], v[kept], a[kept]
    W = np.moveaxis(DynamicModel(robot, (), Observed.WRENCH_MOVING).regressor(q, v, a), 0, 1)
    measured = {one.body: one.wrench for one in log.contacts or () if one.wrench is not None}
    y = on_base(robot, q, {body: sosfiltfilt(sos, wrench, axis=0)[kept] for body, wrench in measured.items()})
    middle = np.mean([T[:3, 3] for T in motion.feet.values()], axis=0)
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(q[:, 3:7]).as_matrix()
    move = np.zeros((len(q), 6, 6))
    move[:, :3, :3] = move[:, 3:, 3:] = turn
    move[:, 3:, :3] = inertia.skew(q[:, :3] - middle) @ turn
    apart = np.mean([np.linalg.norm(T[:3, 3] - middle) for T in motion.feet.values()])
    noise = np.repeat([FORCE_NOISE, np.hypot(TORQUE_NOISE, apart * FORCE_NOISE)], 3) * np.sqrt(len(motion.feet))
    noise = noise * np.sqrt(2.0 * CUT_OFF / LOG_RATE * max(1.0, LOG_RATE / KEPT / (2.0 * CUT_OFF)))
    return (move @ W / noise[:, None]).reshape(-1, W.shape[-1]), ((move @ y[..., None])[..., 0] / noise).ravel()


def direct(draw: Draw) -> Array:
    """Least squares with the file as the prior: a standard deviation of 15 % of each link's sizes."""
    p0 = draw.legged.robot.parameters
    sizes = np.concatenate([inertia.sizes(link) for link in p0.reshape(-1, 10)]) * OFF
    R = np.empty((0, len(p0) + 1))
    for motion, log in zip(draw.motions, draw.logs, strict=True):
        W, y = rows(draw.legged, motion, log)
        R = np.linalg.qr(np.vstack([R, np.column_stack([W * sizes, y - W @ p0])]), mode="r")
    prior = np.column_stack([np.eye(len(p0)), np.zeros(len(p0))])
    stacked = np.vstack([R, prior])
    z, *_ = np.linalg.lstsq(stacked[:, :-1], stacked[:, -1], rcond=None)
    return p0 + sizes * z


def shown(name: str, figures: Score) -> str:
    return (
        f"{name:10s} centre of mass {1e3 * figures.centre:7.2f} mm (worst {1e3 * figures.worst_centre:6.2f})   "
        f"wrench {100 * figures.wrench:6.2f} % ({figures.force:6.2f} N, {figures.torque:6.2f} N m)   "
        f"mass {100 * figures.mass:6.3f} %   not consistent {figures.impossible}"
    )


def identified(draw: Draw) -> Array:
    """Physically consistent links by `dynid.identify`."""
    result = identify(draw.legged.robot, draw.logs, terms=[])
    assert result.physical is not None
    values = result.physical.values
    return np.array([values[name] for name in DynamicModel(draw.legged.robot, ()).names])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", choices=sorted(ROBOTS), nargs="*", default=sorted(ROBOTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--swing", type=float, default=60.0)
    given = parser.parse_args()
    for name in given.robot:
        legged = ROBOTS[name]
        for seed in range(1, given.seeds + 1):
            draw = Draw(legged, seed, given.swing)
            lengths = " + ".join(f"{run.time[-1]:.0f} s" for run in draw.runs)
            force, torque = np.max([residual(legged, draw.parameters, run) for run in draw.runs], axis=0)
            print(f"{legged.name}, draw {seed}: {lengths}, simulated in {sum(r.seconds for r in draw.runs):.1f} s")
            margins = [m.margin(legged.robot.parameters, np.arange(0.1, m.t[-1] - 0.1, 0.05)) for m in draw.motions]
            print(f"  zero-moment point inside by {1e3 * min(margins):.0f} mm (the file's robot)")
            print(f"  MuJoCo's sensors against Pinocchio's base rows: {force:.1e} N, {torque:.1e} N m")
            print(" ", shown("file", draw.score(legged.robot.parameters)))
            for what, find in (("direct", direct), ("dynid", identified)):
                started = time.perf_counter()
                found = find(draw)
                print(" ", shown(what, draw.score(found)), f"  {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
