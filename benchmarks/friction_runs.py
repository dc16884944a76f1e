"""What friction runs promise, and what they give: `python -m benchmarks.friction_runs [DRAWS]`.

A simulated UR5 and Panda with viscous and Coulomb friction, and a UR5 with Stribeck friction whose velocity is known,
follow an optimised motion of 10 s and the friction runs in closed loop; torques have white noise of 1 % of each joint's
range. Root mean squares, over draws and joints, of the errors of friction parameters, relative to those of the motion
alone, beside the ratios that are promised.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import dynid
from dynid.excitation.friction_runs import FrictionStudy
from dynid.excitation.limits.assumed import noise_of
from dynid.excitation.limits.stated import joint_limits

RATE = 125.0


@dataclass(frozen=True)
class Case:
    """A robot and its friction: terms, true values of a joint's parameters by symbol, and known ones."""

    robot: str
    terms: tuple[str, ...]
    values: dict[str, float]
    known: dict[str, float]


CASES = {
    "UR5": Case("builtin:ur5", ("viscous", "coulomb"), {"fv": 2.0, "fs": 3.0}, {}),
    "Panda": Case("builtin:panda", ("viscous", "coulomb"), {"fv": 0.5, "fs": 0.4}, {}),
    "UR5, Stribeck": Case("builtin:ur5", ("viscous", "stribeck"), {"fv": 2.0, "fs": 3.0, "fst": 1.5}, {"vs*": 0.1}),
}


def study(case: Case, draws: int) -> None:
    """Print the lines of one case."""
    robot = dynid.load_robot(case.robot)
    options = {"known_values": case.known, "rate": RATE}
    runs = dynid.excite(robot, case.terms, friction_runs=True, **options)
    motion = dynid.excite(robot, case.terms, starts=1, **options)
    gains = runs.study
    assert isinstance(gains, FrictionStudy)
    noise = noise_of(runs.settings, robot, joint_limits(runs.settings, robot))
    numbers = [joint.number for joint in robot.independent_joints]
    true = {f"{symbol}{number}": value for symbol, value in case.values.items() for number in numbers}
    errors: dict[str, dict[str, list[float]]] = {symbol: {} for symbol in case.values}
    for draw in range(draws):
        logs = [
            dynid.simulate(
                robot, one, terms=case.terms, parameters=true, known_values=case.known, noise=noise, seed=2 * draw + k,
                log_rate=RATE,
            )
            for k, one in enumerate((motion, runs))
        ]  # fmt: skip
        for key, used in (("motion", logs[:1]), ("runs", logs[1:]), ("both", logs)):
            result = dynid.identify(robot, used, terms=case.terms, known=case.known)
            for row in result.parameters.to_frame().to_dicts():
                symbol = row["name"].rstrip("0123456789")
                if row["name"] in true and symbol in errors:
                    errors[symbol].setdefault(key, []).append(row["value"] - true[row["name"]])
    for symbol in case.values:
        own = [gain for gain in gains.gains if gain.name.rstrip("0123456789") == symbol]
        sizes = {key: np.sqrt(np.mean(np.square(values))) for key, values in errors[symbol].items()}
        promised = {
            key: np.sqrt(np.mean([getattr(gain, key) ** 2 for gain in own]))
            for key in ("motion", "motion_as_long", "runs", "both")
        }
        cells = [
            f"{promised[key] / promised['motion']:.2f} | {sizes[key] / sizes['motion']:.2f}" for key in ("runs", "both")
        ]
        print(
            f"| {name_of(case)} | {symbol} | {motion.duration:.3g} s | {gains.duration:.3g} s | "
            f"{promised['motion']:.3g} | {sizes['motion']:.3g} | "
            f"{promised['motion_as_long'] / promised['motion']:.2f} | {' | '.join(cells)} |"
        )


def name_of(case: Case) -> str:
    """The name of a case."""
    return next(name for name, one in CASES.items() if one is case)


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(
        "| robot | parameter | motion | runs | std promised | error | motion as long | runs promised | error "
        "| both promised | error |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES.values():
        study(case, draws)


if __name__ == "__main__":
    main()
