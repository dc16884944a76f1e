"""Joint parameters of simulated robots without torque sensors, found again from commands: errors and coverage.

Quadrupeds, an arm with a gripper and a chain with a prismatic joint are simulated by MuJoCo (`tests/commanded_logs.py`)
under PD laws with commands at 50 Hz that are 7.3 ms late, encoders with counts and biases of 0.02 rad, in several
cases. `dynid.identify` is given what a user has: the robot file, logs of positions and commands, gains, and how the law
acts. What it finds is compared with the truth, and its 95 % intervals, too. A parameter that it names as not determined
counts as right only where no torque depends on it, by MuJoCo's inverse dynamics. "Beyond bar" counts errors beyond the
bar, and after a stroke intervals that are wider than the bar, and say that the logs do not show as much.

Run it: python -m benchmarks.commanded_truth --seconds 90 --file /tmp/truth.jsonl (again and again: draws add up)
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from tests.commanded_logs import Controller, study
from tests.commanded_robots import TrueRobot, arm, go2, quadruped, slider

import dynid

BARS = {"Ia": 0.03, "fv": 0.05, "fs": 0.05, "delay": 3e-4, "bias": 1e-3}
"""Largest errors: relative, but for the delay [s] and the bias [rad]."""


@dataclass(frozen=True)
class Case:
    """One way to log a robot.

    Attributes:
        name: Its name.
        robot: Makes the robot.
        controller: How it differs from the usual controller.
        changes: How the robot differs from the usual one: scales of its gains.
    """

    name: str
    robot: Callable[[], TrueRobot]
    controller: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, float] = field(default_factory=dict)

    @property
    def is_held(self) -> bool:
        """Whether the law's torque is held between ticks."""
        return self.controller.get("law") == "held"


def cases() -> Iterator[Case]:
    """All cases; that of Go2 where its file is."""
    robots = {"quadruped": quadruped, "arm": arm, "slider": slider}
    for name, robot in robots.items():
        yield Case(name, robot)
        yield Case(f"{name}, PD held at 200 Hz", robot, {"law": "held"})
        yield Case(f"{name}, no velocities", robot, {"velocity": "none"})
        yield Case(f"{name}, 4096 counts, velocities of encoders", robot, {"counts": 4096, "velocity": "encoder"})
        yield Case(f"{name}, stiffer, begins in motion", robot, {"warm": 2.0}, {"kp": 2.0, "kd": 1.4})
    file = Path(os.environ.get("DYNID_DATASETS", ""), "go2", "go2.xml")
    if file.exists():
        yield Case("go2, PD held at 200 Hz", lambda: go2(file), {"law": "held"})


@dataclass(frozen=True)
class Row:
    """One parameter of one draw.

    Attributes:
        case: The case.
        seed: Number of the draw in its case.
        name: Name of the parameter.
        kind: Its kind.
        truth: Its true value.
        value: What was found.
        lower: Lower end of its interval.
        upper: Upper end.
        std: Its standard deviation.
        state: Whether it is determined, as dynid says.
        hidden: Whether no torque depends on it.
        seconds: Time of the identification [s].
    """

    case: str
    seed: int
    name: str
    kind: str
    truth: float
    value: float
    lower: float
    upper: float
    std: float
    state: str
    hidden: bool
    seconds: float

    @property
    def error(self) -> float:
        """Its error, relative but for the delay and the bias."""
        absolute = self.value - self.truth
        return absolute if self.kind in ("delay", "bias") else absolute / self.truth

    @property
    def is_covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.lower <= self.truth <= self.upper


def draw(case: Case, number: int, seed: int, seconds: float = 12.0) -> list[Row]:
    """Simulate and identify one draw of a case, by its number in the case and its seed."""
    robot = case.robot()
    robot = robot.but(**{name: scale * getattr(robot, name) for name, scale in case.changes.items()})
    controller = Controller(**case.controller)
    step = 1e-4 if len(robot.kp) < 6 else 2e-4  # the truth's own errors are below a tenth of the intervals
    made = study(robot, controller, seed=seed, seconds=seconds, step=step)
    truth = made.truth
    if case.is_held:  # commands are used at the first tick after their arrival
        truth = truth | {"delay": np.ceil(controller.delay * controller.rate) / controller.rate}
    start = time.perf_counter()
    law = {"law": "sampled", "rate": controller.rate} if case.is_held else {"law": "continuous"}
    result = dynid.identify(made.robot.robot, made.logs, control=law | {"bias": True})
    spent = time.perf_counter() - start
    found = result.record.commands
    assert found is not None
    hidden = hidden_biases(made.robot)
    return [
        Row(
            case.name, number, row.name, row.name.rstrip("0123456789"), float(truth[row.name]), row.value, row.lower,
            row.upper, row.std, row.state, row.name in hidden, spent,
        )
        for row in found.parameters
    ]  # fmt: skip


