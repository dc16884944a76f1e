"""Ten logs of a UR5: one good, nine with a mistake that users do not declare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from dynid import DynamicModel, load_robot
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.robot import inertia
from dynid.robot.formats.urdf_writer import urdf_text

RATE = 200.0
SECONDS = 30.0
ROBOT = load_robot("builtin:ur5")
MODEL = DynamicModel(ROBOT, [Viscous(), Coulomb(), Armature()])
DAMPING = np.array([8.0, 8.0, 6.0, 2.0, 2.0, 1.5])

EXPERIMENT = """robot = "builtin:ur5"
terms = ["viscous", "coulomb", "armature"]

[[log]]
position = { file = "log.csv", columns = "q_*" }
torque = { file = "log.csv", columns = "tau_*" }
time = { file = "log.csv", columns = "t" }

[processing]
lowpass = 15
decimate = [5]
trim = 40
velocity_threshold = 0.05
"""


@dataclass(frozen=True, eq=False)
class Case:
    """A log, its experiment, and what the report should say.

    Attributes:
        name: What is wrong, in a few words.
        experiment: The experiment file's text.
        columns: The log.
        files: Other files, by name.
        cause: Code of the finding that decides the verdict; empty where nothing is wrong.
        joint: Joint that it must be about; any when empty.
    """

    name: str
    experiment: str
    columns: dict[str, np.ndarray]
    files: dict[str, str]
    cause: str
    joint: str = ""


def truth() -> np.ndarray:
    """Standard parameters of the robot that the logs are of."""
    p = np.nan_to_num(MODEL.reference).copy()
    for k, value in enumerate(DAMPING, start=1):
        p[MODEL.names.index(f"fv{k}")] = value
    return p


def motion(seed: int = 0, size: float = 1.0, moving: tuple[int, ...] = tuple(range(6)), seconds: float = SECONDS):
    """Sums of sines: time, positions, velocities, accelerations."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 2 * np.pi * 0.1 * np.array([1.0, 2.0, 3.0, 5.0, 7.0])
    sizes = rng.uniform(0.3, 1.0, (6, 5)) * size / np.array([1.5, 2.0, 3.0, 4.0, 6.0])
    sizes[[k for k in range(6) if k not in moving]] *= 0.0
    angle = np.multiply.outer(t, w)[:, None] + rng.uniform(0, 6.28, (6, 5))
    middle = np.array([0.0, -1.2, 1.0, -0.8, 0.7, 0.0])
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    return t, q + middle, v, a


def columns(
    parameters: np.ndarray | None = None,
    noise: float = 0.02,
    seed: int = 0,
    model: DynamicModel = MODEL,
    **kinds: object,
) -> dict[str, np.ndarray]:
    """A log with noise on positions (20 microradian) and torques (relative to each joint's standard deviation)."""
    t, q, v, a = motion(seed, **kinds)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed + 100)
    torque = model.inverse_dynamics(q, v, a, truth() if parameters is None else parameters)
    torque = torque + noise * torque.std(axis=0) * rng.normal(size=q.shape)
    q = q + 2e-5 * rng.normal(size=q.shape)
    return {"t": t} | {f"q_{k + 1}": q[:, k] for k in range(6)} | {f"tau_{k + 1}": torque[:, k] for k in range(6)}


def _with_payload() -> np.ndarray:
    p = truth()
    tool = inertia.from_mass_com_inertia(2.5, np.array([0.03, 0.0, 0.12]), np.diag([0.01, 0.01, 0.006]))
    p[50:60] += tool
    return p


def _with_other_elbow() -> str:
    """The robot's file with an upper arm that is 6 cm too long."""
    joints = list(ROBOT.joints)
    k = next(i for i, joint in enumerate(joints) if joint.name == "elbow_joint")
    placement = joints[k].placement.copy()
    placement[:3, 3] *= 1.0 + 0.06 / np.linalg.norm(placement[:3, 3])
    joints[k] = replace(joints[k], placement=placement)
    return urdf_text(replace(ROBOT, joints=tuple(joints)))


def _changed(**changes) -> dict[str, np.ndarray]:
    log = columns()
    return log | {name: change(log[name]) for name, change in changes.items()}


def cases() -> tuple[Case, ...]:
    """The ten cases."""
    late = columns()
    late |= {f"tau_{k}": np.interp(late["t"] - 0.02, late["t"], late[f"tau_{k}"]) for k in range(1, 7)}
    geared = _changed(q_3=lambda q: q * 0.9, tau_3=lambda tau: tau / 0.9)
    return (
        Case("good", EXPERIMENT, columns(), {}, ""),
        Case(
            "friction missing from the model",
            EXPERIMENT.replace('"viscous", "coulomb", ', ""),
            columns(),
            {},
            "friction-missing-by-residual",
        ),
        Case(
            "sign of a torque flipped",
            EXPERIMENT,
            _changed(tau_4=lambda x: -x),
            {},
            "torque-sign-flipped",
            "wrist_1_joint",
        ),
        Case(
            "saturated torque",
            EXPERIMENT,
            _changed(tau_2=lambda x: np.clip(x, -60.0, 60.0)),
            {},
            "torque-saturated",
            "shoulder_lift_joint",
        ),
        Case(
            "poor excitation",
            EXPERIMENT.replace("velocity_threshold = 0.05\n", ""),
            columns(size=0.02),
            {},
            "excitation-poor",
        ),
        Case("wrong gear ratio", EXPERIMENT, geared, {}, "gear-ratio-wrong", "elbow_joint"),
        Case("delay of 20 ms", EXPERIMENT, late, {}, "torque-delayed"),
        Case(
            "wrong kinematics (upper arm 6 cm too long)",
            EXPERIMENT.replace("builtin:ur5", "robot.urdf"),
            columns(),
            {"robot.urdf": _with_other_elbow()},
            "joint-misplaced",
            "elbow_joint",
        ),
        Case(
            "undeclared payload of 2.5 kg",
            EXPERIMENT,
            columns(_with_payload()),
            {},
            "payload-undeclared",
        ),
        Case("very noisy", EXPERIMENT, columns(noise=1.5), {}, "residual-is-noise"),
    )


PAGE = Path(__file__).parents[1] / "docs" / "verdict.md"
HEAD = "| case | relative error | trust it? | first line of the report |\n| --- | --- | --- | --- |\n"


def table() -> str:
    """The table of the ten cases in the documentation."""
    from tests.reports import report_of

    rows = []
    for case in cases():
        subject = report_of(case.name).subjects[0]
        headline = subject.verdict.headline.split(": ", 1)[1].replace("|", "/")
        error = subject.result.relative_error
        rows.append(f"| {case.name} | {error:.1%} | {subject.verdict.answer.value} | {headline} |")
    return HEAD + "\n".join(rows) + "\n"


def written(case: Case, folder: Path) -> Path:
    """Write a case's files and give its experiment's path."""
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(case.columns).write_csv(folder / "log.csv")
    for name, text in case.files.items():
        (folder / name).write_text(text)
    path = folder / "experiment.toml"
    path.write_text(case.experiment)
    return path


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(HEAD)
    PAGE.write_text(before + table() + "\n" + rest.partition("\n\n")[2])
