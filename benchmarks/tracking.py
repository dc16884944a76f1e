"""How right tracking errors are that `dynid.track` predicts: `python -m benchmarks.tracking`.

Robots whose links differ from their file at random, and whose friction the model has or has not, are simulated on two
motions, with noise. One log is identified from. The tracking errors that are predicted from the other, and from
stretches of the first alone, are compared with those of the true robot under the same controllers on the same motion.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.first_hours import sums_of_sines
from tests.real_logs import real_log
from tests.references import example_robot_file
from tests.rollouts import TWO_ARMS

import dynid
from benchmarks.link_intervals import different
from benchmarks.marked_tables import with_table
from dynid import DynamicModel, Robot, Tracking
from dynid.errors import InvalidRequestError
from dynid.excitation import Trajectory
from dynid.simulation import simulate_run

ROBOTS = ("ur5", "panda", "z1", "two_arms")
TERMS = ("viscous", "coulomb")
REAL = ("panda", "ur10e", "tx40", "ur10")
STRIBECK = (1.4, 0.1)
"""Breakaway over kinetic friction, and the velocity [rad/s] that takes it away, of friction that the model lacks."""

PAGE = Path(__file__).parents[1] / "docs" / "tracking.md"


@dataclass(frozen=True)
class Draw:
    """A true robot: errors and ratios as predicted, and as they are.

    Attributes:
        predicted: Predicted ratio of tracking errors, file over identified.
        true: The same of the true robot.
        identified: Predicted over true error with the identified model.
        of_file: Predicted over true error with the file's.
    """

    predicted: float
    true: float
    identified: float
    of_file: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first draw")
    parser.add_argument("--noise", type=float, default=35.0, help="signal-to-noise ratio of torques [dB]")
    parser.add_argument("--robots", nargs="*", default=ROBOTS)
    parser.add_argument("--real", action="store_true", help="real logs instead (needs DYNID_DATASETS)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/tracking.md")
    options = parser.parse_args()
    if options.real:
        return _finished("real tracking", [*_real_rows()], write=options.write)
    seeds = range(options.first, options.first + options.draws)
    return _finished("tracking", [*HEAD, *_rows(options.robots, seeds, options.noise)], write=options.write)


def _finished(name: str, rows: list[str], *, write: bool) -> None:
    if write:
        PAGE.write_text(with_table(PAGE.read_text(), name, "\n".join(rows)))


def _real_rows() -> Iterator[str]:
    """Tracking errors on held-out parts of real logs."""
    yield from (
        "| robot | held out | processor time [s] | file over identified | feedback alone over identified "
        "| RMS errors with the identified model [mrad] |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for name in REAL:
        log = real_log(name)
        result = dynid.identify(log.robot, [log.training], log.experiment.terms, drive=log.experiment.drive)
        for kind, logs in (("other log", [log.validation]), ("stretches", [])):
            start = time.process_time()
            tracking = dynid.track(result, *logs)
            seconds = time.process_time() - start
            ratios = [tracking.ratio(of) for of in ("robot_file", "feedback")]
            shown = ["-" if ratio is None else f"{ratio:.3g}" for ratio in ratios]
            errors = ", ".join(f"{1e3 * rms:.2g}" for rms in tracking["identified"].rms)
            row = f"| {name} | {kind}, {tracking.seconds:.3g} s | {seconds:.1f} | {' | '.join(shown)} | {errors} |"
            print(row, flush=True)
            yield row


HEAD = (
    "| robot | friction | held out | true ratio | predicted over true ratio | the same of errors: identified | file "
    "| within a factor of 1.5, 2 |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
)
"""Medians, with the smallest and the largest in parentheses."""


def _rows(robots: list[str], seeds: range, noise: float) -> Iterator[str]:
    print(*HEAD, sep="\n")
    for name in robots:
        robot = robot_of(name)
        for friction in ("in the model", "Stribeck, not in it"):
            found: dict[str, list[Draw]] = {"other log": [], "stretches": []}
            for seed in seeds:
                for kind, one in drawn(robot, seed, noise, lacks=friction != "in the model").items():
                    found[kind].append(one)
            for kind, draws in found.items():
                row = f"| {robot.name} | {friction} | {kind} | {_summary(draws)} |"
                print(row, flush=True)
                yield row


def _summary(draws: list[Draw]) -> str:
    true, ratio = (np.array([getattr(one, key) for one in draws]) for key in ("true", "predicted"))
    columns = [_span(true)]
    columns += [_span(x) for x in (ratio / true, *(np.array([getattr(d, k) for d in draws]) for k in OVER))]
    distance = np.abs(np.log(ratio / true))
    within = [f"{np.count_nonzero(distance <= np.log(factor))}" for factor in (1.5, 2.0)]
    return " | ".join([*columns, f"{', '.join(within)} of {len(draws)}"])


OVER = ("identified", "of_file")


def _span(values: np.ndarray) -> str:
    return f"{np.median(values):.2g} ({values.min():.2g} to {values.max():.2g})"


def robot_of(name: str) -> Robot:
    """A robot by its short name; `two_arms` has branches and a prismatic joint."""
    if name == "two_arms":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "two_arms.xml"
            path.write_text(TWO_ARMS)
            return dynid.load_robot(path)
    if name == "panda":
        return dynid.load_robot(example_robot_file("panda.urdf"), lock={"panda_finger_joint1": 0.0})
    if name == "z1":
        return dynid.load_robot(example_robot_file("z1.urdf"), lock={"jointGripper": 0.0})
    return dynid.load_robot(f"builtin:{name}")


def drawn(robot: Robot, seed: int, noise: float, *, lacks: bool) -> dict[str, Draw]:
    """A robot at random: what is predicted from another log and from stretches, and what is true."""
    rng = np.random.default_rng([seed, 7])
    terms = (*TERMS, *(["armature"] if any(joint.dynamics.armature for joint in robot.independent_joints) else []))
    model = DynamicModel(robot, terms)
    t = np.arange(0.0, 20.0, 0.005)
    motions = [Trajectory(t, *sums_of_sines(robot, rng, t)) for _ in range(2)]
    truth = true_parameters(model, rng, motions[0])
    settings = {
        "parameters": dict(zip(model.names, truth.tolist(), strict=True)),
        "sensors": {"signal_to_noise": noise, "encoder": 1e-5},
        "saturates": False,
        "lead_in": 3.0,
        "log_rate": 500.0,
        "stribeck": STRIBECK if lacks else None,
    }
    runs = [
        simulate_run(robot, motion, terms=terms, settings=settings, seed=10 * seed + k, delay=0.0)
        for k, motion in enumerate(motions)
    ]
    result = dynid.identify(robot, runs[0].log, terms)
    found = {}
    for kind, logs in (("other log", [runs[1].log]), ("stretches", [])):
        with suppress(InvalidRequestError):  # stretches may be too short
            found[kind] = _draw(dynid.track(result, *logs), dynid.track(result, *logs, truth=runs[0].robot))
    return found


def true_parameters(model: DynamicModel, rng: np.random.Generator, motion: Trajectory) -> np.ndarray:
    """Links up to a quarter off the file's, joints up to a half; where it has no friction, 5 to 20 % of the torques."""
    robot = model.robot
    p = np.nan_to_num(model.reference).copy()
    links = [different(robot.links[i].parameters, rng, 0.25) for i in robot.solid_links]
    p[: len(robot.parameters)] = np.concatenate(links)
    plain = DynamicModel(robot).inverse_dynamics(motion.q, motion.v, motion.a, np.concatenate(links))
    for k, parameter in enumerate(model.parameters):
        if parameter.link is None and parameter.joint is not None:
            joint = robot.joint(parameter.joint).v.start
            torque = max(np.abs(plain).mean(axis=0)[joint], 1e-3)
            p[k] = p[k] * rng.uniform(0.5, 1.5) if p[k] else rng.uniform(0.05, 0.2) * torque
    return p


def _draw(predicted: Tracking, true: Tracking) -> Draw:
    ratios = [tracking.ratio("robot_file") or np.nan for tracking in (predicted, true)]
    over = [
        float(np.exp(np.mean(np.log(predicted[name].rms / true[name].rms)))) for name in ("identified", "robot_file")
    ]
    return Draw(*ratios, *over)


if __name__ == "__main__":
    main()
