"""Condition number that each family of trajectories reaches for the UR5 in equal time, and TIAGo's stacked splines.

Run with `python -m benchmarks.trajectory_families [SECONDS]`. Limits are those of the robot's file, or assumed; the
period is 10 s. TIAGo is that of `example-robot-data` (a package for development): lift and arm, all else locked.
"""

import math
import sys
import time
from typing import Any

from tests.references import example_robot_file

import dynid
from dynid.excitation import Excitation
from dynid.robot import Robot

CASES: dict[str, dict[str, Any]] = {
    "fourier": {},
    "fourier, 10 harmonics": {"family": "fourier", "harmonics": 10},
    "multisine": {},
    "spline": {},
    "spline of degree 5": {"family": "spline", "degree": 5},
    "b-spline": {},
    "polynomial": {},
    "double-s": {},
    "trapezoid": {},
    "chirp": {},
}

SEGMENTS = 8
"""Segments of TIAGo's design at most."""


def tiago() -> Robot:
    """Lift and arm of TIAGo, all other joints locked."""
    path = example_robot_file("tiago.urdf")
    robot = dynid.load_robot(path)
    wanted = ("torso_lift", "arm_")
    return dynid.load_robot(path, lock=[j.name for j in robot.joints if not j.name.startswith(wanted)])


def stacked(seconds: float) -> Excitation:
    """Cubic splines one after the other, until the condition number falls by less than 5 %."""
    return dynid.excite(tiago(), time_limit=seconds, segments=SEGMENTS, family="spline", waypoints=8, period=5.0)


def main() -> None:
    """Print both tables."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print("| family | free coefficients of a joint | condition number | of limits used | starts |")
    print("| --- | --- | --- | --- | --- |")
    for name, options in CASES.items():
        stated: dict[str, Any] = {"family": name} | options
        found = dynid.excite("builtin:ur5", time_limit=seconds, **stated)
        design = found.designs[0]
        used = max(check.used for check in design.checks)
        sizes = design.problem.grid.free.sizes
        print(f"| {name} | {sizes[0]} | {found.condition_number:.1f} | {used:.1%} | {design.starts} |", flush=True)
    begin = time.monotonic()
    found = stacked(4.0 * seconds)
    values = " -> ".join(f"{math.exp(part.value):.0f}" for part in found.designs)
    print(f"\nTIAGo, cubic splines of 5 s, stacked: {values} in {time.monotonic() - begin:.0f} s; {found}")


if __name__ == "__main__":
    main()
