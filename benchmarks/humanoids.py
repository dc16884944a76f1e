"""Legged robots on force sensors: what the ground's wrench identifies, from simulated logs with known truth.

TALOS, iCub and Go1 of `example-robot-data` (a package for development) are simulated in MuJoCo with their feet held by
force sensors (`tests/floating_truth.py`). Links are 15 % off the file at random. Logs have noise of 1 N and 0.3 N m per
channel and foot at 1 kHz, and encoders of 2^14 counts. Humanoids have no torques of joints: they swing on both feet and
on each, and hold postures. Go1 swings one leg after the other while its base is held by what nobody measures, then
stands; it has torques of joints (0.1 N m), forces at its feet and motion capture.

Figures are of unseen motions and of 50 unseen postures, on all feet. "direct" is plain least squares
(`benchmarks/ground_wrench.py`).

Run it: python -m benchmarks.humanoids [--robot talos] [--seeds 1 2 3] [--one-stance] [--offsets] [--motion FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from tests.floating_motions import StandingMotion, along, leg_by_leg, postures, swinging
from tests.floating_robots import GO1, ICUB, SOLO, TALOS, LeggedRobot
from tests.floating_scores import score, torque_error, unseen_postures
from tests.floating_sensors import measured, sensor_offsets
from tests.floating_simulation import Run, residual, simulate
from tests.floating_truth import true_joints, true_parameters

from benchmarks.ground_wrench import direct
from dynid import DynamicModel, Log, identify
from dynid.arrays import Array

ROBOTS = {"talos": TALOS, "icub": ICUB, "go1": GO1, "solo12": SOLO}


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a robot's truth, with its motions.

    Attributes:
        legged: The robot.
        seed: Number of the draw.
        swing: Length of the motion on all feet [s], and of those on each foot, or of each leg, together.
        held: Number of postures that are held on both feet, by humanoids.
        designed: NPZ file of a motion that was designed on all feet, instead: `t` [s], `q` with the pose of the base.
        has_offsets: Whether force sensors in soles have offsets.
    """

    legged: LeggedRobot
    seed: int
    swing: float = 60.0
    held: int = 16
    designed: Path | None = None
    has_offsets: bool = False

    @cached_property
    def parameters(self) -> Array:
        """True links."""
        return true_parameters(self.legged.robot, self.seed)

    @cached_property
    def joints(self) -> Array:
        """Their true friction and motor inertia."""
        return true_joints(self.legged, self.seed)

    @cached_property
    def motions(self) -> tuple[StandingMotion, ...]:
        """What it is identified from."""
        legged, each = self.legged, self.swing / len(self.legged.feet)
        if self.designed is not None:
            with np.load(self.designed) as arrays:
                return (along(legged, arrays["t"], arrays["q"], legged.feet),)
        if legged.is_pointed:
            return leg_by_leg(legged, each, self.seed), swinging(legged, self.swing, self.seed, fastest=1.0)
        return (
            swinging(legged, self.swing, self.seed),
            *(swinging(legged, each, self.seed, (foot,)) for foot in legged.feet),
            postures(legged, self.held, self.seed),
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """What the robot did along them."""
        return tuple(simulate(self.legged, self.parameters, self.joints, motion) for motion in self.motions)

    @cached_property
    def logs(self) -> tuple[Log, ...]:
        """What was logged of them."""
        offsets = sensor_offsets(self.legged, self.seed) if self.has_offsets else None
        both = zip(self.runs, self.motions, strict=True)
        return tuple(measured(run, motion, 100 * self.seed + k, offsets) for k, (run, motion) in enumerate(both))

    @cached_property
    def unseen(self) -> Run:
        """An unseen motion."""
        return simulate(self.legged, self.parameters, self.joints, swinging(self.legged, 30.0, self.seed + 1000))

    @cached_property
    def unseen_postures(self) -> Array:
        """Fifty unseen postures."""
        return unseen_postures(postures(self.legged, 50, self.seed + 1000))

    @cached_property
    def rough_joints(self) -> Array:
        """Friction and motor inertia as one might guess them, shape (3, joints)."""
        rough = [self.legged.viscous, self.legged.coulomb, self.legged.armature]
        return np.outer(rough, np.ones(self.legged.robot.nv - 6))


def found_by_dynid(draw: Draw, logs: Sequence[Log]) -> tuple[Array, Array]:
    """Physically consistent links; friction and motor inertia of the joints (3, joints), rough ones without torques."""
    terms = ("viscous", "coulomb", "armature") if draw.legged.is_pointed else ()
    terms = (":".join(["contact_offset", *draw.legged.feet]),) if draw.has_offsets else terms
    result = identify(draw.legged.robot, logs, terms=terms)
    assert result.physical is not None
    values = np.array([result.physical.values[name] for name in DynamicModel(draw.legged.robot, terms).names])
    size = len(draw.parameters)
    return values[:size], values[size:].reshape(len(terms), -1) if draw.legged.is_pointed else draw.rough_joints


def shown(draw: Draw, name: str, links: Array, joints: Array, seconds: float | None = None) -> str:
    """A line of figures."""
    figures = score(draw.legged.robot, links, draw.parameters, draw.unseen_postures, draw.unseen)
    line = (
        f"  {name:16s} centre of mass {1e3 * figures.centre:6.2f} mm (worst {1e3 * figures.worst_centre:5.2f})   "
        f"wrench {100 * figures.wrench:5.2f} % ({figures.force:5.2f} N, {figures.torque:5.2f} N m)   "
        f"mass {100 * figures.mass:6.3f} %   not consistent {figures.impossible:2d}"
    )
    if draw.legged.is_pointed:
        line += f"   torques {100 * torque_error(draw.legged, links, joints, draw.unseen):5.2f} %"
        off = np.sqrt(np.mean((joints / draw.joints - 1.0) ** 2, axis=1))
        line += "   fv {:.1f} %, fs {:.1f} %, Ia {:.1f} %".format(*(100 * off))
    return line if seconds is None else f"{line}   {seconds:.0f} s"


def show(draw: Draw, one_stance: bool) -> None:
    """Print the figures of a draw."""
    legged = draw.legged
    lengths = " + ".join(f"{run.time[-1]:.0f} s" for run in draw.runs)
    force, torque = np.max([residual(legged, draw.parameters, run) for run in draw.runs], axis=0)
    print(f"{legged.name}, draw {draw.seed}: {lengths}, simulated in {sum(run.seconds for run in draw.runs):.1f} s")
    standing = [motion for motion in draw.motions if set(motion.feet) <= set(legged.feet)]
    margins = [m.margin(legged.robot.parameters, np.arange(0.1, m.t[-1] - 0.1, 0.05)) for m in standing]
    print(f"  zero-moment point inside by {1e3 * min(margins):.0f} mm (the file's robot)")
    print(f"  MuJoCo's sensors against Pinocchio's base rows: {force:.1e} N, {torque:.1e} N m")
    print(shown(draw, "file", legged.robot.parameters, draw.rough_joints))
    cases: list[tuple[str, Sequence[StandingMotion], Sequence[Log]]] = [("dynid", draw.motions, draw.logs)]
    if one_stance:
        kept = [k for k, motion in enumerate(draw.motions) if set(motion.feet) == set(legged.feet)]
        cases.append(("dynid, all feet", [draw.motions[k] for k in kept], [draw.logs[k] for k in kept]))
    for name, motions, logs in cases:
        if not legged.is_pointed:
            begun = time.perf_counter()
            links = direct(legged, motions, logs)
            print(shown(draw, name.replace("dynid", "direct"), links, draw.rough_joints, time.perf_counter() - begun))
        begun = time.perf_counter()
        found = found_by_dynid(draw, logs)
        print(shown(draw, name, *found, time.perf_counter() - begun), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", choices=sorted(ROBOTS), nargs="*", default=sorted(ROBOTS))
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--swing", type=float, default=60.0)
    parser.add_argument("--one-stance", action="store_true", help="also identify from logs on all feet alone")
    parser.add_argument("--offsets", action="store_true", help="sensors in soles have offsets of 5 N and 1 N m")
    parser.add_argument("--motion", type=Path, help="NPZ file with t and q (nq columns) of a motion to follow instead")
    given = parser.parse_args()
    for name in given.robot:
        for seed in given.seeds:
            show(
                Draw(ROBOTS[name], seed, given.swing, designed=given.motion, has_offsets=given.offsets),
                given.one_stance,
            )


if __name__ == "__main__":
    main()
