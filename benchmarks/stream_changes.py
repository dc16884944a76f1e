"""Alarms of streams: false ones, payloads and rising friction, over simulated draws.

    DYNID_DATASETS=... python -m benchmarks.stream_changes --draws 6 --out docs/stream.md

Thresholds were calibrated on draws 0 to 5 of a Panda and a UR5, and on motions between points of draws 900 to 905;
other draws from 300 on, and the other robots, show them.
The simulated torques have white noise, errors of two correlation times, ripple over positions and Stribeck friction,
none of which the model has. `surrogate` draws take the errors that the model leaves on the real logs of robots, with
the same spectra and random phases; logs themselves are those of `benchmarks/stream_real.py`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from tests.references import example_robot_file

import dynid
from benchmarks.marked_tables import with_table
from dynid.arrays import Array
from dynid.estimation.streams.hypotheses import dry_levels
from dynid.model import DynamicModel, random_states
from dynid.robot import inertia

TERMS = ["viscous", "coulomb", "armature", "offset"]
CALIBRATED = ("panda", "ur5")
SHOWN = ("panda", "ur5", "spatial_3r", "xarm7", "kinova", "tiago_no_hand")
SURROGATES = ("panda", "ur10", "ur10e")
"""Robots by what their draws are for: built in, or files of `example-robot-data`; the last are of the real logs."""

LOCKED = ["head_1_joint", "head_2_joint", "wheel_left_joint", "wheel_right_joint"]
"""Joints of TIAGo that stay: its arm moves, on a lift."""

RATE = 200.0
QUIET, AFTER = 640.0, 30.0
"""Length of recordings without a change, and of the part after one [s]."""

REACH = 1.2
"""How far joints are from zero at the points of motions between points, at most [rad]."""

STOPPED = 170.0, 45.0
"""Lengths of the parts before and after a payload is picked up in such motions [s]."""

BEFORE = 100.0
"""Length of the part before a change [s]."""

MASS, FRICTION, RISE = 1.0, 1.5, 10.0
"""The payload [kg], what friction is multiplied with, and how long it rises [s]."""

PICKS, HELD = 6, 12.0
"""How often a payload is picked up and put down, and for how long it is held, and not [s]."""

Errors = Callable[[np.random.Generator, Array, Array], Array]


def motion(rng: np.random.Generator, seconds: float, joints: int) -> tuple[Array, Array, Array, Array]:
    """Time, positions, velocities and accelerations of sums of six sines up to 0.5 Hz."""
    t = np.arange(int(seconds * RATE)) / RATE
    omega = 2.0 * np.pi * rng.uniform(0.03, 0.5, (6, joints, 1))
    phase, size = rng.uniform(0.0, 2.0 * np.pi, (6, joints, 1)), rng.normal(size=(6, joints, 1))
    size *= 0.5 / np.sqrt(np.sum(size**2, axis=0) / 2.0)
    sine, cosine = np.sin(omega * t + phase), np.cos(omega * t + phase)
    parts = size * sine, size * omega * cosine, -size * omega**2 * sine
    q, v, a = (part.sum(axis=0).T for part in parts)
    return t, q, v, a


def stops(rng: np.random.Generator, seconds: float, joints: int) -> tuple[Array, Array, Array, Array]:
    """The same of motions between points, of most joints at a time, with rests of 0.2 s to 2 s between them."""
    t = np.arange(int(seconds * RATE)) / RATE
    q, v, a = np.zeros((3, len(t), joints))
    first, at = 0, np.zeros(joints)
    while first < len(t):
        to = rng.uniform(-REACH, REACH, joints)
        to = np.where(rng.random(joints) < 0.7, to, at)
        lasting = max(0.8, 1.5 * float(np.abs(to - at).max()) / rng.uniform(0.4, 1.2))
        s = (np.arange(int(lasting * RATE)) / int(lasting * RATE))[: len(t) - first]
        some = slice(first, first + len(s))
        q[some] = at + np.outer(10 * s**3 - 15 * s**4 + 6 * s**5, to - at)
        v[some] = np.outer(30 * s**2 - 60 * s**3 + 30 * s**4, to - at) / lasting
        a[some] = np.outer(60 * s - 180 * s**2 + 120 * s**3, to - at) / lasting**2
        first = min(some.stop + int(rng.uniform(0.2, 2.0) * RATE), len(t))
        q[some.stop : first], at = to, to
    return t, q, v, a


def at_rest(model: DynamicModel, p: Array, rng: np.random.Generator, v: Array) -> Array:
    """Errors of dry friction [N m or N], shape (samples, rows): at rest it takes any value between both signs."""
    levels, found = dry_levels(model, p), np.zeros_like(v)
    for row, level in enumerate(levels):
        still = np.abs(v[:, row]) < 1e-6
        rest = np.cumsum(np.diff(still.astype(int), prepend=0) == 1)
        found[:, row] = np.where(still, level * rng.uniform(-1.0, 1.0, rest.max(initial=0) + 1)[rest], 0.0)
    return found


@cache
def torque_sizes(model: DynamicModel) -> Array:
    """Root mean square of gravity's torques, and no less than a twentieth of the largest [N m], shape (rows,)."""
    q = random_states(model, 200, np.random.default_rng(0))[0]
    found = np.sqrt(np.mean(model.inverse_dynamics(q) ** 2, axis=0))
    return np.maximum(found, 0.05 * found.max())


