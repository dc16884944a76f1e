"""Designs with and without collisions: condition number, time, and a check that shares no code with the design.

    python -m benchmarks.collision_free [--robots ur5,panda,xarm7,z1] [--time-limit 60] [--seeds 1]

For each robot a motion is designed without collisions and with them (self-collision and floor, 2 cm), with the same
time limit. The check afterwards is Pinocchio's: its own reading of the URDF file and of the SRDF file, raw meshes
instead of convex hulls, Coal's yes or no at 1 kHz, the way from home to the motion included. Pairs of links: all that
the SRDF file does not excuse, but neighbours and those whose raw meshes touch in nearly all postures. Heights above the
floor come from all corners of all shapes.
"""

from __future__ import annotations

import argparse
import math
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynid

SHARED = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


@dataclass(frozen=True)
class Case:
    """A robot of the example-robot-data package, or a built-in one that is checked as such.

    Attributes:
        robot: What is designed for.
        checked: The URDF file that the check reads.
        srdf: Its SRDF file; None without.
        lock: Joints that are held still.
        turn: Angle [rad] of the checked robot's base about z in that of the design.
        home: Posture from which the motion is approached.
    """

    robot: str
    checked: str
    srdf: str | None
    lock: tuple[str, ...]
    home: tuple[float, ...]
    turn: float = 0.0


UR5, PANDA = "ur_description/urdf/ur5_robot.urdf", "panda_description/urdf/panda.urdf"
PANDA_SRDF, READY = "panda_description/srdf/panda.srdf", (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
UPRIGHT = (0.0, -1.57, 0.0, -1.57, 0.0, 0.0)
CASES = {
    "ur5": Case("builtin:ur5", UR5, None, (), UPRIGHT, math.pi),
    "ur5 (URDF)": Case(UR5, UR5, None, (), UPRIGHT),
    "panda": Case("builtin:panda", PANDA, PANDA_SRDF, (), READY),
    "panda (URDF)": Case(PANDA, PANDA, PANDA_SRDF, ("panda_finger_joint1",), READY),
    "xarm7": Case(
        "xarm_description/urdf/xarm7.urdf",
        "xarm_description/urdf/xarm7.urdf",
        "xarm_description/srdf/xarm7.srdf",
        (),
        (0.0, -0.6, 0.0, 0.9, 0.0, 1.5, 0.0),
    ),
    "z1": Case(
        "z1_description/urdf/z1.urdf",
        "z1_description/urdf/z1.urdf",
        "z1_description/srdf/z1.srdf",
        ("jointGripper",),
        (0.0, 1.5, -1.0, -0.54, 0.0, 0.0),
    ),
}


class Checker:
    """Pinocchio's answer whether a robot touches itself or the floor."""

    def __init__(self, case: Case) -> None:
        import pinocchio as pin

        self.pin, path = pin, SHARED / case.checked
        self.model = pin.buildModelFromUrdf(str(path))
        folders = [str(SHARED.parents[1])]
        self.shapes = pin.buildGeomFromUrdf(self.model, str(path), pin.GeometryType.COLLISION, package_dirs=folders)
        self.shapes.addAllCollisionPairs()
        self.data = self.model.createData()
        if case.srdf is not None:
            pin.removeCollisionPairs(self.model, self.shapes, str(SHARED / case.srdf))
        self._remove_neighbours_and_touching()
        self.placed = pin.GeometryData(self.shapes)
        self.corners = [_corners(one.geometry) for one in self.shapes.geometryObjects]

    def _remove_neighbours_and_touching(self) -> None:
        pin, shapes = self.pin, self.shapes
        placed = pin.GeometryData(shapes)
        touching = np.zeros(len(shapes.collisionPairs))
        rng, count = np.random.default_rng(0), 100
        for _ in range(count):
            q = rng.uniform(self.model.lowerPositionLimit, self.model.upperPositionLimit)
            pin.computeCollisions(self.model, self.data, shapes, placed, q, False)
            touching += [result.isCollision() for result in placed.collisionResults]
        pairs = [(pair.first, pair.second) for pair in shapes.collisionPairs]
        for pair, share in zip(pairs, touching / count, strict=True):
            first, second = (shapes.geometryObjects[k].parentJoint for k in pair)
            near = first == second or self.model.parents[first] == second or self.model.parents[second] == first
            if near or share > 0.95:
                shapes.removeCollisionPair(self.pin.CollisionPair(*pair))

    def positions(self, q: np.ndarray) -> np.ndarray:
        """With zeros for joints that are held still."""
        return np.concatenate([q, np.zeros(self.model.nq - len(q))])

    def collisions(self, q: np.ndarray) -> int:
        """How many postures, of shape (n, joints), touch."""
        found = 0
        for one in q:
            state = self.positions(one)
            found += self.pin.computeCollisions(self.model, self.data, self.shapes, self.placed, state, True)
        return found

    def lowest(self, q: np.ndarray) -> float:
        """The lowest point [m] of what moves."""
        lowest = np.inf
        for one in q:
            self.pin.updateGeometryPlacements(self.model, self.data, self.shapes, self.placed, self.positions(one))
            for k, shape in enumerate(self.shapes.geometryObjects):
                if shape.parentJoint:
                    T = self.placed.oMg[k]
                    lowest = min(lowest, float((self.corners[k] @ T.rotation[2] + T.translation[2]).min()))
        return lowest


def _corners(shape: Any) -> np.ndarray:
    import coal

    if isinstance(shape, coal.BVHModelBase):
        return np.array(shape.vertices(), dtype=float).reshape(-1, 3)
    shape.computeLocalAABB()
    box = shape.aabb_local
    low, high = np.asarray(box.min_), np.asarray(box.max_)
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default=",".join(CASES))
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    print("| robot | collisions | condition number | starts | s | touches | lowest [m] | nearest pair |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.robots.split(","):
        case = CASES[name]
        source = case.robot if case.robot.startswith("builtin:") else SHARED / case.robot
        robot = dynid.load_robot(source, lock=case.lock)
        checker = Checker(case)
        for seed in range(options.seeds):
            for collisions in (False, True):
                begin = time.monotonic()
                found = dynid.excite(
                    robot, collisions=collisions, home=case.home, time_limit=options.time_limit, seed=seed
                )
                seconds = time.monotonic() - begin
                paths = [found.trajectory, *found.ways(found.designs[0]).values()]
                q = np.concatenate([p.states(np.arange(0.0, p.duration, 1e-3))[0] for p in paths])
                clear = [check for check in found.designs[0].checks if check.name.startswith("clearance of")]
                near = min(clear, key=lambda check: check.reached[0], default=None)
                shown = "" if near is None else f"{near.name.removeprefix('clearance of ')} {near.reached[0]:.3f} m"
                starts = sum(part.starts for part in found.designs)
                touches, lowest = f"{checker.collisions(q)} of {len(q)}", f"{checker.lowest(q[::10]):.2f}"
                cells = ("yes" if collisions else "no", f"{found.condition_number:.1f}", starts, f"{seconds:.0f}")
                print(f"| {name} | {' | '.join(map(str, (*cells, touches, lowest, shown)))} |", flush=True)


if __name__ == "__main__":
    main()
