"""The SO-101 by both ways: from its commands as a servo drive, and from currents without sign.

    DYNID_DATASETS=... python -m benchmarks.so101 [--way commands] [--way currents] [--way truncated] [--write]

`examples/so101.toml` and `examples/so101_unsigned.toml` identify from five motions, and their `_validation` files hold
the other three. Commands say what the signs of currents must be, and serve as a check of those that were recovered: a
servo's voltage is kp (command - position), less back-EMF. Gravity torques are compared with those of the robot file in
the postures of the held-out motions, after one common scale. `--write` writes the tables into
`docs/low_cost_arms.md`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tests.datasets import ROOT, example
from tests.public_logs import so101_voltage

import dynid
from benchmarks.marked_tables import with_table
from dynid.arrays import frozen
from dynid.experiment import read_experiment
from dynid.logs import read_source

PAGE = ROOT / "docs/low_cost_arms.md"

LIFTED = ("shoulder_lift", "elbow_flex", "wrist_flex")
"""Joints that gravity loads."""

TINY = 1e-9
"""Speed [rad/s] that has the sign of friction and nothing else."""


def logs_of(name: str) -> list[dynid.Log]:
    """The logs of an example."""
    file = read_experiment(example(name))
    robot = dynid.load_robot(file.robot, lock=file.lock)
    return [read_source(source, robot) for source in file.logs]


def lines(header: str, rows: list[str]) -> str:
    """A Markdown table."""
    return "\n".join([f"| {header} |", "|" + " --- |" * (header.count("|") + 1), *(f"| {row} |" for row in rows)])


def of_commands() -> dict[str, str]:
    """Rollouts of held-out motions, and the factors of the stall torque."""
    result = dynid.identify(example("so101"), cache=False)
    rollout = result.validate(example("so101_validation")).rollout
    found = result.record.commands
    assert rollout is not None
    assert found is not None
    rows = [
        f"{one.name} | {1e3 * one.rmse:.1f} | {1e3 * (one.robot_file or np.nan):.1f} | {1e3 * one.command:.1f}"
        for one in (*rollout.joints,)
    ]
    rows.append(
        f"all | {1e3 * rollout.rmse:.1f} | {1e3 * (rollout.robot_file or np.nan):.1f} | {1e3 * rollout.command:.1f}"
    )
    header = "joint | identified [mrad] | robot file [mrad] | command itself [mrad]"
    factors = {one.owner: one for one in found.parameters if one.name.startswith("scale")}
    mean = float(np.mean([factors[name].value for name in LIFTED]))
    beside = [
        f"{name} | {one.value:.2f} ± {one.std:.2f} | {100 * (one.value / mean - 1):+.0f} %"
        for name, one in ((name, factors[name]) for name in LIFTED)
    ]
    return {
        "so101 rollouts": lines(header, rows),
        "so101 stall torques": lines("joint | factor of the stall torque | beside the mean of the three", beside),
    }


@dataclass(frozen=True)
class SignsOfJoint:
    """How the signs of a joint were recovered, as shares of the sum of its magnitudes.

    Attributes:
        segments: Number of segments.
        sure: Share of them that is sure.
        of_torque: Share of the torque in these.
        agree: Share of the torque in sure segments whose sign is that of the command.
    """

    segments: int
    sure: float
    of_torque: float
    agree: float


def signs_of(result: dynid.Result) -> dict[str, SignsOfJoint]:
    """How the signs of each joint were recovered."""
    logs = logs_of("so101_unsigned")
    drives = [so101_voltage(log.source[0].parent, log.time, log.position) for log in logs]
    joints = [joint.name for joint in result.robot.independent_joints]
    segments = result.record.signs or ()
    first = min(segment.log for segment in segments)
    found = {}
    for column, name in enumerate(joints):
        words, torques, right = [], [], []
        for one in (segment for segment in segments if segment.joint == name):
            log, drive = logs[one.log - first], drives[one.log - first]
            inside = (log.time >= one.start) & (log.time < one.stop)
            torque = np.abs(log.torque[inside, column])
            words.append(one.word == "sure")
            torques.append(torque.sum())
            right.append(one.sign * (torque @ drive[inside, column]) > 0.0)
        sure, size = np.array(words), np.array(torques)
        agree = float(size[sure & np.array(right)].sum() / size[sure].sum())
        found[name] = SignsOfJoint(len(sure), float(sure.mean()), float(size[sure].sum() / size.sum()), agree)
    return found


def gravity_of(result: dynid.Result) -> dict[str, tuple[float, float]]:
    """Of each lifted joint the factor from gravity torques of the robot file to identified ones, and what it leaves.

    The second number is the root mean square of the difference after the factor, relative to the identified torques.
    """
    names = [joint.name for joint in result.robot.independent_joints]
    q = np.concatenate([log.position for log in logs_of("so101_unsigned_validation")])
    still = np.zeros_like(q)
    of_file = dynid.DynamicModel(result.robot, []).inverse_dynamics(q, still, still)
    both = [result.predict(q, np.full_like(q, speed), still) for speed in (TINY, -TINY)]
    own = 0.5 * (both[0] + both[1])  # friction of both directions cancels
    found = {}
    for name in LIFTED:
        g, mine = of_file[:, names.index(name)], own[:, names.index(name)]
        factor = float(mine @ g / (g @ g))
        found[name] = factor, float(np.linalg.norm(mine - factor * g) / np.linalg.norm(mine))
    return found


def of_currents() -> dict[str, str]:
    """Signs, errors of held-out magnitudes, and gravity torques."""
    result = dynid.identify(example("so101_unsigned"), cache=False)
    validation = result.validate(example("so101_unsigned_validation"))
    signs, trained = signs_of(result), {joint.name: joint for joint in result.record.joints}
    rows = []
    for joint in validation.all_rows.joints:  # held-out motions are at rest for most of the time
        own = signs[joint.name]
        rows.append(
            f"{joint.name} | {own.segments} | {own.sure:.0%} | {own.of_torque:.0%} | {own.agree:.0%} | "
            f"{trained[joint.name].relative_error:.0%} | {joint.relative_error:.0%} | {1e3 * joint.rmse:.0f}"
        )
    header = "joint | segments | sure | torque in these | signs agree with commands | error, fitted | "
    header += "error, held out | RMSE, held out [mN m]"
    gravity = gravity_of(result)
    scale = float(np.mean([factor for factor, _ in gravity.values()]))
    beside = [f"{n} | {f:.2f} | {100 * (f / scale - 1):+.0f} % | {left:.0%}" for n, (f, left) in gravity.items()]
    recovery, verdict = result.record.sign_recovery, result.record.verdict
    assert recovery is not None
    assert verdict is not None
    print(f"sure {recovery.sure:.1%}, verdict {verdict.answer}: {verdict.reason}")
    print(f"held out {validation.relative_error:.1%}, all rows {validation.all_rows.relative_error:.1%}")
    for name in ("pick_place", "static_holding", "step_response"):
        one = result.validate(*(log for log in logs_of("so101_unsigned_validation") if name in str(log.source[0])))
        print(name, " ".join(f"{joint.name} {joint.relative_error:.0%}" for joint in one.all_rows.joints))
    return {
        "so101 currents": lines(header, rows),
        "so101 gravity": lines("joint | factor | beside the mean of the three | left after its own factor", beside),
    }


HALF_STEP = 0.0114
"""Half a step of the torques [N m]."""


def of_truncated() -> dict[str, str]:
    """Gravity torques if magnitudes were truncated to steps, and not rounded: half a step more of all but zeros."""
    file = read_experiment(example("so101_unsigned"))
    robot = dynid.load_robot(file.robot, lock=file.lock)
    logs = [
        replace(log, torque=frozen(np.where(log.torque > 0.0, log.torque + HALF_STEP, 0.0)), findings=())
        for log in logs_of("so101_unsigned")
    ]
    result = dynid.identify(robot, logs, terms=list(file.terms), torque="magnitude")
    gravity = gravity_of(result)
    scale = float(np.mean([factor for factor, _ in gravity.values()]))
    print({name: f"{100 * (factor / scale - 1):+.0f} %" for name, (factor, _) in gravity.items()})
    assert result.record.sign_recovery is not None
    print(f"sure {result.record.sign_recovery.sure:.1%}")
    return {}


WAYS = {"commands": of_commands, "currents": of_currents, "truncated": of_truncated}


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=WAYS, action="append", help="of these; commands and currents when left out")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/low_cost_arms.md")
    options = parser.parse_args()
    for way in options.way or ("commands", "currents"):
        start = time.perf_counter()
        for name, text in WAYS[way]().items():
            print(f"{name}\n{text}\n")
            if options.write:
                write(PAGE, name, text)
        print(f"{way}: {time.perf_counter() - start:.0f} s", flush=True)


def write(page: Path, name: str, text: str) -> None:
    """Write a table into a page."""
    page.write_text(with_table(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


if __name__ == "__main__":
    main()