def truth(model: DynamicModel, rng: np.random.Generator) -> Array:
    """The file's links with friction of a size that drives have."""
    p, sizes = np.nan_to_num(model.reference).copy(), torque_sizes(model)
    parts = {"viscous": 0.15, "coulomb": 0.15, "armature": 0.02}
    rows = {joint.name: joint.v.start for joint in model.robot.axes}
    for k, one in enumerate(model.parameters):
        if k >= len(model.robot.parameters) and one.joint is not None:
            part = parts.get(one.role.value)
            p[k] = sizes[rows[one.joint]] * (0.03 * rng.normal() if part is None else part)
    return p


def simulated_errors(model: DynamicModel) -> Errors:
    """Errors that the model does not have, some percent of the torques."""
    sizes = 0.03 * torque_sizes(model)

    def draw(rng: np.random.Generator, q: Array, v: Array) -> Array:
        found = 0.3 * rng.normal(size=q.shape) + np.sign(v) * np.exp(-np.abs(v) / 0.1)
        found += 0.6 * np.sin(rng.integers(5, 25, q.shape[1]) * q + rng.uniform(0.0, 6.0, q.shape[1]))
        for part, lasting in ((0.5, 0.1), (0.4, 5.0)):
            fade = np.exp(-1.0 / (RATE * lasting))
            white = np.sqrt(1.0 - fade**2) * rng.normal(size=q.shape)
            found += part * np.asarray(lfilter([1.0], [1.0, -fade], white, axis=0))
        return sizes * found

    return draw


def surrogate_of(name: str) -> tuple[DynamicModel, Errors]:
    """A robot of the real logs, with errors that have the spectra of what its model leaves, and random phases."""
    from tests.real_logs import real_log

    log = real_log(name)
    result = dynid.identify(log.robot, [log.training], terms=list(log.experiment.terms), drive=log.experiment.drive)
    (replay,) = result.replays()
    rate = replay.segments[0].rate
    left = np.concatenate([segment.measured - segment.predicted for segment in replay.segments])
    at = np.arange(0.0, len(left) / rate, 1.0 / RATE) * rate
    left = np.stack([np.interp(at, np.arange(len(left)), one) for one in left.T], axis=1)
    spectrum = np.abs(np.fft.rfft(left - left.mean(axis=0), axis=0)) / len(left)
    frequencies = np.fft.rfftfreq(len(left), 1.0 / RATE)

    def draw(rng: np.random.Generator, q: Array, _: Array) -> Array:
        wanted = np.fft.rfftfreq(len(q), 1.0 / RATE)
        density = np.stack([np.interp(wanted, frequencies, one) for one in spectrum.T], axis=1)
        density *= np.sqrt(len(left) / len(q)) * len(q)
        phases = np.exp(2j * np.pi * rng.uniform(size=density.shape))
        return np.fft.irfft(density * phases, len(q), axis=0)

    return DynamicModel(log.robot, TERMS), draw


@dataclass
class Score:
    """What the draws of a robot came to."""

    minutes: float = 0.0
    false: int = 0
    payloads: list[float] = field(default_factory=list)
    held: int = 0
    frictions: list[float] = field(default_factory=list)
    named: int = 0
    more: int = 0

    def row(self, name: str, draws: str) -> str:
        """A row of the table."""
        n, m = len(self.payloads), len(self.frictions)
        within = sum(delay <= 1.0 for delay in self.payloads)
        return (
            f"| {name} | {draws} | {self.minutes:.0f} | {self.false} | {within} of {n} | {_delays(self.payloads)} "
            f"| {self.held} of {n} | {self.named} of {m} | {_delays(self.frictions)} | {self.more} |"
        )


def _delays(delays: Sequence[float]) -> str:
    return f"{np.median(delays):.2f} / {np.max(delays):.2f}" if delays else ""


