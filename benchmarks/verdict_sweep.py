"""How often the verdict is right beyond the ten cases: `python -m benchmarks.verdict_sweep`.

Other joints, sizes and trajectories. Each line is a kind of mistake; a verdict counts as right when its first finding
names the cause (and the joint, where it is one joint's), as a hint when another finding does, and as silent when the
model is called trusted.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.reports import saved
from tests.verdict_cases import EXPERIMENT, ROBOT, Case, columns, truth

from dynid import load_result
from dynid.identification.answers import Answer
from dynid.report.subject import subject_of
from dynid.robot import inertia
from dynid.robot.formats.urdf_writer import urdf_text

Log = dict[str, np.ndarray]
JOINTS = [joint.name for joint in ROBOT.joints]


def changed(log: Log, **changes: Callable[[np.ndarray], np.ndarray]) -> Log:
    return log | {name: change(log[name]) for name, change in changes.items()}


def moved(joint: int, move: np.ndarray) -> str:
    joints = list(ROBOT.joints)
    placement = joints[joint].placement.copy()
    placement[:3, 3] += move
    joints[joint] = replace(joints[joint], placement=placement)
    return urdf_text(replace(ROBOT, joints=tuple(joints)))


def trials(rng: np.random.Generator) -> Iterator[Case]:
    for seed in range(1, 7):
        yield Case("good", EXPERIMENT, columns(seed=seed), {}, "")
        k = seed - 1
        log = columns(seed=seed)
        yield Case(
            "sign of a torque",
            EXPERIMENT,
            changed(log, **{f"tau_{k + 1}": lambda x: -x}),
            {},
            "torque-sign-flipped",
            JOINTS[k],
        )
        for factor in (0.8, 0.95, 1.05, 1.3):
            off = {f"q_{k + 1}": lambda x, f=factor: f * x, f"tau_{k + 1}": lambda x, f=factor: x / f}
            yield Case(f"gear ratio x {factor}", EXPERIMENT, changed(log, **off), {}, "gear-ratio-wrong", JOINTS[k])
        for delay in (0.005, 0.05):
            late = {f"tau_{i}": lambda x, d=delay, t=log["t"]: np.interp(t - d, t, x) for i in range(1, 7)}
            yield Case(f"delay of {1000 * delay:g} ms", EXPERIMENT, changed(log, **late), {}, "torque-delayed")
        for size in (0.03, 0.1):
            file = {"robot.urdf": moved(k, size * rng.choice([-1.0, 1.0]) * np.eye(3)[int(rng.integers(3))])}
            text = EXPERIMENT.replace("builtin:ur5", "robot.urdf")
            yield Case(f"joint {100 * size:g} cm off", text, log, file, "joint-misplaced", JOINTS[k])
        for mass in (0.3, 3.0):
            p = truth()
            p[50:60] += inertia.from_mass_com_inertia(mass, rng.uniform(-0.1, 0.1, 3), 0.005 * mass * np.eye(3))
            yield Case(f"payload of {mass:g} kg", EXPERIMENT, columns(p, seed=seed), {}, "payload-undeclared")
        swap = log | {"tau_5": log["tau_6"], "tau_6": log["tau_5"]}
        yield Case("torques of joints 5 and 6 swapped", EXPERIMENT, swap, {}, "torques-swapped")


def outcome(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subject = subject_of(load_result(saved(case, Path(folder))))
    verdict = subject.verdict
    causes = [code.removesuffix("-or-other") for code in verdict.causes]
    if (causes[:1] == [case.cause] and case.joint in subject.findings[0].subject) or (not causes and not case.cause):
        return "right"
    if case.cause in causes:
        return "hint"
    return "silent" if verdict.answer in (Answer.YES, Answer.FITS) else "other cause"


def main() -> None:
    counts: dict[str, Counter[str]] = {}
    for case in trials(np.random.default_rng(0)):
        counts.setdefault(case.name, Counter())[outcome(case)] += 1
    print("| mistake | right | hint | other cause | silent |\n| --- | --- | --- | --- | --- |")
    for name, found in counts.items():
        print(f"| {name} |" + "".join(f" {found[kind]} |" for kind in ("right", "hint", "other cause", "silent")))


if __name__ == "__main__":
    main()