def hidden_biases(robot: TrueRobot) -> frozenset[str]:
    """Biases of joints on whose position no torque depends, by MuJoCo's inverse dynamics."""
    model = robot.compiled(follows=False)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    states = rng.uniform(-1.0, 1.0, (10, 3, model.nv))

    def torques(shift: np.ndarray) -> np.ndarray:
        found = []
        for q, v, a in states:
            data.qpos[:], data.qvel[:], data.qacc[:] = q + shift, v, a
            mujoco.mj_inverse(model, data)
            found.append(data.qfrc_inverse.copy())
        return np.array(found)

    usual = torques(np.zeros(model.nv))
    joints = zip(robot.names, robot.robot.independent_joints, strict=True)
    return frozenset(
        f"bias{joint.number}"
        for name, joint in joints
        if np.abs(torques(0.1 * np.eye(model.nv)[model.joint(name).dofadr[0]]) - usual).max() < 1e-6
    )


def is_wide(row: Row) -> bool:
    """Whether an interval is wider than the bar, and says so."""
    size = 1.0 if row.kind in ("delay", "bias") else abs(row.truth)
    return 0.5 * (row.upper - row.lower) > BARS[row.kind] * size


def table(rows: list[Row], title: str) -> list[str]:
    """Lines of a table: errors and coverage by kind of parameter."""
    lines = [f"{title}: {len({(row.case, row.seed) for row in rows})} draws"]
    lines.append("  kind    number  rms error  95 % below  largest  beyond bar  covered  rms z  mean z  named hidden")
    for kind in dict.fromkeys(row.kind for row in rows):
        own = [row for row in rows if row.kind == kind]
        told = [row for row in own if row.state == "determined"]
        named = [row for row in own if row.state != "determined"]
        right = sum(row.hidden and row.state == "undetermined" for row in named)
        error = np.abs([row.error for row in told if np.isfinite(row.error)])
        z = np.array([(row.value - row.truth) / row.std for row in told if row.std > 0.0])
        unit, scale = {"delay": ("ms", 1e3), "bias": ("mrad", 1e3)}.get(kind, ("%", 100.0))
        beyond = "" if kind not in BARS else f"{np.count_nonzero(error > BARS[kind])}/{sum(map(is_wide, told))}"
        covered = f"{np.mean([row.is_covered for row in told]):.1%}" if told else ""
        lines.append(
            f"  {kind:6} {len(told):7}  {scale * np.sqrt(np.mean(error**2)):7.3f} {unit:4}"
            f" {scale * np.quantile(error, 0.95):7.3f}  {scale * error.max(initial=0.0):7.3f}  {beyond:>10}"
            f"  {covered:>7}  {np.sqrt(np.mean(z**2)):5.2f}  {z.mean():+6.2f}  {right} of {len(named)} rightly;"
            f" {sum(row.hidden for row in told)} missed"
        )
    lines.append(f"  identification takes {np.median([row.seconds for row in rows]):.1f} s (median)")
    return lines


def markdown(rows: list[Row]) -> list[str]:
    """Lines of a short table of all draws, as `docs/commands.md` has it."""
    words = {"Ia": "armature", "fv": "viscous friction", "fs": "Coulomb friction", "off": "offset"}
    heads = ("parameter", "estimates", "half of the errors within", "95 % within")
    heads += ("beyond the bar, where intervals are narrower", "intervals hold the truth")
    lines = [f"| {' | '.join(heads)} |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for kind in dict.fromkeys(row.kind for row in rows):
        own = [row for row in rows if row.kind == kind and row.state == "determined"]
        error = np.abs([row.error for row in own])
        unit, scale = {"delay": ("ms", 1e3), "bias": ("mrad", 1e3)}.get(kind, ("%", 100.0))
        half, most = scale * np.quantile(error, [0.5, 0.95])
        beyond = ""
        if kind in BARS:
            narrow = sum(abs(row.error) > BARS[kind] and not is_wide(row) for row in own)
            beyond = f"{narrow} of {sum(not is_wide(row) for row in own)} ({scale * BARS[kind]:g} {unit})"
        covered = np.mean([row.is_covered for row in own])
        name = words.get(kind, kind)
        lines.append(f"| {name} | {len(own)} | {half:.2g} {unit} | {most:.2g} {unit} | {beyond} | {covered:.0%} |")
    return lines


def main() -> None:
    """Draw for some time, and print the tables of all draws so far."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=90.0, help="time to draw for [s]; 0 prints the tables only")
    parser.add_argument("--file", type=Path, default=None, help="JSON lines of draws, which are added to")
    parser.add_argument("--cases", default="", help="only cases whose names hold this")
    parser.add_argument("--length", type=float, default=12.0, help="length of each of two logs [s]")
    options = parser.parse_args()
    rows = []
    if options.file is not None and options.file.exists():
        rows = [Row(**json.loads(line)) for line in options.file.read_text().splitlines()]
    rows = [row for row in rows if options.cases in row.case]
    chosen = [case for case in cases() if options.cases in case.name]
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        counts = {case.name: len({row.seed for row in rows if row.case == case.name}) for case in chosen}
        case = min(chosen, key=lambda one: counts[one.name])
        seed = 1 + max((row.seed for row in rows if row.case == case.name), default=0)
        new = draw(case, seed, 1000 * chosen.index(case) + seed, options.length)
        rows += new
        if options.file is not None:
            with options.file.open("a") as file:
                file.writelines(json.dumps(row.__dict__) + "\n" for row in new)
    for case in chosen:
        own = [row for row in rows if row.case == case.name]
        if own:
            print("\n".join(table(own, case.name)))
    print("\n".join([*table(rows, "all"), "", *markdown(rows)]))


if __name__ == "__main__":
    main()
