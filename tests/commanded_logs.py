"""Simulated truth for robots without torque sensors: logs of commands, by MuJoCo alone, with parameters that are known.

Nothing of dynid's own simulation takes part: integrator, friction, law, delay and encoders are others (mass matrices
and bias forces are MuJoCo's in both). MuJoCo integrates a robot by Runge-Kutta steps of a quarter millisecond under a
PD law; joint inertia, damping and dry friction are MuJoCo's own. Its dry friction is a soft constraint, which is made
as stiff as it goes: within 1 % of Coulomb friction (`tests/simulation/test_commanded_logs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np

from dynid import Log
from dynid.arrays import Array
from tests.commanded_robots import STEP, TrueRobot

Commands = Callable[[Array], Array]
"""Commanded positions [rad or m] at times [s]: shape (times,) to (times, joints)."""


@dataclass(frozen=True)
class Controller:
    """How a robot is driven, and how it is logged.

    Attributes:
        law: "continuous": the law is evaluated all the time, and commands arrive late. "held": it is evaluated at a
            rate, and its torque held; commands arrive late, as seen at its ticks. "late": it is evaluated at a rate,
            and its torque acts late: the whole loop is delayed.
        delay: How late [s].
        rate: Rate of a law that is held or late [Hz].
        commands: Rate of the commands, which are held [Hz].
        log: Rate of the log [Hz].
        counts: Counts of an encoder in a turn, or in 0.63 m of a joint that slides; zero where it is exact.
        velocity: "motor": velocities as a fast drive takes them, in steps of 0.01 rad/s; "encoder": differences of the
            logged positions over a sample; "none": not logged.
        warm: How long the robot moves before the log begins [s]; negative: it rests at the first command until then.
    """

    law: Literal["continuous", "held", "late"] = "continuous"
    delay: float = 7.3e-3
    rate: float = 200.0
    commands: float = 50.0
    log: float = 200.0
    counts: int = 16384
    velocity: Literal["motor", "encoder", "none"] = "motor"
    warm: float = -1.0

    def quantised(self, q: Array, robot: TrueRobot) -> Array:
        """Positions as the encoders show them."""
        if not self.counts:
            return q
        quantum = robot.turn / self.counts
        return quantum * np.round(q / quantum)


class _Plant:
    """A robot that MuJoCo moves."""

    def __init__(self, robot: TrueRobot, *, follows: bool, step: float) -> None:
        self.model = robot.compiled(follows=follows, step=step)
        self.data = mujoco.MjData(self.model)
        rows = [self.model.joint(name) for name in robot.names]
        self.q_rows = np.array([row.qposadr[0] for row in rows])
        self.v_rows = np.array([row.dofadr[0] for row in rows])
        self.step = step
        self.data.qfrc_applied[self.v_rows] = -robot.joints.offset

    def place(self, q: Array) -> None:
        self.data.qpos[self.q_rows] = q

    @property
    def q(self) -> Array:
        return self.data.qpos[self.q_rows].copy()

    @property
    def v(self) -> Array:
        return self.data.qvel[self.v_rows].copy()

    def go_on(self, seconds: float, drive: Array) -> None:
        """Move under a command or torque."""
        if seconds < 1e-9:
            return
        count = int(np.ceil(seconds / self.step - 1e-6))
        self.model.opt.timestep = seconds / count
        self.data.ctrl[:] = drive
        mujoco.mj_step(self.model, self.data, count)


def commanded_log(
    robot: TrueRobot, controller: Controller, commands: Commands, seconds: float, name: str = "", step: float = STEP
) -> Log:
    """A log of a robot that follows commands.

    Args:
        robot: The robot.
        controller: How it is driven and logged.
        commands: What it is commanded, as a function of time; zero is when the log begins.
        seconds: Length of the log [s].
        name: Name of the log.
        step: Longest step of the integrator [s].
    """
    first = -abs(controller.warm)
    issued = np.arange(round((seconds - first) * controller.commands) + 1) / controller.commands + first
    wanted = commands(np.maximum(issued, 0.0) if controller.warm < 0.0 else issued)
    stamps = np.arange(round(seconds * controller.log) + 1) / controller.log
    plant = _Plant(robot, follows=controller.law == "continuous", step=step)
    plant.place(wanted[0] - robot.joints.bias)
    move = _continuous if controller.law == "continuous" else _ticking
    q, v = move(plant, robot, controller, issued, wanted, stamps)
    measured = controller.quantised(q + robot.joints.bias, robot)
    row = np.searchsorted(issued, stamps + 1e-9, side="right") - 1
    return Log(
        time=stamps,
        position=measured,
        velocity=_velocities(controller, measured, v, stamps),
        position_command=wanted[row],
        kp=robot.kp,
        kd=robot.kd,
        effort_limit=robot.limit,
        name=name,
    )


def _velocities(controller: Controller, measured: Array, v: Array, stamps: Array) -> Array | None:
    if controller.velocity == "motor":
        return 0.01 * np.round(v / 0.01)
    if controller.velocity == "encoder":
        differences = np.diff(measured, axis=0) / np.diff(stamps)[:, None]
        return np.vstack([differences[:1], differences])
    return None


def _continuous(
    plant: _Plant, robot: TrueRobot, controller: Controller, issued: Array, wanted: Array, stamps: Array
) -> tuple[Array, Array]:
    """Commands arrive late, and MuJoCo evaluates the law at each stage of each step."""
    arrive = issued + controller.delay
    times = np.unique(np.round(np.concatenate([issued[:1], arrive, stamps]), 9))
    times = times[times <= stamps[-1] + 1e-12]
    row = np.clip(np.searchsorted(arrive, times + 1e-10, side="right") - 1, 0, None)
    return _moved(plant, times, wanted[row] - robot.joints.bias, stamps)


def _moved(plant: _Plant, times: Array, drive: Array, stamps: Array) -> tuple[Array, Array]:
    """States at the stamps, with a drive that is held from each time on."""
    q, v = [], []
    at = np.isin(times, np.round(stamps, 9))
    for k, time in enumerate(times):
        if at[k]:
            q.append(plant.q)
            v.append(plant.v)
        if k + 1 < len(times):
            plant.go_on(times[k + 1] - time, drive[k])
    return np.array(q), np.array(v)


def _ticking(
    plant: _Plant, robot: TrueRobot, controller: Controller, issued: Array, wanted: Array, stamps: Array
) -> tuple[Array, Array]:
    """The law is evaluated at ticks, of positions as the encoder shows them; its torque is held."""
    late = controller.delay if controller.law == "late" else 0.0
    arrive = issued + (controller.delay if controller.law == "held" else 0.0)
    ticks = issued[0] + np.arange(round((stamps[-1] - issued[0]) * controller.rate) + 1) / controller.rate
    times = np.unique(np.round(np.concatenate([ticks, ticks + late, stamps]), 9))
    times = times[times <= stamps[-1] + 1e-12]
    is_tick, is_stamp = np.isin(times, np.round(ticks, 9)), np.isin(times, np.round(stamps, 9))
    limit = np.inf if robot.limit is None else robot.limit
    waiting: list[tuple[float, Array]] = []
    torque, q, v = np.zeros(len(robot.kp)), [], []
    for k, time in enumerate(times):
        if is_stamp[k]:
            q.append(plant.q)
            v.append(plant.v)
        if is_tick[k]:
            command = wanted[max(np.searchsorted(arrive, time + 1e-10, side="right") - 1, 0)]
            seen = controller.quantised(plant.q + robot.joints.bias, robot)
            waiting.append((time + late, np.clip(robot.kp * (command - seen) - robot.kd * plant.v, -limit, limit)))
        while waiting and waiting[0][0] <= time + 1e-10:
            torque = waiting.pop(0)[1]
        if k + 1 < len(times):
            plant.go_on(times[k + 1] - time, torque)
    return np.array(q), np.array(v)


def multisine(robot: TrueRobot, seed: int, slowest: float = 0.15, fastest: float = 5.0, sines: int = 8) -> Commands:
    """Sums of sines within the limits of commands: amplitudes fall as speed is limited."""
    rng = np.random.default_rng((seed, 5))
    n = len(robot.kp)
    frequency = np.geomspace(slowest, fastest, sines) * rng.uniform(0.85, 1.15, (n, sines))
    size = rng.uniform(0.5, 1.0, (n, sines)) / np.maximum(frequency, 0.4)
    phase = rng.uniform(0.0, 2.0 * np.pi, (n, sines))

    def raw(t: Array) -> Array:
        return (size * np.sin(2.0 * np.pi * np.multiply.outer(t, frequency) + phase)).sum(axis=2)

    grid = np.arange(0.0, 30.0, 0.01)
    x = raw(grid)
    room = 0.5 * (robot.high - robot.low) / np.abs(x).max(axis=0)
    scale = np.minimum(room, robot.speed / np.abs(np.gradient(x, 0.01, axis=0)).max(axis=0))
    middle = 0.5 * (robot.high + robot.low)
    return lambda t: middle + scale * raw(np.asarray(t, dtype=float))


def chirp(robot: TrueRobot, seed: int, seconds: float, slowest: float = 0.2, fastest: float = 6.0) -> Commands:
    """Sines whose frequency rises, joint by joint from another phase, with a speed that is limited."""
    rng = np.random.default_rng((seed, 6))
    n = len(robot.kp)
    phase, ratio = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(0.8, 1.0, n) * fastest / slowest
    middle, room = 0.5 * (robot.high + robot.low), 0.5 * (robot.high - robot.low)

    def at(t: Array) -> Array:
        s = np.clip(np.asarray(t, dtype=float) / seconds, 0.0, 1.0)[:, None]
        frequency = slowest * ratio**s
        angle = 2.0 * np.pi * slowest * seconds * (ratio**s - 1.0) / np.log(ratio) + phase
        return middle + np.minimum(room, robot.speed / (2.0 * np.pi * frequency)) * np.sin(angle)

    return at


@dataclass(frozen=True, eq=False)
class Study:
    """Logs of one robot, with the truth.

    Attributes:
        robot: The robot.
        logs: Its logs.
        delay: The delay of its commands [s].
    """

    robot: TrueRobot
    logs: tuple[Log, ...]
    delay: float
    truth: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", self.robot.truth | {"delay": self.delay})


def study(
    robot: TrueRobot,
    controller: Controller | None = None,
    seed: int = 0,
    logs: int = 2,
    seconds: float = 20.0,
    step: float = STEP,
) -> Study:
    """Logs of one robot whose joints are drawn by a seed, each with a multisine of its own."""
    controller = controller or Controller()
    drawn = robot.drawn(seed)
    found = tuple(
        commanded_log(drawn, controller, multisine(drawn, 100 * seed + k), seconds, f"log {k}", step)
        for k in range(logs)
    )
    return Study(drawn, found, controller.delay)
