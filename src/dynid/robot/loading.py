"""Loading and converting robots: which reader reads which source."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynid.errors import InvalidRequestError, RobotFileError, UnknownNameError
from dynid.files import FileKind, expanded_path, use_of, write_bytes, write_text
from dynid.robot.assembly import assemble, with_base_as_in_file
from dynid.robot.description import Description
from dynid.robot.robot import Robot

if TYPE_CHECKING:
    from dynid.robot.formats.xml_files import Element

BUILTIN_PREFIX = "builtin:"


def builtin_names() -> list[str]:
    """Names of the robots that come with dynid."""
    folder = resources.files("dynid.robot") / "builtin"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_robot(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
    exact_frames: bool = False,
) -> Robot:
    """Load a robot from a file or by the name of a built-in one.

    Args:
        source: Path of a URDF (`.urdf`, or `.xacro` with the package xacro), MJCF (`.xml`) or table (`.toml`), or
            `builtin:NAME`.
        floating_base: Leave the base free in space: it then has the number 0 and six rows of its own.
        lock: Joints (name or number) to hold still, with their position [rad or m]; zero when only named. "base" is a
            floating base, which the name of its body stands for, too; it is held where the file draws it.
        gravity: Gravity [m/s^2] in the base frame, shape (3,): `(0, 0, 9.81)` hangs the robot from the ceiling.
            The file's own, or (0, 0, -9.81), when None.
        exact_frames: Keep right angles that the file rounds, such as 1.5708, as they are; otherwise angles within 1e-5
            rad of a multiple of a quarter turn are made exact, with a finding.

    Raises:
        RobotFileError: If the file is missing or is no robot.
        UnknownNameError: If a built-in robot or a joint does not exist.

    >>> load_robot("builtin:ur5").nv
    6
    """
    description = read_description(source, exact_frames=exact_frames)
    return assemble(description, floating_base=floating_base, lock=lock, gravity=gravity)


def as_robot(
    source: Robot | str | os.PathLike[str],
    *,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
    exact_frames: bool = False,
) -> Robot:
    """A robot as it is, or loaded; with a floating base, locked joints or another gravity where these are asked for.

    The arguments are those of `load_robot`; a robot that is loaded already keeps its frames.
    """
    if not isinstance(source, Robot):
        return load_robot(source, floating_base=floating_base, lock=lock, gravity=gravity, exact_frames=exact_frames)
    held = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys(lock, 0.0)
    floating_base = floating_base and not source.has_floating_base
    if not (floating_base or held or gravity is not None):
        return source
    return assemble(
        source.description,
        floating_base=floating_base,
        lock={**source.locked, **held},
        gravity=source.gravity if gravity is None else gravity,
    )


@dataclass(frozen=True)
class Converted:
    """A robot that was written as a new URDF file.

    Attributes:
        path: The file.
        robot: The robot.
        left_out: What the file does not hold, in words.
    """

    path: Path
    robot: Robot
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give this as plain data for JSON."""
        findings = [finding.to_dict() for finding in self.robot.description.findings]
        return {"urdf": str(self.path), "left_out": list(self.left_out), "findings": findings}


HUMAN = "human"
"""Source of `convert` that stands for the human body; a file of this name is written `./human`, or as a `Path`."""


def convert(
    source: Robot | str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    *,
    arguments: Mapping[str, str] | None = None,
    overwrite: bool = False,
    exact_frames: bool = False,
    sex: str | None = None,
    height: float | None = None,
    mass: float | None = None,
    table: str | None = None,
    lengths: Mapping[str, float] | None = None,
    markers: Sequence[str] | None = None,
    planar: bool = False,
) -> Converted:
    """Write a robot, such as a DH table, a xacro file or the human body, as a new URDF file.

    A base that was freed when the robot was loaded (`floating_base=True`) is written as the file had it. The arguments
    from `sex` on are those of `human`, and only for the source "human".

    Args:
        source: The robot, the path of its file, `builtin:NAME`, or "human" for the body that `human` makes.
        target: The file to write; its name ends in `.urdf`. `human.urdf` when None, for the human body.
        arguments: Of a xacro file, the values of its `<xacro:arg>`, by name.
        overwrite: Whether an existing file may be replaced, the robot's own excepted.
        exact_frames: As in `load_robot`.
        sex: "female" or "male".
        height: Height [m].
        mass: Mass [kg].
        table: "dumas" (also when None) or "de-leva".
        lengths: Lengths [m] of segments that were measured, by name.
        markers: Names of the markers to put on the body; all when None.
        planar: Write the planar model of three segments.

    Raises:
        InvalidRequestError: If the target is no URDF file, or the robot's own, or arguments do not go with the source.
        OutputExistsError: If the target exists and may not be replaced.
    """
    body = {"sex": sex, "height": height, "mass": mass, "table": table, "lengths": lengths, "markers": markers}
    stated = {name: value for name, value in {**body, "planar": planar or None}.items() if value is not None}
    if isinstance(source, str) and source == HUMAN:
        _refuse_arguments(source, arguments)
        path = _urdf_path("human.urdf" if target is None else target)
        return _written(path, _human(stated), overwrite)
    if stated:
        raise InvalidRequestError(
            f"'{_shown(source)}' takes no {', '.join(stated)}: only 'human' does, the body that tables describe"
        )
    if target is None:
        raise InvalidRequestError(f"name the output for '{_shown(source)}'; it must end in .urdf")
    return _converted_file(source, _urdf_path(target), arguments, overwrite, exact_frames)


