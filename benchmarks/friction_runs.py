"""What friction runs promise, and what they give: `python -m benchmarks.friction_runs [DRAWS]`.

A simulated UR5 and Panda with viscous and Coulomb friction, and a UR5 with Stribeck friction whose velocity is known,
follow an optimised motion of 10 s and the friction runs in closed loop; torques have white noise of 1 % of each joint's
range. Root mean squares, over draws and joints, of the errors of friction parameters, relative to the standard
deviations that are promised of the motion alone, beside what is promised of the others.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

import dynid
from dynid.excitation.friction_runs import FrictionStudy
from dynid.excitation.limits.assumed import noise_of
from dynid.excitation.limits.stated import joint_limits
from dynid.robot import Robot

RATE = 125.0

ARMATURE = 0.2
"""Motor inertia of all joints [kg m^2], as geared arms have it: without it, friction of wrists outweighs inertia."""


@dataclass(frozen=True)
class Case:
    """A robot and its friction: terms, true values by symbol as parts of a joint's torque range, and known ones."""

    robot: str
    terms: tuple[str, ...]
    values: dict[str, float]
    known: dict[str, float]


CASES = {
    "UR5": Case("builtin:ur5", ("viscous", "coulomb", "armature"), {"fv": 0.05, "fs": 0.05}, {}),
    "Panda": Case("builtin:panda", ("viscous", "coulomb", "armature"), {"fv": 0.05, "fs": 0.05}, {}),
    "UR5, Stribeck": Case(
        "builtin:ur5",
        ("viscous", "stribeck", "armature"),
        {"fv": 0.05, "fs": 0.05, "fst": 0.03},
        {"vs*": 0.1},
    ),
}


def study(case: Case, draws: int) -> None:
    """Print the lines of one case."""
    robot = geared(dynid.load_robot(case.robot))
    options = {"known_values": case.known, "rate": RATE, "collisions": False}
    runs = dynid.excite(robot, case.terms, friction_runs=True, **options)
    motion = dynid.excite(robot, case.terms, starts=1, **options)
    gains = runs.study
    assert isinstance(gains, FrictionStudy)
    noise = noise_of(runs.settings, robot, joint_limits(runs.settings, robot))
    ranges = {joint.number: 100.0 * one for joint, one in zip(robot.independent_joints, noise, strict=True)}
    true = {f"{symbol}{k}": part * of for symbol, part in case.values.items() for k, of in ranges.items()}
    errors: dict[str, dict[str, list[float]]] = {symbol: {} for symbol in case.values}
    for draw in range(draws):
        truth = {"terms": case.terms, "parameters": true, "known_values": case.known}
        logs = [
            dynid.simulate(robot, one, noise=noise, seed=2 * draw + k, log_rate=RATE, **truth)
            for k, one in enumerate((motion, runs))
        ]
        for key, used in (("motion", logs[:1]), ("both", logs)):
            result = dynid.identify(robot, used, terms=case.terms, known=case.known)
            for row in result.parameters.to_frame().to_dicts():
                symbol = row["name"].rstrip("0123456789")
                if row["name"] in true and symbol in errors:
                    errors[symbol].setdefault(key, []).append(row["value"] - true[row["name"]])
    for symbol in case.values:
        own = [gain for gain in gains.gains if gain.name.rstrip("0123456789") == symbol]
        scale = np.array(
            [gain.motion for gain in own]
        )  # joints differ in size: errors are relative to what is promised
        sizes = {
            k: np.sqrt(np.mean(np.square(np.reshape(one, (draws, -1)) / scale))) for k, one in errors[symbol].items()
        }
        promised = {
            key: np.sqrt(np.mean(np.square([getattr(gain, key) for gain in own] / scale)))
            for key in ("motion", "motion_as_long", "runs", "both")
        }
        print(
            f"| {name_of(case)} | {symbol} | {motion.duration:.3g} s | {gains.duration:.3g} s | "
            f"{sizes['motion']:.2f} | {promised['motion_as_long']:.2f} | {promised['runs']:.2f} | "
            f"{promised['both']:.2f} | {sizes['both']:.2f} |"
        )


def geared(robot: Robot) -> Robot:
    """The robot with motor inertia, which its controller knows, too."""
    joints = (replace(joint, dynamics=replace(joint.dynamics, armature=ARMATURE)) for joint in robot.joints)
    return replace(robot, joints=tuple(joints))


def name_of(case: Case) -> str:
    """The name of a case."""
    return next(name for name, one in CASES.items() if one is case)


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(
        "| robot | parameter | motion | runs | error, motion | motion as long | runs, promised | both, promised "
        "| error, both |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES.values():
        study(case, draws)


if __name__ == "__main__":
    main()
