"""Alarms of streams on real logs: those of a UR10e with and without its load, and others with a load added to torques.

    DYNID_DATASETS=... python -m benchmarks.stream_real --out docs/stream.md

The first table is all real. In the second, torques are measured, and those of a payload of 1 kg are added to the part
of each log that was not identified from: the model's, at filtered positions and their derivatives. The stream goes on
from the identification of the other part, and learns what is normal from it.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfiltfilt
from tests.real_logs import FOLDER, RealLog, real_log

import dynid
from benchmarks.marked_tables import with_table
from dynid.arrays import Array
from dynid.experiment.reading import read_experiment
from dynid.logs import read_source, transmission_of
from dynid.robot import inertia

UR10E = {"motion_50s": (195, 4966), "motion_50s_load": (308, 5071), "point_to_point": (699, 4200)}
"""Rows of the real logs in which the robot moves; the load weighs 2.805 kg."""

SEQUENCES = (
    ("motion_50s", "point_to_point"),
    ("point_to_point", "motion_50s"),
    ("motion_50s", "motion_50s_load"),
    ("point_to_point", "motion_50s_load"),
    ("motion_50s_load", "motion_50s"),
)

PAUSE = 1.0
"""Time [s] between two logs."""

ADDED = ("panda", "tx40", "ur10", "ur10e", "tiago")
"""Robots to whose torques a payload is added."""

MASS = 1.0
"""The payload [kg]."""

BEGINS = (0.2, 0.35, 0.5, 0.65, 0.8)
"""When it is there, in parts of the log's length."""

LEARNING = 10.0
"""Motion [s] that is learned from: the logs are short."""

MOST_REPEATS = 8
"""How often a log is repeated until enough of each joint's motion was learned."""

SLOW = 150.0
"""Sampling rate [Hz] below which filters have a lower cut-off."""

Signals = tuple[Array, Array, Array]


def signals(log: dynid.Log, real: RealLog) -> Signals:
    """Time, positions and torques at the joints of a real log."""
    drive = transmission_of(real.experiment.drive, real.robot)
    return log.time - log.time[0], drive.joint_positions(log.position), drive.joint_torques(log.torque)


def ur10e_signals(name: str, real: RealLog) -> Signals:
    """The same of one of the UR10e's files."""
    experiment = read_experiment(FOLDER / "ur10e.toml")
    source, file = experiment.log[0], Path(os.environ["DYNID_DATASETS"]) / "ur10e" / f"{name}.csv"
    parts = {
        key: getattr(source, key).model_copy(update={"file": file})
        for key in ("time", "position", "velocity", "torque")
    }
    changed = source.model_copy(update={"name": name, "rows": UR10E[name], **parts})
    return signals(read_source(changed, real.robot, drive=experiment.drive), real)


def stream_of(start: dynid.Result | dynid.DynamicModel, rate: float, learning: float) -> dynid.Stream:
    """A stream whose filters suit a sampling rate [Hz]."""
    cutoff = 8.0 if rate < SLOW else 20.0
    causal = dynid.CausalFilter(cutoff=cutoff, rows=0.5 * cutoff)
    return dynid.Stream(start, changes=dynid.ChangeThresholds(learning=learning), causal_filter=causal)


def loads_table() -> str:
    """Logs of the UR10e one after the other, with a load that comes or goes between them."""
    real = real_log("ur10e")
    experiment = real.experiment
    result = dynid.identify(real.robot, [real.training], terms=list(experiment.terms), drive=experiment.drive)
    lines = ["| from | logs | load changes at [s] | alarms |", "| --- | --- | --- | --- |"]
    for sequence in SEQUENCES:
        for start in ("result", "robot"):
            stream = stream_of(result if start == "result" else result.model, 100.0, 20.0)
            begin = at = 0.0
            for name in sequence:
                t, q, tau = ur10e_signals(name, real)
                at, begin = begin, begin + float(t[-1]) + PAUSE
                stream.update(t + at, q, tau)
            loads = {"load" in name for name in sequence}
            said = "; ".join(str(alarm) for alarm in stream.alarms) or "none"
            changes = f"{at:.1f}" if len(loads) > 1 else "none"
            lines.append(f"| {start} | {', then '.join(sequence)} | {changes} | {said} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def payload_torques(result: dynid.Result, t: Array, q: Array) -> Array:
    """Torques of a payload at the last link along positions [N m or N], shape (samples, joints)."""
    rate = 1.0 / float(np.median(np.diff(t)))
    low = sosfiltfilt(butter(4, min(10.0, 0.2 * rate), fs=rate, output="sos"), q, axis=0)
    v = np.gradient(low, t, axis=0)
    p, last = np.zeros(len(result.model.names)), len(result.model.robot.parameters)
    centre = np.array([0.0, 0.0, 0.1])
    p[last - inertia.SIZE : last] = inertia.from_mass_com_inertia(MASS, centre, 2e-3 * np.eye(3))
    return result.model.inverse_dynamics(low, v, np.gradient(v, t, axis=0), p)


def added_row(name: str) -> str:
    """A row of the table of added payloads."""
    real = real_log(name)
    experiment = real.experiment
    result = dynid.identify(real.robot, [real.training], terms=list(experiment.terms), drive=experiment.drive)
    (t, q, tau), (unseen, positions, torques) = (signals(log, real) for log in (real.training, real.validation))
    more, rate, length = payload_torques(result, unseen, positions), 1.0 / float(np.median(np.diff(t))), t[-1] + PAUSE

    def streamed(begin: float) -> tuple[dynid.Stream, float]:
        stream, before = stream_of(result, rate, LEARNING), 0.0
        while not stream.is_watching and before < MOST_REPEATS * length:  # some joints move a part of the time only
            stream.update(t + before, q, tau)
            before += length
        assert stream.is_watching
        stream.update(unseen + before, positions, torques + more * (unseen >= begin)[:, None])
        return stream, before

    false, held, delays = len(streamed(math.inf)[0].alarms), 0, []
    for part in BEGINS:
        begin = part * float(unseen[-1])
        stream, before = streamed(begin)
        late = [alarm for alarm in stream.alarms if alarm.seconds >= before + begin]
        false += len(stream.alarms) - len(late)
        delays.append(late[0].seconds - before - begin if late else math.inf)
        held += bool(late) and late[0].cause == "payload" and abs(late[0].change - MASS) <= 0.25 * MASS
    within = sum(delay <= 1.0 for delay in delays)
    said = ", ".join("none" if math.isinf(delay) else f"{delay:.2f}" for delay in delays)
    error = result.validate(real.validation).relative_error
    return (
        f"| {name} | {error:.1%} | {unseen[-1]:.0f} | {false} | {within} of {len(delays)} | {said} "
        f"| {held} of {len(delays)} |"
    )


def added_table() -> str:
    """The table of payloads that are added to real torques."""
    lines = [
        "| log | relative error | seconds unseen | false alarms | 1 kg within 1 s | delays [s] | mass within 25 % |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in ADDED:
        lines.append(added_row(name))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown file whose tables are replaced")
    options = parser.parse_args()
    for name, table in (("stream added payloads", added_table), ("stream real loads", loads_table)):
        found = table()
        if options.out is not None:
            options.out.write_text(with_table(options.out.read_text(), name, found))


if __name__ == "__main__":
    main()
