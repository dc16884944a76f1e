"""Meshes of packages are found through the environment and above the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynid.robot.formats.packages import FOLDERS, PREFIXES, find_mesh

PLACES = {
    "ROS_PACKAGE_PATH": "packages/my_arm",
    "AMENT_PREFIX_PATH": "packages/share/my_arm",
    "COLCON_PREFIX_PATH": "packages/my_arm/share/my_arm",
    "CMAKE_PREFIX_PATH": "packages/share/my_arm",
    "GAZEBO_MODEL_PATH": "packages/my_arm",
    "GZ_SIM_RESOURCE_PATH": "packages/my_arm",
}


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch) -> None:
    for variable in (*PREFIXES, *FOLDERS):
        monkeypatch.delenv(variable, raising=False)


def mesh_in(folder: Path) -> Path:
    path = folder / "meshes" / "link.stl"
    path.parent.mkdir(parents=True)
    path.write_text("solid")
    return path


@pytest.mark.parametrize(("variable", "place"), PLACES.items(), ids=PLACES)
@pytest.mark.parametrize("scheme", ["package", "model"])
def test_through_the_environment(tmp_path: Path, monkeypatch, variable: str, place: str, scheme: str) -> None:
    mesh, robot = mesh_in(tmp_path / place), tmp_path / "elsewhere" / "arm.urdf"
    name = f"{scheme}://my_arm/meshes/link.stl"
    assert find_mesh(robot, name) is None
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path / 'packages'}")
    assert find_mesh(robot, name) == mesh


@pytest.mark.parametrize("place", ["my_arm", "ws/share/my_arm", "ws/src/my_arm", "ws/my_arm"])
def test_above_the_file(tmp_path: Path, place: str) -> None:
    mesh = mesh_in(tmp_path / place)
    robot = tmp_path / "ws" / "robots" / "urdf" / "arm.urdf"
    assert find_mesh(robot, "package://my_arm/meshes/link.stl") == mesh
    assert find_mesh(robot, "package://other/meshes/link.stl") is None


def test_a_folder_above_may_be_called_otherwise(tmp_path: Path) -> None:
    mesh = mesh_in(tmp_path / "my_arm-main")
    (tmp_path / "my_arm-main" / "package.xml").write_text("<package><name> my_arm </name></package>")
    assert find_mesh(tmp_path / "my_arm-main" / "urdf" / "arm.urdf", "package://my_arm/meshes/link.stl") == mesh


def test_other_names_are_relative_or_absolute(tmp_path: Path) -> None:
    mesh = mesh_in(tmp_path)
    robot = tmp_path / "urdf" / "arm.urdf"
    robot.parent.mkdir()
    assert find_mesh(robot, "../meshes/link.stl").resolve() == mesh  # type: ignore[union-attr]
    assert find_mesh(robot, f"file://{mesh}") == mesh
