"""The verdict on every real log that is at hand, and what mending the first cause removes.

    DYNID_DATASETS=... python -m benchmarks.real_verdicts [NAMES] --out docs/verdict.md

Logs are set up as the README of the data sets describes them, with nothing stated about processing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.mistakes.judging import judged, named, removed
from tests.mistakes.mistaken import Given
from tests.mistakes.vocabulary import CAUSES
from tests.public_logs import go2_log, so101_log
from tests.real_logs import RealLog, real_log

from benchmarks.marked_tables import with_table
from dynid import DynidError, Log, Result, Robot, identify, load_robot
from dynid.experiment.reading import read_experiment
from dynid.logs.settings import LogSource

EXAMPLES = Path(__file__).parents[1] / "examples"
USUAL = ("viscous", "coulomb", "offset", "armature")


@dataclass(frozen=True, eq=False)
class RealCase:
    """A real log and how it is identified.

    Attributes:
        robot: The robot.
        log: The log.
        terms: Friction and actuator terms.
        settings: Further arguments of `dynid.identify`.
        training: The part of it that is identified alone to be validated; the whole when None.
        held_out: What it is validated on; None where there is nothing.
    """

    robot: Robot
    log: Log
    terms: Sequence[str] = USUAL
    settings: dict[str, Any] = field(default_factory=dict)
    training: Log | None = None
    held_out: Log | None = None


def _folder() -> Path:
    return Path(os.environ["DYNID_DATASETS"])


def _whole(name: str) -> RealCase:
    """A log of `tests.real_logs`, to be identified whole."""
    real = real_log(name)
    log, rest = real.training, real.validation
    joined = Log(
        time=np.concatenate([log.time, rest.time]),
        position=np.concatenate([log.position, rest.position]),
        torque=np.concatenate([log.torque, rest.torque]),
        velocity=None
        if log.velocity is None or rest.velocity is None
        else np.concatenate([log.velocity, rest.velocity]),
        name=name,
    )
    return RealCase(real.robot, joined, real.experiment.terms, {"drive": real.experiment.drive}, log, rest)


def _stated(name: str) -> RealCase:
    """A log as an experiment of `examples/` states it, with its own processing."""
    from dynid.logs import read_source

    experiment = read_experiment(EXAMPLES / f"{name}.toml")
    robot = load_robot(experiment.robot, lock=experiment.lock, gravity=experiment.gravity)
    log = read_source(experiment.log[0], robot, drive=experiment.drive)
    settings = {"drive": experiment.drive, "processing": experiment.processing}
    return RealCase(robot, log, experiment.terms, settings)


UR10E_ROWS = {
    "motion_30s": (634, 3510),
    "motion_50s": (195, 4966),
    "motion_50s_load": (308, 5071),
    "point_to_point": (699, 4200),
}


def _ur10e(name: str) -> RealCase:
    real = real_log("ur10e")
    other = "motion_50s" if name in ("point_to_point", "motion_50s_load") else "point_to_point"
    settings = {"drive": real.experiment.drive}
    return RealCase(real.robot, _ur10e_log(real, name), real.experiment.terms, settings, None, _ur10e_log(real, other))


def _then_loaded() -> RealCase:
    """A result of the UR10e, validated on the same kind of motion with a load at its flange."""
    return replace(_ur10e("motion_50s"), held_out=_ur10e_log(real_log("ur10e"), "motion_50s_load"))


def _ur10e_log(real: RealLog, name: str) -> Log:
    from dynid.logs import read_source

    file = str(_folder() / "ur10e" / f"{name}.csv")
    columns = {"time": 0, "position": (1, 2, 3, 4, 5, 6), "velocity": (7, 8, 9, 10, 11, 12)}
    tables: dict[str, Any] = {key: {"file": file, "columns": value} for key, value in columns.items()}
    tables["torque"] = {"file": file, "columns": (13, 14, 15, 16, 17, 18), "unit": "A"}
    source = LogSource.model_validate({**tables, "name": name, "rows": UR10E_ROWS[name]})
    return read_source(source, real.robot, drive=real.experiment.drive)


def _go2(name: str) -> RealCase:
    robot = load_robot(str(_folder() / "go2" / "go2.xml"), lock=["base_joint"])
    other = "traj_9" if name != "traj_9" else "traj_8"
    log, held_out = (go2_log(_folder() / "go2" / f"{one}.pt") for one in (name, other))
    return RealCase(robot, log, held_out=held_out)


def _so101(name: str) -> RealCase:
    robot = load_robot(str(_folder() / "so101" / "so101_new_calib.urdf"))
    return RealCase(robot, so101_log(_folder() / "so101" / name), USUAL, {"torque": "magnitude"})


CASES: dict[str, Callable[[], RealCase]] = {
    **{name: lambda name=name: _whole(name) for name in ("tx40", "panda", "tiago", "ur10")},
    **{f"{name} (its example)": lambda name=name: _stated(name) for name in ("tx40", "panda", "tiago")},
    **{f"ur10e {name}": lambda name=name: _ur10e(name) for name in UR10E_ROWS},
    "ur10e motion_50s, then with load": _then_loaded,
    **{f"go2 {name}": lambda name=name: _go2(name) for name in ("traj_0", "traj_1", "traj_8")},
    **{f"so101 {name}": lambda name=name: _so101(name) for name in ("multisine", "large_amplitude", "chirp_sweep")},
}
"""All of them by name."""

REMARKS: dict[str, str] = {
    "tx40": "Right: the published parameters are found, and friction near rest is the largest of several small errors; "
    "no delay is claimed, and none is known.",
    "panda": "Right: the last joint's error is at reversals; setting the delay that was claimed "
    "before (12 % of the squared error) removed 4 %.",
    "tiago": "Right: the last three drives report no signal, as is said; links of the file are impossible; efforts are "
    "currents times constants that nobody measured.",
    "ur10": "Right: friction at low speed rules this log, and the Stribeck term removes half of the squared error.",
    "tx40 (its example)": "Right, as above; with rows at low speed dropped, the Stribeck term still removes a quarter.",
    "panda (its example)": "Right, as above; that only torques are filtered beside decimation is stated, too.",
    "tiago (its example)": "Right, as above; positions without logged velocities are noisier.",
    "ur10e motion_30s": "Right to doubt: load-dependent friction is known to matter, and torque constants are up to "
    "half above those that the authors found with the load.",
    "ur10e motion_50s": "Right, as above.",
    "ur10e motion_50s_load": "Right to doubt, but its load of 2.805 kg is not named: too large torque constants "
    "make the whole arm look heavier than its file.",
    "ur10e motion_50s, then with load": "The load is 2.805 kg; torque constants that are too large make it heavier.",
    "ur10e point_to_point": "Right: load-dependent friction is known to matter here; the delay that was claimed before "
    "(18 % of the squared error) is not.",
    "go2 traj_0": "Right: torques are those of the motors' law with commands that are held for 18 ms: noise of "
    "an eighth of the torque; no joint is tilted, as was claimed before.",
    "go2 traj_1": "Right, as above.",
    "go2 traj_8": "Right, as above.",
    "so101 multisine": "Right: hobby servos, torques without sign in steps of a tenth of their size, and motions that "
    "hardly excite the wrist.",
    "so101 large_amplitude": "Right to refuse: the signs are not determined.",
    "so101 chirp_sweep": "Right not to trust it; the delay is not certain, for torques have no signs.",
}
"""Whether the verdict is right, in a sentence; written by hand, from the README and from what mending removes."""


def rows(names: Sequence[str]) -> Iterator[list[str]]:
    """A row of the table for each log."""
    for name in names:
        start = time.perf_counter()
        try:
            case = CASES[name]()
            yield [name, *_said(case), REMARKS.get(name, "")]
        except DynidError as error:
            yield [name, "refused", "", "", str(error), REMARKS.get(name, "")]
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)


def _said(case: RealCase) -> list[str]:
    """Answer, relative error and causes."""
    result = identify(case.robot, [case.log], list(case.terms), **case.settings)
    answer, findings = judged(result)
    causes = [named(finding) for finding in findings if finding.severity.value != "note"]
    words = []
    for one in causes:
        share = one.values.get("share")
        text = f"`{one.code}` {one.subject}"
        if one.code in CAUSES and isinstance(share, float) and "torque" not in case.settings:
            drive, processing = (
                {} if stated is None else stated.model_dump(exclude_unset=True)
                for stated in (case.settings.get("drive"), case.settings.get("processing"))
            )
            gone = removed(Given(case.robot, case.log, tuple(case.terms), drive, processing), result, one)
            text += f": claims {share:.0%}" + ("" if gone is None else f", mending removes {gone:.0%}")
        words.append(text)
    return [answer, f"{result.relative_error:.1%}", _validated(case, result), "; ".join(words)]


def _validated(case: RealCase, result: Result) -> str:
    """Answer and error on what was held out."""
    if case.held_out is None:
        return ""
    if case.training is not None:
        result = identify(case.robot, [case.training], list(case.terms), **case.settings)
    validation = result.validate(case.held_out)
    payload = [f"{one.values['mass']:.2g} kg" for one in validation.findings if "payload" in one.code]
    return ", ".join([f"{validation.verdict.answer.value} ({validation.relative_error:.1%})", *payload])


def table(names: Sequence[str]) -> str:
    """The table of some logs."""
    head = ["log", "trust it?", "relative error", "validated (held-out error)", "warnings and errors", "right?"]
    lines = [head, ["---"] * len(head), *rows(names)]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all when left out")
    parser.add_argument("--out", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    wanted = [name for name in CASES if not options.names or any(part in name for part in options.names)]
    made = table(wanted)
    print(made)
    if options.out:
        options.out.write_text(with_table(options.out.read_text(), "real verdicts", made))


if __name__ == "__main__":
    main()
