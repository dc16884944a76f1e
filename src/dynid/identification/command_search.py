"""The search for commands: waves within the limits of a robot whose rollouts determine joint parameters best.

Few numbers are searched: of each joint the kind of its wave, its band and tilt and the seed of its phases. Amplitudes
are as large as limits allow. First a grid, then changes at random; joints take over the waves that are best for them.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Unknowns
from dynid.excitation import ClearanceLimit
from dynid.excitation.trajectories.command_waves import CommandWave, WaveKind, wave_values
from dynid.identification.command_information import ControlledRobot, Promise, covariance, information, relative_sizes
from dynid.logs import Log
from dynid.model import Role
from dynid.simulation import ControlInput, Rollout, RolloutParameters, SimulatedRobot, roll_out

SETTLING_SECONDS = 4.0
"""How long a robot hangs on its first command before it moves [s]."""

RESTING_SPEED = 0.1
"""Part of the largest speed below which it is at rest."""

SCALINGS = 8
"""How often amplitudes are adapted to the limits."""

SMALLER = 0.8
"""By what amplitudes of joints are reduced whose links come too near to something."""

COARSE_SAMPLES = 4
"""Every how many samples are looked at for collisions during the search; at its end, all are ..."""

COARSE_CLEARANCE = 0.003
"""... and by how much more a robot stays away from things there [m]."""

FEWEST_AMPLITUDE = 1e-3
"""Amplitude [rad or m] below which a joint does not move."""


OF_MOTION = (Role.ARMATURE, Role.VISCOUS, Role.SPRING)
"""Parameters whose size does not depend on torques."""


@dataclass(frozen=True, eq=False)
class Room:
    """Limits of positions, velocities and torques, each of shape (joints,); the margin is taken off.

    Attributes:
        start: Commanded positions before and after the waves [rad or m].
        lower: Lower limits of positions [rad or m].
        upper: Upper limits.
        velocity: Largest speeds [rad/s or m/s].
        effort: Largest torques [N m or N]; infinite where there are no limits.
        amplitude: Largest distance of commands from the start [rad or m].
        clear: What the robot keeps away from; None where collisions are not looked at.
    """

    start: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    amplitude: Array
    clear: ClearanceLimit | None = None


@dataclass(frozen=True, eq=False)
class CommandProblem:
    """What is searched for.

    Attributes:
        robot: The robot and its law.
        room: Its limits.
        noise: Standard deviation of each joint's measured positions [rad or m], shape (joints,).
        duration: How long commands last [s].
        rate: Sampling rate of the log [Hz].
        command_rate: How often commands change [Hz]; they are held between.
        bias: Whether encoder biases are estimated.
        known: Information that exists, shape (unknowns, unknowns); None for none.
        criterion: "largest" relative standard deviation, or "determinant" of the covariance.
    """

    robot: ControlledRobot
    room: Room
    noise: Array
    duration: float
    rate: float
    command_rate: float
    bias: bool
    known: Array | None = None
    criterion: str = "largest"

    @cached_property
    def simulated(self) -> SimulatedRobot:
        """The robot that is rolled out."""
        return SimulatedRobot.of(self.robot.model, self.robot.point.p)

    @cached_property
    def times(self) -> Array:
        """Time stamps of the log [s], shape (samples,)."""
        return np.arange(round(self.duration * self.rate) + 1) / self.rate

    @cached_property
    def command_times(self) -> Array:
        """When commands change [s], shape (commands,)."""
        return np.arange(math.floor(self.duration * self.command_rate + 1e-9) + 1) / self.command_rate

    @cached_property
    def resting(self) -> Rollout:
        """The robot as it hangs on its first command.

        Raises:
            InvalidRequestError: If it does not come to rest near it.
        """
        stamps = np.arange(round(SETTLING_SECONDS * self.rate) + 1) / self.rate
        held = self._input(stamps, np.repeat(self.room.start[None], len(stamps), axis=0))
        found = self._rolled(held, self.room.start)
        if found.ended is not None or np.any(np.abs(found.v[-len(stamps) // 8 :]) > RESTING_SPEED * self.room.velocity):
            raise InvalidRequestError(
                "the simulated robot does not come to rest on a constant command; check kp and kd"
            )
        _require_torque(np.abs(found.torque[-1]), self.room.effort, self.robot.model.row_names)
        return found

    @cached_property
    def columns(self) -> RolloutParameters:
        """What is estimated, as columns of sensitivities."""
        return self._unknowns[0]

    @property
    def unknowns(self) -> Unknowns:
        """What is estimated."""
        return self._unknowns[1]

    @cached_property
    def _unknowns(self) -> tuple[RolloutParameters, Unknowns]:
        columns, unknowns = self.robot.unknowns(self._log(self.resting), bias=self.bias)
        model, sizes = self.robot.model, np.array(unknowns.sizes)
        for k, (name, row) in enumerate(zip(unknowns.names, unknowns.rows, strict=True)):
            if name in model.names and model.parameters[model.names.index(name)].role not in OF_MOTION:
                sizes[k] = max(sizes[k], self.robot.kp[row] * min(float(self.room.amplitude[row]), 1.0))
        return columns, replace(unknowns, sizes=sizes)

    @cached_property
    def sizes(self) -> tuple[Array, NDArray[np.bool_]]:
        """Standard deviations that count as 100 %, and which unknowns decide; both of shape (unknowns,)."""
        return relative_sizes(self.robot, self.unknowns, self.room.start)

    def _log(self, rollout: Rollout) -> Log:
        """The log of a rollout."""
        control = rollout.control
        return Log(
            time=control.time,
            position=rollout.q,
            velocity=rollout.v,
            position_command=control.position,
            kp=self.robot.kp,
            kd=self.robot.kd,
            back_emf=self.robot.back_emf,
            effort_limit=None if self.robot.servo is None else self.robot.effort,
        )

    def commands(self, waves: Sequence[CommandWave], amplitude: Array, *, in_turn: bool) -> Array:
        """Commanded positions when they change [rad or m], shape (commands, joints)."""
        return self.room.start + amplitude * wave_values(waves, self.command_times, self.duration, in_turn=in_turn)

    def roll_out(self, commands: Array, *, steps_kept: bool = False) -> Rollout:
        """The rollout of commands, shape (commands, joints), that are held between the times at which they change."""
        row = np.searchsorted(self.command_times, self.times + 1e-9, side="right") - 1
        return self._rolled(self._input(self.times, commands[row]), self.resting.q[-1], steps_kept=steps_kept)

    def _input(self, times: Array, commands: Array) -> ControlInput:
        point, control = self.robot.point, self.robot.control
        rate = None if point.form == "continuous" else control.rate or self.rate
        gains = {"kp": self.robot.kp, "kd": self.robot.kd, "back_emf": self.robot.back_emf}
        return ControlInput(time=times, position=commands, rate=rate, **gains)

    def _rolled(self, control: ControlInput, q0: Array, *, steps_kept: bool = False) -> Rollout:
        point = self.robot.point
        return roll_out(self.simulated, control, q0, delay=point.delay, bias=point.bias, steps_kept=steps_kept)

    def peak_torques(self, commands: Array, rollout: Rollout) -> Array:
        """Torques of the law just after each command arrives [N m or N], where they peak, shape (commands, joints)."""
        arrive = np.minimum(self.command_times + max(rollout.delay, 0.0), self.times[-1])
        q, v = (_at(arrive, self.times, x) for x in (rollout.q, rollout.v))
        return self.robot.kp * (commands - q) - self.robot.kd * v

    def used(self, commands: Array, rollout: Rollout) -> Array:
        """Parts of the limits that commands and their rollout use, shape (joints,); above 1 one is exceeded."""
        room, still = self.room, np.abs(self.resting.torque[-1])
        reached = [
            (x - room.start) / (end - room.start) for x in (commands, rollout.q) for end in (room.lower, room.upper)
        ]
        torques = np.abs(self.peak_torques(commands, rollout)).max(axis=0)
        steady = self.robot.before_back_emf(rollout.torque, rollout.v)
        torques = np.maximum(torques, np.abs(steady).max(axis=0))
        of_torque = (torques - still) / np.maximum(room.effort - still, 1e-12)
        of_speed = np.abs(rollout.v).max(axis=0) / room.velocity
        return np.max([*(part.max(axis=0) for part in reached), of_speed, of_torque], axis=0)

    def trial(self, waves: Sequence[CommandWave], most: Array, *, in_turn: bool) -> Trial | None:
        """Commands with amplitudes as large as limits allow; None where none are found.

        Args:
            waves: The wave of each joint.
            most: Largest amplitudes [rad or m], shape (joints,).
            in_turn: Whether one joint moves after the other.
        """
        amplitude = np.array(most)
        for _ in range(SCALINGS):
            commands = self.commands(waves, amplitude, in_turn=in_turn)
            rollout = self.roll_out(commands)
            if rollout.ended is not None:
                amplitude *= 0.5
                continue
            used = self.used(commands, rollout)
            if amplitude.max() < FEWEST_AMPLITUDE:
                return None
            if (used <= 1.0).all():
                return self.judged(Commanded(tuple(waves), amplitude, in_turn, commands))
            amplitude = amplitude * np.where(used > 1.0, 0.97 / np.maximum(used, 1.0), 1.0)
        return None

    def judged(self, commanded: Commanded) -> Trial | None:
        """Commands with their rollout and what it promises; None where its slopes overflow."""
        rollout = self.roll_out(commanded.commands, steps_kept=True)
        with np.errstate(all="ignore"):  # slopes of rollouts on their way to fly off overflow
            H = information(rollout, self.columns, self.noise)
        sizes, judged = self.sizes
        if not np.isfinite(H).all():
            return None
        C = covariance(H if self.known is None else H + self.known, self.unknowns)
        relative = np.sqrt(np.maximum(np.diag(C), 1e-300)) / sizes
        worst = np.full(len(self.robot.kp), 0.0)
        for k, row in enumerate(self.unknowns.rows):
            if row >= 0 and judged[k]:
                worst[row] = max(worst[row], relative[k])
        if self.criterion == "determinant":
            value = 0.5 * float(np.linalg.slogdet(C / np.outer(sizes, sizes))[1]) / len(sizes)
        else:
            value = math.log(float(np.mean(relative[judged] ** 8)) ** 0.125)
        return Trial(commanded, replace_steps(rollout), H, Promise(self.unknowns, C, sizes), worst, value)


def _require_unknowns(problem: CommandProblem) -> None:
    """Refuse a design for nothing."""
    if not problem.sizes[1].any():
        raise InvalidRequestError(
            "armature, friction and delay are all known, so that no commands could show more; leave some of [known] "
            "out, or delay of [control]"
        )


def _require_torque(needed: Array, effort: Array, names: Sequence[str]) -> None:
    """Refuse a start that takes more torque [N m or N] than there is, both of shape (joints,)."""
    for name, torque, limit in zip(names, needed.tolist(), effort.tolist(), strict=True):
        if torque > limit:
            raise InvalidRequestError(
                f"joint '{name}' needs {torque:.3g} to hold the start posture, and {limit:.3g} [N m or N] is allowed; "
                "state another start, or a larger effort, in [excitation]"
            )


def replace_steps(rollout: Rollout) -> Rollout:
    """The rollout without its steps, which take much memory."""
    return replace(rollout, steps=None)


def _at(times: Array, stamps: Array, x: Array) -> Array:
    return np.column_stack([np.interp(times, stamps, column) for column in x.T])


@dataclass(frozen=True, eq=False)
class Commanded:
    """Commands of a family.

    Attributes:
        waves: The wave of each joint.
        amplitude: Amplitudes [rad or m], shape (joints,).
        in_turn: Whether one joint moves after the other.
        commands: Commanded positions [rad or m], shape (commands, joints).
    """

    waves: tuple[CommandWave, ...]
    amplitude: Array
    in_turn: bool
    commands: Array


@dataclass(frozen=True, eq=False)
class Trial:
    """Commands that were tried.

    Attributes:
        commanded: The commands.
        rollout: Their rollout.
        information: Its information, shape (unknowns, unknowns).
        promise: What it promises, together with what is known.
        worst: Largest relative standard deviation of each joint's parameters, shape (joints,).
        value: The criterion; smaller is better.
    """

    commanded: Commanded
    rollout: Rollout
    information: Array
    promise: Promise
    worst: Array
    value: float


@dataclass(frozen=True)
class Searched:
    """What may be tried.

    Attributes:
        kinds: Kinds of waves.
        low: Lowest frequency [Hz].
        high: Highest frequency [Hz].
        has_band: Whether these are stated, and so stay.
    """

    kinds: tuple[WaveKind, ...]
    low: float
    high: float
    has_band: bool


def search(
    problem: CommandProblem,
    searched: Searched,
    *,
    time_limit: float,
    trials: int | None,
    seed: int,
    progress: Callable[[str], None],
) -> tuple[Trial, int]:
    """The best commands that were found in some time, and how many were tried.

    Args:
        problem: What is searched for.
        searched: What may be tried.
        time_limit: When to stop [s].
        trials: How many at most; as many as there is time for when None.
        seed: Seed of everything random.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If limits leave no room for any.
    """
    _require_unknowns(problem)
    begin, rng = time.monotonic(), np.random.default_rng((seed, 9))
    most, n = np.array(problem.room.amplitude), len(problem.robot.kp)
    so_far = _SoFar()
    count = 0
    for waves, in_turn in _candidates(searched, n, seed, rng, so_far):
        best = so_far.best
        if best is not None and (time.monotonic() - begin > time_limit or (trials is not None and count >= trials)):
            break
        if count > _MOST_TRIALS or (best is None and count >= _FIRST_TRIALS):
            break
        count += 1
        trial = problem.trial(waves, most, in_turn=in_turn)
        if trial is None or not math.isfinite(trial.value):
            continue
        if best is None or trial.value < best.value:
            trial, most = _clear(problem, trial, most, COARSE_SAMPLES)
        if trial is not None:
            so_far.take(trial)
        if so_far.best is not None:
            promise = so_far.best.promise
            largest = float((promise.stds / promise.sizes)[problem.sizes[1]].max())
            progress(f"{count} commands tried: largest relative standard deviation {largest:.2%}")
    best = so_far.best
    if best is not None:
        best, _ = _clear(problem, best, most, 1)
    if best is None:
        raise InvalidRequestError(
            "no commands were found within the limits of positions, velocities and torques, clear of collisions; state "
            "another start, wider limits, or a smaller clearance in [excitation], and check kp and kd"
        )
    return best, count


_MOST_TRIALS = 100_000
_FIRST_TRIALS = 60


class _SoFar:
    """The best commands so far, and the best wave of each joint with its largest relative standard deviation."""

    def __init__(self) -> None:
        self.best: Trial | None = None
        self.own: list[tuple[float, CommandWave]] = []

    def take(self, trial: Trial) -> None:
        """Look at further commands."""
        if self.best is None or trial.value < self.best.value:
            self.best = trial
        new = list(zip(trial.worst.tolist(), trial.commanded.waves, strict=True))
        self.own = [min(pair, key=lambda one: one[0]) for pair in zip(self.own or new, new, strict=True)]


def _candidates(
    searched: Searched,
    joints: int,
    seed: int,
    rng: np.random.Generator,
    so_far: _SoFar,
) -> Iterator[tuple[tuple[CommandWave, ...], bool]]:
    """Waves to try: a grid; the best of each joint together; the best in turn; then changes at random."""
    tops = [searched.high] if searched.has_band else np.geomspace(searched.high, 2.5 * searched.low, 4).tolist()
    for tilt, high, kind in itertools.product((1.0, 0.0), tops, searched.kinds):
        yield tuple(CommandWave(kind, searched.low, high, tilt, 1000 * seed + k) for k in range(joints)), False
    if so_far.best is None:
        return
    yield tuple(wave for _, wave in so_far.own), False
    if joints > 1:
        yield so_far.best.commanded.waves, True
    while True:
        best = so_far.best
        together = rng.random() < 0.3 and not best.commanded.in_turn
        waves = [wave for _, wave in so_far.own] if together else best.commanded.waves
        yield tuple(_changed(wave, searched, rng) for wave in waves), best.commanded.in_turn


def _changed(wave: CommandWave, searched: Searched, rng: np.random.Generator) -> CommandWave:
    """A wave with some of its numbers changed at random."""
    if rng.random() < 0.3:
        return wave
    low, high = searched.low, searched.high
    if not searched.has_band:
        high = float(np.clip(wave.high * math.exp(rng.normal(0.0, 0.3)), 1.5 * searched.low, searched.high))
        low = float(np.clip(wave.low * math.exp(rng.normal(0.0, 0.3)), searched.low, high / 1.5))
    tilt = float(np.clip(wave.tilt + rng.normal(0.0, 0.25), 0.0, 1.5))
    seed = int(rng.integers(1 << 30)) if rng.random() < 0.5 else wave.seed
    kind = searched.kinds[int(rng.integers(len(searched.kinds)))] if rng.random() < 0.1 else wave.kind
    return CommandWave(kind, low, high, tilt, seed)


def _clear(problem: CommandProblem, trial: Trial, most: Array, every: int) -> tuple[Trial | None, Array]:
    """Commands with smaller amplitudes of joints whose links would come too near, and the largest amplitudes then.

    Args:
        problem: What is searched for.
        trial: The commands.
        most: Largest amplitudes [rad or m], shape (joints,).
        every: Every how many samples are looked at.
    """
    clear = problem.room.clear
    found: Trial | None = trial
    while clear is not None and found is not None:
        wanted = clear.clearance + (COARSE_CLEARANCE if every > 1 else 0.0)
        nearest, _ = clear.model.nearest(found.rollout.q[::every], below=wanted)
        close = [clear.model.pairs[k] for k in np.flatnonzero(nearest < wanted)]
        moving = {joint for pair in close for joint in clear.model.joints_between(pair)}
        joints = sorted({clear.model.robot.joints[joint].v.start for joint in moving})
        if not joints:
            return found, most
        most = np.array(most)
        most[joints] = SMALLER * np.minimum(most, found.commanded.amplitude)[joints]
        if (most[joints] < FEWEST_AMPLITUDE).any():
            return None, most
        found = problem.trial(found.commanded.waves, most, in_turn=found.commanded.in_turn)
    return found, most