def _converted_file(
    source: Robot | str | os.PathLike[str],
    path: Path,
    arguments: Mapping[str, str] | None,
    overwrite: bool,
    exact_frames: bool,
) -> Converted:
    from dynid.robot.formats.xacro_files import expanded, is_xacro

    own = Path(_shown(source))
    if path.exists() and own.exists() and path.samefile(own):
        raise InvalidRequestError(
            f"'{path}' is the robot's own file, and its geometry would be lost; name another output"
        )
    if not isinstance(source, Robot) and is_xacro(own):

        def check(made: Path) -> None:
            read_description(made, exact_frames=exact_frames)

        write_bytes(path, expanded(robot_file(own), arguments), overwrite=overwrite, check=check)
        return Converted(path, load_robot(path, exact_frames=exact_frames), ())
    _refuse_arguments(own, arguments)
    return _written(path, with_base_as_in_file(as_robot(source, exact_frames=exact_frames)), overwrite)


def _written(path: Path, robot: Robot, overwrite: bool) -> Converted:
    from dynid.robot.formats.urdf_writer import left_out, urdf_text

    write_text(path, urdf_text(robot), overwrite=overwrite)
    return Converted(path, robot, tuple(left_out(robot)))


def _human(stated: Mapping[str, Any]) -> Robot:
    """The human body on a base that is not freed, as a file has it."""
    from dynid.robot.human.human_body import human_description

    needed = {"sex": "--sex female or --sex male", "height": "--height, in metres", "mass": "--mass, in kilograms"}
    missing = [f"{name} ({option})" for name, option in needed.items() if name not in stated]
    if missing:
        why = "there is no usual person" if "sex" in stated else "the tables are of women and of men"
        raise InvalidRequestError(f"state {', '.join(missing)} of the human body, too: {why}")
    return assemble(human_description(**stated))


def _urdf_path(target: str | os.PathLike[str]) -> Path:
    path = Path(target)
    if path.suffix != ".urdf":
        raise InvalidRequestError(f"the output '{path}' must end in .urdf; other formats cannot be written yet")
    return path


def _refuse_arguments(source: str | os.PathLike[str], arguments: Mapping[str, str] | None) -> None:
    if arguments:
        raise InvalidRequestError(f"'{source}' takes no arguments; only xacro files do")


def _shown(source: Robot | str | os.PathLike[str]) -> str:
    return source.description.source if isinstance(source, Robot) else str(source)


def read_description(source: str | os.PathLike[str], *, exact_frames: bool = False) -> Description:
    """Read a robot file of any known format, or a built-in robot.

    Args:
        source: Path of a `.urdf`, `.xacro`, `.xml`, `.mjcf` or `.toml` file (`~` and `$VARIABLES` are expanded), or
            `builtin:NAME`.
        exact_frames: As in `load_robot`.

    Raises:
        RobotFileError: If the file is missing or is no robot.
        UnknownNameError: If there is no such built-in robot.
    """
    from dynid.robot.formats.denavit_hartenberg import parse_table, read_table

    text = str(source)
    if text.startswith(BUILTIN_PREFIX):
        name = text.removeprefix(BUILTIN_PREFIX)
        if name not in builtin_names():
            raise UnknownNameError("built-in robot", name, builtin_names())
        table = resources.files("dynid.robot") / "builtin" / f"{name}.toml"
        return parse_table(table.read_text(encoding="utf-8"), text, exact_frames=exact_frames)
    path = robot_file(text)
    if path.suffix.lower() == ".toml":
        return read_table(path, exact_frames=exact_frames)
    return _read_xml_robot(path, exact_frames)


def robot_file(source: str | os.PathLike[str]) -> Path:
    """The path of a robot's file, with `~` and `$VARIABLES` expanded.

    Raises:
        RobotFileError: If there is no such file.
    """
    path = Path(os.path.expanduser(source))  # noqa: PTH111 (Path's own fails on unknown users)
    with suppress(ValueError):  # no such variable: a file may have the sign in its name
        path = Path(expanded_path(str(path), Path()))
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:
        raise RobotFileError(path, f"cannot be read ({error.strerror or error}); check the path") from error
    if other := use_of(path, "a robot file", FileKind.ROBOT):
        raise RobotFileError(path, other)
    if is_folder:
        raise RobotFileError(path, "is a folder; name the robot file in it")
    if not is_there:
        advice = f" (for the built-in one write {BUILTIN_PREFIX}{path})" if str(path) in builtin_names() else ""
        advice = " (the human body is written by 'dynid convert human')" if str(path) == HUMAN else advice
        raise RobotFileError(path, f"there is no such file; check the path{advice}")
    return path


def _read_xml_robot(path: Path, exact_frames: bool) -> Description:
    from dynid.robot.formats.xacro_files import is_xacro
    from dynid.robot.formats.xml_files import read_xml

    root = read_xml(path)
    if is_xacro(path):
        return _read_expanded(path, root, exact_frames)
    if root.tag == "robot":
        from dynid.robot.formats.urdf_reader import read_urdf

        return read_urdf(path, root, exact_frames=exact_frames)
    if root.tag == "mujoco":
        from dynid.robot.formats.mjcf_reader import read_mjcf

        return read_mjcf(path, root, exact_frames=exact_frames)
    raise RobotFileError(
        path, f"the root element is <{root.tag}>; expected <robot> (URDF) or <mujoco> (MJCF)", root.sourceline
    )


def _read_expanded(path: Path, root: "Element", exact_frames: bool) -> Description:
    """The robot of a xacro file; lines are those of the expanded text, which no editor shows."""
    from dynid.robot.formats.urdf_reader import read_urdf

    try:
        return read_urdf(path, root, exact_frames=exact_frames)
    except RobotFileError as error:
        where = "" if error.line is None else f" (line {error.line} after expansion by 'dynid convert')"
        raise RobotFileError(path, f"{error.problem}{where}") from error