def _holds(interval: tuple[float, float]) -> bool:
    return interval[0] <= MASS <= interval[1]


def streamed(model: DynamicModel, signals: Sequence[Array], errors: Array) -> dynid.Stream:
    """A stream of torques with errors."""
    t, q, v, a, tau = signals
    stream = dynid.Stream(model)
    stream.update(q, v, a, tau + errors, t=t)
    assert stream.is_watching
    return stream


def changed(model: DynamicModel, p: Array, rng: np.random.Generator, joint: int | None) -> Array:
    """Parameters with a payload at the last link, or with more friction of a joint."""
    p, last = p.copy(), len(model.robot.parameters)
    if joint is None:
        com = rng.normal(size=3) * 0.05 + [0.0, 0.0, 0.1]
        p[last - inertia.SIZE : last] += inertia.from_mass_com_inertia(MASS, com, 2e-3 * MASS * np.eye(3))
        return p
    for k, one in enumerate(model.parameters):
        if one.joint == model.robot.axes[joint].name and one.role.value in ("viscous", "coulomb"):
            p[k] *= FRICTION
    return p


def study(model: DynamicModel, draws: Sequence[int], errors_of: Errors) -> Score:
    """Recordings without a change, with a payload and with rising friction, for each draw."""
    score = Score()
    for draw in draws:
        rng = np.random.default_rng(draw)
        p = truth(model, rng)
        t, q, v, a = motion(rng, QUIET, model.row_count)
        tau = model.inverse_dynamics(q, v, a, p)
        quiet = streamed(model, (t, q, v, a, tau), errors_of(rng, q, v))
        score.false += len(quiet.alarms)
        score.minutes += (QUIET - 2.0 * dynid.ChangeThresholds().learning) / 60.0
        for joint in (None, int(rng.integers(model.row_count))):
            t, q, v, a = motion(rng, BEFORE + AFTER, model.row_count)
            new = changed(model, p, rng, joint)
            share = np.clip((t - BEFORE) / (RISE if joint is not None else 1e-9), 0.0, 1.0)[:, None]
            tau = (1.0 - share) * model.inverse_dynamics(q, v, a, p) + share * model.inverse_dynamics(q, v, a, new)
            alarms = streamed(model, (t, q, v, a, tau), errors_of(rng, q, v)).alarms
            early = [alarm for alarm in alarms if alarm.seconds < BEFORE]
            late = [alarm for alarm in alarms if alarm.seconds >= BEFORE]
            score.false += len(early)
            score.minutes += (BEFORE - 2.0 * dynid.ChangeThresholds().learning) / 60.0
            score.more += max(len(late) - 1, 0)
            delay = late[0].seconds - BEFORE if late else np.inf
            if joint is None:
                score.payloads.append(delay)
                score.held += bool(late) and late[0].cause == "payload" and _holds(late[0].interval)
            else:
                place = model.robot.axes[joint].name
                score.frictions.append(delay)
                score.named += bool(late) and (late[0].cause, late[0].place) == ("friction", place)
    return score


HEAD = [
    "| robot | draws | minutes without a change | false alarms | 1 kg within 1 s | delay, median / largest [s] "
    "| interval holds the mass | friction named with its joint | delay, median / largest [s] | further alarms |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
]


def model_of(name: str) -> DynamicModel:
    """The model of a robot."""
    if name in ("panda", "ur5", "spatial_3r"):
        return DynamicModel(f"builtin:{name}", TERMS)
    return DynamicModel(
        dynid.load_robot(example_robot_file(f"{name}.urdf"), lock=LOCKED if name.startswith("tiago") else ()), TERMS
    )


def simulated_table(count: int) -> str:
    """The table of simulated draws."""
    lines = list(HEAD)

    def add(name: str, model: DynamicModel, draws: range, what: str, errors: Errors) -> None:
        lines.append(study(model, draws, errors).row(name, f"{draws[0]} to {draws[-1]}, {what}"))
        print(lines[-1], flush=True)

    for first, names, what in ((0, CALIBRATED, "calibrated"), (300, SHOWN, "shown")):
        for name in names:
            model = model_of(name)
            add(name, model, range(first, first + count), what, simulated_errors(model))
    if os.environ.get("DYNID_DATASETS"):
        for name in SURROGATES:
            model, errors = surrogate_of(name)
            add(f"{name}, errors of its real log", model, range(400, 400 + count), "surrogates, shown", errors)
    return "\n".join(lines)


