"""Where packages of ROS and models of Gazebo are: meshes and macro files are named relative to them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dynid.files import is_file

PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
"""Environment variables of folders that hold packages as `share/NAME`, or as `NAME/share/NAME`."""

FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH")
"""Environment variables of folders that hold packages or models as `NAME`, or are one."""

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
    for folder in _listed(PREFIXES):
        yield from (folder / "share" / name, folder / name / "share" / name)
    above = list(robot_file.resolve().parents)
    for folder in (*_listed(FOLDERS), *above):
        yield folder / name
        if folder.name == name or _package_name(folder) == name:
            yield folder
    for folder in above:
        yield from (folder / "share" / name, folder / "src" / name)


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
