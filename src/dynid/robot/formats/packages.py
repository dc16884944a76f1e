"""Where packages of ROS and models of Gazebo are, and which other files a robot file may name.

Meshes and macro files are named relative to packages. A robot file may come from anybody, so what it includes stays
below its own folder, unless the environment variable `DYNID_ALLOW_FOLDERS` names the folder: what is trusted is for the
user to say, not for a file.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dynid.files import is_file

PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
"""Environment variables of folders that hold packages as `share/NAME`, or as `NAME/share/NAME`."""

FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH")
"""Environment variables of folders that hold packages or models as `NAME`, or are one."""

ALLOWED = "DYNID_ALLOW_FOLDERS"
"""Environment variable of folders from which robot files may include others, separated as in `PATH`."""

MARKS = ("package.xml", "model.config", ".git")
"""What stands in the uppermost folder of a package, of a model, or of a copy of a repository."""

_SCHEMES = re.compile(r"(package|model)://([^/]+)/*(.*)", re.DOTALL)
_NAME = re.compile(r"<name>\s*([\w.-]+)\s*</name>")


def find_mesh(robot_file: Path, name: str) -> Path | None:
    """Find a mesh that a robot file names, or None.

    `package://NAME/...` and `model://NAME/...` are looked for in all of `package_folders`; any other name is relative
    to the robot file.
    """
    scheme = _SCHEMES.fullmatch(name)
    if scheme is None:
        candidates = iter([robot_file.parent / name.removeprefix("file://")])
    else:
        candidates = (folder / scheme[3] for folder in package_folders(scheme[2], robot_file))
    return next((candidate for candidate in candidates if is_file(candidate)), None)


def package_folders(name: str, robot_file: Path) -> Iterator[Path]:
    """Folders that may be a package's: by the environment variables of ROS and Gazebo, then above the robot file.

    Folders that are not there may be among them. A folder above the file is the package's if it is called so, or its
    `package.xml` says so; or if a folder of that name is in it, in its `share` or in its `src`.
    """
    if Path(name).name != name or name == "..":  # which leads elsewhere
        return
    for folder in _listed(PREFIXES):
        yield from (folder / "share" / name, folder / name / "share" / name)
    above = list(robot_file.resolve().parents)
    for folder in (*_listed(FOLDERS), *above):
        if folder.parent != folder:  # not /etc and the like
            yield folder / name
        if folder.name == name or _package_name(folder) == name:
            yield folder
    for folder in above:
        if folder.parent != folder:
            yield from (folder / "share" / name, folder / "src" / name)


def own_folders(robot_file: Path, *, package: bool = False) -> list[Path]:
    """Folders below which a robot file may name others, without links.

    Args:
        robot_file: The robot file.
        package: Also the package, model or repository that it is part of: meshes are often beside the folder of the
            robot file, in `../meshes`.
    """
    folders = [robot_file.parent.resolve(), robot_file.resolve().parent]
    if package:
        above = (folder for own in folders for folder in (own, *own.parents))
        folders += [folder for folder in above if any((folder / mark).exists() for mark in MARKS)][:1]
    return [*folders, *(folder.resolve() for folder in _listed((ALLOWED,)))]


def is_below(file: Path, folders: Sequence[Path]) -> bool:
    """Whether a file is below one of some folders, wherever links lead."""
    try:
        place = file.resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(place.is_relative_to(folder) for folder in folders)


def outside(name: str, file: Path) -> str:
    """What to say of a file that is named and is not below the folder of the robot file."""
    try:
        folder = file.resolve().parent
    except (OSError, RuntimeError, ValueError):
        folder = file.parent
    return f"'{name}' is outside the folder of the file, and is not read; if you trust it, set {ALLOWED}={folder}"


def _listed(variables: tuple[str, ...]) -> Iterator[Path]:
    for variable in variables:
        yield from (Path(folder) for folder in os.environ.get(variable, "").split(os.pathsep) if folder)


def _package_name(folder: Path) -> str:
    """The name that the `package.xml` in a folder states; empty where there is none."""
    try:
        text = (folder / "package.xml").read_text(encoding="utf-8", errors="replace")[:20_000]
    except OSError:
        return ""
    found = _NAME.search(text)
    return found[1] if found else ""