def picking_row(name: str, draws: Sequence[int]) -> str:
    """A row of the table of payloads that come and go."""
    model, delays, named, more = model_of(name), [], 0, 0
    for draw in draws:
        rng = np.random.default_rng(draw)
        p = truth(model, rng)
        t, q, v, a = motion(rng, BEFORE + 2 * PICKS * HELD, model.row_count)
        loaded = ((t >= BEFORE) & ((t - BEFORE) // HELD % 2 == 0))[:, None]
        new = changed(model, p, rng, None)
        tau = np.where(loaded, model.inverse_dynamics(q, v, a, new), model.inverse_dynamics(q, v, a, p))
        alarms = streamed(model, (t, q, v, a, tau), simulated_errors(model)(rng, q, v)).alarms
        for k in range(2 * PICKS):
            begin = BEFORE + k * HELD
            own = [alarm for alarm in alarms if begin <= alarm.seconds < begin + HELD]
            delays.append(own[0].seconds - begin if own else np.inf)
            sign = 1.0 if k % 2 == 0 else -1.0
            named += bool(own) and own[0].cause == "payload" and abs(sign * own[0].change - MASS) < 0.2 * MASS
            more += max(len(own) - 1, 0)
    within = sum(delay <= 1.0 for delay in delays)
    n = len(delays)
    return f"| {name} | {within} of {n} | {_delays(delays)} | {named} of {n} | {more} |"


def stops_row(name: str, draws: Sequence[int]) -> str:
    """A row of the table of motions between points, of which a stream gets positions and torques."""
    model, false, minutes, delays, held = model_of(name), 0, 0.0, [], 0
    errors_of, before = simulated_errors(model), STOPPED[0]
    for draw in draws:
        rng = np.random.default_rng(draw)
        p = truth(model, rng)
        for is_loaded in (False, True):
            t, q, v, a = stops(rng, sum(STOPPED) if is_loaded else QUIET, model.row_count)
            tau = model.inverse_dynamics(q, v, a, p) + errors_of(rng, q, v) + at_rest(model, p, rng, v)
            new = changed(model, p, rng, None)
            if is_loaded:
                more = model.inverse_dynamics(q, v, a, new) - model.inverse_dynamics(q, v, a, p)
                tau += np.where(t[:, None] >= before, more, 0.0)
            stream = dynid.Stream(model)
            stream.update(t, q + 1e-5 * rng.normal(size=q.shape), tau)
            early = [alarm for alarm in stream.alarms if not is_loaded or alarm.seconds < before]
            late = [alarm for alarm in stream.alarms if is_loaded and alarm.seconds >= before]
            false += len(early)
            minutes += ((before if is_loaded else QUIET) - 2.0 * dynid.ChangeThresholds().learning) / 60.0
            if is_loaded:
                moves = np.any(np.abs(v) > dynid.ChangeThresholds().moving, axis=1)
                seen = (t >= before) & (t <= late[0].seconds) if late else np.zeros(len(t), dtype=bool)
                delays.append(float(np.sum(moves & seen)) / RATE if late else np.inf)
                held += bool(late) and late[0].cause == "payload" and _holds(late[0].interval)
    n = len(delays)
    within = sum(delay <= 1.0 for delay in delays)
    return (
        f"| {name} | {draws[0]} to {draws[-1]} | {minutes:.0f} | {false} | {within} of {n} | {_delays(delays)} "
        f"| {held} of {n} |"
    )


def stops_table() -> str:
    """The table of motions between points."""
    lines = [
        "| robot | draws | minutes without a change | false alarms | 1 kg within 1 s of motion "
        "| motion until then, median / largest [s] | interval holds the mass |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, draws in (("panda", range(900, 906)), ("ur5", range(900, 906))):
        lines.append(stops_row(name, draws))
        print(lines[-1], flush=True)
    for name in ("panda", "ur5", "spatial_3r", "xarm7"):
        lines.append(stops_row(name, range(1900, 1904)))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def picking_table() -> str:
    """The table of payloads that come and go."""
    lines = [
        "| robot | noticed within 1 s | delay, median / largest [s] | payload, within 20 % | further alarms |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ("panda", "ur5", "xarm7"):
        lines.append(picking_row(name, range(600, 603)))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=6, help="draws of each robot")
    parser.add_argument("--out", type=Path, help="Markdown file whose tables are replaced")
    options = parser.parse_args()
    tables = {
        "stream stops": stops_table(),
        "stream picking": picking_table(),
        "stream changes": simulated_table(options.draws),
    }
    if options.out is not None:
        for name, found in tables.items():
            options.out.write_text(with_table(options.out.read_text(), name, found))


if __name__ == "__main__":
    main()
