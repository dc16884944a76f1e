"""The Go2 logs without torques: rollouts of held-out logs with published values, and with what dynid identifies.

    DYNID_DATASETS=... python -m benchmarks.commanded_go2 [--quick]

Trained on traj_0 to traj_7, rolled out on traj_8 and traj_9 from the first sample to the last: root mean square over
all joints [mrad]. With and without offset, delay, output error and encoder biases; the published values are those of
`published_joint_dynamics.csv`. `--quick` trains on two logs.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import dynid
from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.logs import Control

DATA = Path(os.environ.get("DYNID_DATASETS", "../shared/datasets")) / "go2"
WHOLE = ("armature", "viscous", "coulomb", "offset")
VARIANTS: tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...] = (
    ("regression, no offset, no delay", WHOLE[:3], {"delay": 0.0, "output_error": False}),
    ("regression, no delay", WHOLE, {"delay": 0.0, "output_error": False}),
    ("regression", WHOLE, {"output_error": False}),
    ("output error, no offset, no delay", WHOLE[:3], {"delay": 0.0, "law": "continuous", "bias": False}),
    ("output error, no offset", WHOLE[:3], {"law": "continuous", "bias": False}),
    ("output error, no delay", WHOLE, {"delay": 0.0, "law": "continuous", "bias": False}),
    ("output error", WHOLE, {"law": "continuous", "bias": False}),
    ("output error, law at 200 Hz", WHOLE, {"law": "sampled", "bias": False}),
    ("output error, encoder biases", WHOLE, {"law": "continuous", "bias": True}),
    ("as it is (law and biases by the logs)", WHOLE, {}),
)


def logs_of(numbers: list[int], robot: dynid.Robot) -> list[dynid.Log]:
    return [dynid.read_log(DATA / f"traj_{k}.pt", robot) for k in numbers]


def published(robot: dynid.Robot, test: list[dynid.Log]) -> tuple[float, float]:
    """Rollouts with the robot file's values, and with the published ones [rad]."""
    model = dynid.DynamicModel(robot, WHOLE[:3])
    with (DATA / "published_joint_dynamics.csv").open(encoding="utf-8") as stream:
        rows = {row["joint"]: row for row in csv.DictReader(stream)}
    names = [joint.name for joint in robot.independent_joints]
    columns = [[float(rows[name][key]) for name in names] for key in ("armature", "damping", "frictionloss")]
    p = np.concatenate([robot.parameters, *columns])
    n = robot.nv
    known = CommandedRobot(model, robot.parameters, {}, tuple(test), Control())
    point = LawPoint(p, 0.0, "continuous", np.ones(n), np.zeros(n))
    return known.rmse(known.of_file(point)), known.rmse(point)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    robot = dynid.load_robot(DATA / "go2.xml", lock=["base"])
    train, test = logs_of([3, 4] if quick else [*range(8)], robot), logs_of([8, 9], robot)
    print("| parameters | held-out rollouts [mrad] | delay [ms] | armature of FL_calf | viscous | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    commands = np.sqrt(np.mean([np.mean((log.position - log.commands.position) ** 2) for log in test]))
    of_file, of_paper = published(robot, test)
    print(f"| the command itself | {1e3 * commands:.1f} | | | | |")
    print(f"| the robot file's own | {1e3 * of_file:.2f} | | | | |")
    print(f"| published | {1e3 * of_paper:.2f} | | 0.0426 | 0.333 | |")
    for name, terms, control in VARIANTS:
        start = time.perf_counter()
        result = dynid.identify(robot, train, terms=terms, control=control)
        seconds = time.perf_counter() - start
        seen, found = result.validate(*test).rollout, result.record.commands
        assert seen is not None
        assert found is not None
        kept = f"{found.regression_seconds:.1f} + {found.output_error_seconds:.1f} (of {seconds:.0f})"
        values = f"{found['Ia3'].value:.4f} | {found['fv3'].value:.3f}"
        print(f"| {name} | {1e3 * seen.rmse:.2f} | {1e3 * found.delay:.2f} | {values} | {kept} |", flush=True)


if __name__ == "__main__":
    main()
