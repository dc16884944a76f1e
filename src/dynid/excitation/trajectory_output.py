"""What a design gives to others: plain data, and a folder of files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dynid import __version__
from dynid.errors import FileProblemError
from dynid.excitation.design import Design
from dynid.excitation.figures import Panel, page
from dynid.excitation.fine_check import SPEEDS
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.limits.torques import PriorTorques, torque_unit
from dynid.excitation.recipe import Excitation
from dynid.excitation.trajectory_files import csv_text, json_text, ros_text, sample_times, urscript_text
from dynid.files import replace_folder

SCHEMA = "dynid-excitation-1"
"""What a summary says of itself."""


class ExcitationFolderError(FileProblemError):
    """A folder cannot take the files of a design."""


def excitation_data(found: Excitation, out: Path | None = None) -> dict[str, Any]:
    """What was designed, as plain data for JSON."""
    last = found.designs[-1]
    checks = {}
    reached = [check for part in found.designs for check in part.checks]
    for check in sorted((*reached, *found.broken), key=lambda check: check.used):
        checks[check.name] = check  # the one that uses most stays
    order = dict.fromkeys(check.name for check in (*reached, *found.broken))
    return {
        "schema": SCHEMA,
        "version": __version__,
        "robot": found.robot.name,
        "criterion": found.experiment.excitation.criterion,
        "value": last.value,
        "condition_number": found.condition_number if math.isfinite(found.condition_number) else None,
        "seconds": found.seconds,
        "starts": sum(part.starts for part in found.designs),
        "duration": sum(part.trajectory.duration for part in found.designs),
        "rate": last.problem.rate,
        "limits": [checks[name].to_dict() for name in order],
        "trajectory": None if out is None else str(_folder(out, found, 0) / "trajectory.csv"),
        "segments": [
            {"value": part.value, "trajectory": None if out is None else str(_folder(out, found, k) / "trajectory.csv")}
            for k, part in enumerate(found.designs)
        ],
        "parameters": [expectation.to_dict() for expectation in found.expectations],
        "findings": [finding.to_dict() for finding in found.findings],
    }


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that a design cannot be saved as."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ExcitationFolderError(folder, "is a file; name a folder for the trajectory")
    if not any(folder.iterdir()):
        return
    if not (folder / "excitation.json").exists():
        raise ExcitationFolderError(folder, "holds something else than a trajectory and is left as it is; name another")
    if not overwrite:
        raise ExcitationFolderError(folder, "holds a trajectory already; name another folder or add --force")


def save_excitation(found: Excitation, folder: Path, *, force: bool = False) -> None:
    """Save all motions as a folder, whole or not at all.

    Args:
        found: What was designed.
        folder: The folder; it must not exist, be empty, or hold a design that may be replaced.
        force: Whether a design in it may be replaced, and motions that break limits may be written.

    Raises:
        BrokenLimitError: If a motion breaks a limit.
        ExcitationFolderError: If the folder holds something else.
        OutputError: If it cannot be written.
    """
    if not force:
        found.require_limits()
    check_free(folder, overwrite=force)

    def fill(made: Path) -> None:
        for k, part in enumerate(found.designs):
            place = _folder(made, found, k)
            place.mkdir(exist_ok=True)
            for name, text in _texts(found, part).items():
                (place / name).write_text(text, encoding="utf-8")
        data = excitation_data(found, folder)
        (made / "excitation.json").write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    replace_folder(folder, fill)


def _folder(out: Path, found: Excitation, k: int) -> Path:
    return out if len(found.designs) == 1 else out / f"segment_{k + 1}"


def _texts(found: Excitation, part: Design) -> dict[str, str]:
    """All files of one motion, by name."""
    robot, rate, trajectory = found.robot, part.problem.rate, part.trajectory
    names = [joint.name for joint in robot.independent_joints]
    texts = {
        "trajectory.csv": csv_text(trajectory, names, rate),
        "trajectory.json": json_text(trajectory, names),
        "trajectory.yaml": ros_text(trajectory, names, rate),
        "limits.html": limits_page(found, part),
    }
    for percent in SPEEDS:
        texts[f"trajectory_{percent}_percent.csv"] = csv_text(trajectory.at_speed(percent / 100), names, rate)
    if len(names) == 6 and all(joint.kind.is_angular for joint in robot.independent_joints):
        texts["trajectory.script"] = urscript_text(trajectory)
    return texts | {f"{name}.csv": csv_text(way, names, rate) for name, way in found.ways(part).items()}


def limits_page(found: Excitation, part: Design) -> str:
    """A page that shows positions, velocities, accelerations and torques against their limits."""
    robot = found.robot
    times = sample_times(part.trajectory, max(part.problem.rate, 400.0 / part.trajectory.duration))
    q, v, a = part.trajectory.states(times)
    torques = PriorTorques(robot).whole(q, v, a)
    rows = []
    limits = joint_limits(found.experiment.excitation, robot)
    for k, (joint, limit) in enumerate(zip(robot.independent_joints, limits, strict=True)):
        unit = part.problem.bounds.units[k]
        rows.append(
            [
                Panel(f"{joint.name} position", unit, q[:, k], (limit.lower, limit.upper)),
                Panel("velocity", f"{unit}/s", v[:, k], (-limit.velocity, limit.velocity)),
                Panel("acceleration", f"{unit}/s²", a[:, k], (-limit.acceleration, limit.acceleration)),
                Panel("torque", torque_unit(joint.kind), torques[:, k], (-limit.effort, limit.effort)),
            ]
        )
    summary = [
        f"Condition number {found.condition_number:.4g}; {part.trajectory.duration:.4g} s; "
        f"designed in {found.seconds:.1f} s.",
        "Red lines are limits. Torques are those of the robot's file.",
    ]
    return page(f"{robot.name}: exciting motion", summary, times, rows)
