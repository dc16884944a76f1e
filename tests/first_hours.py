"""First hours with a robot: a robot file, recordings of a robot that differs from it, and logs as people have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from dynid import DynamicModel, Robot, load_robot
from tests.bag_files import joint_states, write_bag
from tests.mat_files import Instance, with_objects
from tests.references import example_robot_file

RATE = 100.0
"""Sampling rate of recordings [Hz]."""

NOISE = 0.01
"""Standard deviation of the noise on torques, in parts of their root mean square."""


@dataclass(frozen=True)
class Recording:
    """What was recorded of a robot: stamps [s], states and torques, each of shape (samples, joints), and its joints."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    names: tuple[str, ...]


def recording(robot: Robot, seed: int, seconds: float = 30.0) -> Recording:
    """A recording of a robot whose links and friction differ from its file, along sums of sines within its limits."""
    rng = np.random.default_rng(seed)
    model = DynamicModel(robot, ["viscous", "coulomb"])
    t = np.arange(0.0, seconds, 1.0 / RATE)
    q, v, a = sums_of_sines(robot, rng, t)
    true = np.random.default_rng(5)
    links = robot.parameters * np.repeat(true.uniform(0.9, 1.15, len(robot.parameters) // 10), 10)
    usual = np.abs(DynamicModel(robot).inverse_dynamics(*sums_of_sines(robot, true, t), links)).mean(axis=0)
    friction = np.concatenate([true.uniform(0.05, 0.2, robot.nv) * usual for _ in range(2)])
    tau = model.inverse_dynamics(q, v, a, np.concatenate([links, friction]))
    tau += NOISE * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return Recording(t, q, v, tau, tuple(joint.name for joint in robot.independent_joints))


def sums_of_sines(robot: Robot, rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations along sums of sines, each of shape (samples, joints)."""
    w = 2 * np.pi * np.array([0.07, 0.15, 0.27, 0.41])
    found = []
    for joint in robot.independent_joints:
        low, high = np.clip([float(joint.limits.lower), float(joint.limits.upper)], -2.0, 2.0)
        speed = min(float(joint.limits.velocity), 1.5)
        sizes, phases = rng.uniform(0.3, 1.0, 4), rng.uniform(0, 6, 4)
        scale = min(0.45 * (high - low) / sizes.sum(), speed / (sizes * w).sum())
        angle = np.multiply.outer(t, w) + phases
        parts = (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
        q, v, a = ((scale * sizes * part).sum(axis=1) for part in parts)
        found.append((0.5 * (low + high) + q, v, a))
    q, v, a = (np.column_stack([one[k] for one in found]) for k in range(3))
    return q, v, a


Writer = Callable[[Path, Recording], Path]
"""Writes a recording to a path without suffix; gives the file."""


@dataclass(frozen=True)
class Hour:
    """A first hour with a robot.

    Attributes:
        name: What is special about it.
        robot: The file of the robot, written into a folder where it has none.
        write: Writes a recording as this robot's logs are.
        moving: Joints that were recorded; all when empty.
        options: Options of `dynid init`.
        edit: The one edit of the experiment file that the hour takes, if any.
    """

    name: str
    robot: Callable[[Path], Path]
    write: Writer
    moving: Sequence[str] = ()
    options: Sequence[str] = ()
    edit: Callable[[str], str] | None = None

    def recorded(self, path: Path, seed: int) -> Recording:
        """A recording of the joints that move; the others rest at zero, or where their limits allow."""
        every = load_robot(path)
        held = {joint.name: 0.0 for joint in every.independent_joints if self.moving and joint.name not in self.moving}
        return recording(load_robot(path, lock=held), seed)


def example(name: str) -> Callable[[Path], Path]:
    """A robot file of the example-robot-data wheel."""
    return lambda _: example_robot_file(f"{name}.urdf")


def columns(
    one: Recording, t: Sequence[object] | np.ndarray, position: str, torque: str, angle: float = 1.0
) -> dict[str, object]:
    """Columns of a table: time, positions in units of `angle`, torques; names are formatted with k, from 0, and n."""
    data: dict[str, object] = {"time": t}
    for k, n in enumerate(one.names):
        data[position.format(k=k, k1=k + 1, n=n)] = one.q[:, k] / angle
    for k, n in enumerate(one.names):
        data[torque.format(k=k, k1=k + 1, n=n)] = one.tau[:, k]
    return data


def csv_in_degrees(path: Path, one: Recording) -> Path:
    """Degrees and milliseconds, said by headers, and counters that mean nothing here."""
    data = columns(one, one.t * 1000.0, "J{k1} angle [deg]", "J{k1} torque [Nm]", np.pi / 180)
    data = {"Timestamp [ms]": data.pop("time"), "packet": np.arange(len(one.t)), **data}
    pl.DataFrame(data).write_csv(path.with_suffix(".csv"), separator=";")
    return path.with_suffix(".csv")


def csv_with_iso_stamps(path: Path, one: Recording) -> Path:
    start = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    stamps = [(start + timedelta(seconds=float(t))).isoformat(timespec="microseconds") for t in one.t]
    pl.DataFrame(columns(one, stamps, "q_{n}", "tau_{n}")).write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def csv_with_gaps(path: Path, one: Recording) -> Path:
    """Three cells are missing, and the last line is cut off."""
    frame = pl.DataFrame(columns(one, one.t, "position.{n}", "effort.{n}"))
    for name, row in (("position." + one.names[1], 700), ("effort." + one.names[0], 1500), (frame.columns[-1], 2200)):
        values = frame[name].to_numpy().copy()
        values[row] = np.nan
        frame = frame.with_columns(pl.Series(name, values))
    text = frame.write_csv()
    path.with_suffix(".csv").write_text(text[: text.rstrip("\n").rindex(",") - 3])
    return path.with_suffix(".csv")


def parquet_of_a_controller(path: Path, one: Recording) -> Path:
    """What libfranka-like interfaces log: measured, desired and external torques, stamps in nanoseconds."""
    count = len(one.names)
    data: dict[str, object] = {"time": (1_760_000_000_000_000_000 + np.round(one.t * 1e9)).astype(np.int64)}
    rng = np.random.default_rng(0)
    groups = {"q": one.q, "q_d": one.q + 1e-3, "dq": one.v, "tau_J": one.tau, "tau_J_d": one.tau - 0.3}
    groups["tau_ext_hat_filtered"] = rng.normal(size=one.tau.shape) * 0.2
    data |= {f"{group}_{k}": values[:, k] for group, values in groups.items() for k in range(count)}
    pl.DataFrame(data).write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def camel_case(path: Path, one: Recording) -> Path:
    """Names of a motion controller, without a separator before the number; degrees."""
    data = columns(one, one.t, "ActualPos{k}", "ActualTorque{k}", np.pi / 180)
    data |= {f"TargetPos{k}": np.degrees(one.q[:, k]) for k in range(len(one.names))}
    pl.DataFrame(data).write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def headless(path: Path, one: Recording) -> Path:
    """Numbers in columns and nothing else."""
    np.savetxt(path.with_suffix(".txt"), np.column_stack([one.t, one.q, one.tau]), fmt="%.9g")
    return path.with_suffix(".txt")


def json_records(path: Path, one: Recording) -> Path:
    rows = zip(one.t.tolist(), one.q.tolist(), one.tau.tolist(), strict=True)
    path.with_suffix(".json").write_text(json.dumps([{"t": t, "q": q, "tau": tau} for t, q, tau in rows]))
    return path.with_suffix(".json")


def json_lines(path: Path, one: Recording) -> Path:
    rows = zip(one.t.tolist(), one.q.tolist(), one.v.tolist(), one.tau.tolist(), strict=True)
    lines = [json.dumps({"stamp": t, "joint": {"position": q, "velocity": v, "torque": tau}}) for t, q, v, tau in rows]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".jsonl")


def mat_with_an_object(path: Path, one: Recording) -> Path:
    """Arrays, and beside them an object that has nothing to do with them."""
    notes = Instance("containers.Map", {"serial": np.array([[7.0]])})
    return with_objects(path.with_suffix(".mat"), {"time": one.t[:, None], "q": one.q, "notes": notes, "tau": one.tau})


def bag(kind: str) -> Writer:
    """A bag of joint states, in which joints have other places than in the robot file."""

    def write(path: Path, one: Recording) -> Path:
        order = np.argsort(one.names)
        names = [one.names[k] for k in order]
        messages = joint_states(kind, names, one.t, one.q[:, order], one.tau[:, order], one.v[:, order], 10**18)
        return write_bag(path, kind, {"/joint_states": ("sensor_msgs/msg/JointState", messages)})

    return write


MJCF = """<mujoco model="bench_arm"><compiler angle="radian"/><worldbody>
<body name="turret" pos="0 0 .1"><joint name="yaw" axis="0 0 1" range="-3 3"/>
<inertial pos="0 .01 .05" mass="3" diaginertia=".02 .02 .015"/>
<body name="upper" pos="0 0 .2"><joint name="pitch" axis="0 1 0" range="-1.5 1.5"/>
<inertial pos=".02 0 .15" mass="2" diaginertia=".03 .03 .004"/>
<body name="lower" pos="0 0 .35"><joint name="elbow" axis="0 1 0" range="-2 2"/>
<inertial pos="0 0 .12" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="hand" pos="0 0 .3"><joint name="roll" axis="0 0 1" range="-3 3"/>
<inertial pos=".03 0 .05" mass=".6" diaginertia=".001 .0012 .0008"/>
</body></body></body></body></worldbody></mujoco>
"""


def mjcf_arm(folder: Path) -> Path:
    (folder / "bench_arm.xml").write_text(MJCF)
    return folder / "bench_arm.xml"


def dh_table(folder: Path) -> Path:
    text = (files("dynid.robot") / "builtin" / "spatial_3r.toml").read_text(encoding="utf-8")
    (folder / "arm_table.toml").write_text(text)
    return folder / "arm_table.toml"


TIAGO = ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8)))
BAXTER = tuple(f"left_{name}" for name in ("s0", "s1", "e0", "e1", "w0", "w1", "w2"))
PANDA = tuple(f"panda_joint{k}" for k in range(1, 8))

HOURS = (
    Hour("xArm7, degrees and milliseconds", example("xarm7"), csv_in_degrees),
    Hour("Z1, ISO stamps", example("z1"), csv_with_iso_stamps, tuple(f"joint{k}" for k in range(1, 7))),
    Hour("Kinova, missing cells", example("kinova"), csv_with_gaps),
    Hour("TIAGo, a ROS bag", example("tiago"), bag("bag"), TIAGO),
    Hour("MJCF arm, JSON lines", mjcf_arm, json_lines),
    Hour("DH table, no header", dh_table, headless, options=("--columns", "t,q1..q3,tau1..tau3")),
    Hour("UR5, CamelCase names", example("ur5_robot"), camel_case),
    Hour("Panda, several torques", example("panda"), parquet_of_a_controller, PANDA),
    Hour("Panda, two MCAP bags", example("panda"), bag("mcap"), PANDA),
    Hour("UR5, a MATLAB object", example("ur5_robot"), mat_with_an_object),
    Hour("Baxter, one arm of two", example("baxter"), csv_with_iso_stamps, BAXTER),
    Hour("Z1, JSON", example("z1"), json_records, tuple(f"joint{k}" for k in range(1, 7))),
)
