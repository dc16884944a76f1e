"""Which of several files make one recording, and which are recordings of their own."""

from collections.abc import Sequence
from pathlib import Path

from dynid.errors import InvalidRequestError
from dynid.experiment.first.candidates import candidates_in
from dynid.experiment.first.naming import KNOWN, Quality, parts_of
from dynid.experiment.first.questions import Answers
from dynid.experiment.first.unnamed_tables import has_names
from dynid.logs import Progress, is_bag, source_of
from dynid.robot import Robot


def recordings(
    paths: Sequence[Path], robot: Robot, answers: Answers, progress: Progress
) -> tuple[tuple[Path, ...], ...]:
    """Files grouped into recordings.

    A bag is a recording, and so is every table that has positions and torques. Tables that have only some of the
    quantities make one recording together; or several, where their names agree but for words such as "position", or
    where each folder has all of them.

    Args:
        paths: The files.
        robot: The robot.
        answers: What was stated.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a file cannot be read.
        InvalidRequestError: If bags and tables are mixed.
    """
    files = list(dict.fromkeys(paths))
    if len(files) == 1:
        return (tuple(files),)
    bags = [is_bag(path) for path in files]
    if all(bags):
        return tuple((path,) for path in files)
    if any(bags):
        raise InvalidRequestError(
            f"{files[bags.index(True)].name} is a bag, which holds all quantities, and {files[bags.index(False)].name} "
            "is a table; give logs of one kind"
        )
    roles = {path: _roles(path, robot, answers, progress) for path in files}
    whole = [path for path in files if {"position", "torque"} <= roles[path]]
    others = [path for path in files if path not in whole]
    of_time = len(whole) == 1 and "time" not in roles[whole[0]] and any("time" in roles[path] for path in others)
    if whole and not of_time and not any(roles[path] - {"time"} for path in others):
        return tuple((path,) for path in files)  # of a file that is not understood, all columns are questions
    for key in (_folder_and_title, _folder):
        groups: dict[object, list[Path]] = {}
        for path in files:
            groups.setdefault(key(path), []).append(path)
        complete = [{"position", "torque"} <= set().union(*(roles[p] for p in group)) for group in groups.values()]
        if len(groups) > 1 and all(complete):
            return tuple(tuple(group) for group in groups.values())
    return (tuple(files),)


def _folder(path: Path) -> object:
    return path.parent


def _folder_and_title(path: Path) -> object:
    return path.parent, _title(path)


def _roles(path: Path, robot: Robot, answers: Answers, progress: Progress) -> set[str]:
    """What a file holds; a table without names that is wide enough for all is a whole recording."""
    joints = [joint.name for joint in robot.independent_joints]
    found = candidates_in(path, joints, answers, progress, alone=False)
    if not found:
        source = source_of(path)
        is_wide = not has_names(source) and len(source.names) >= 2 * (len(joints) - len(answers.lock))
        return {"position", "torque"} if is_wide else set()
    roles = {"torque" if one.role == "current" else one.role for one in found}
    kinds = {one.quality is Quality.COMMANDED for one in found if one.role == "position"}
    return roles | ({"torque"} if len(kinds) == 2 else set())  # commands stand in for torques


def _title(path: Path) -> tuple[str | int, ...]:
    """The name of a file without words that say what it holds."""
    return tuple(part for part in parts_of(path.stem) if part not in KNOWN)
