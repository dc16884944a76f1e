"""What robot files include stays below their folder, wherever names and links lead, unless the user allows more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dynid
from dynid.errors import RobotFileError
from dynid.robot.formats.packages import ALLOWED, find_mesh, package_folders
from tests.commands import run

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
BODY = f'<worldbody><body name="{{name}}"><joint/>{INERTIAL}{{geom}}</body></worldbody>'
PART = f"<mujoco>{BODY.format(name='secret', geom='')}</mujoco>"
TRIANGLES = b"\0" * 80 + (4).to_bytes(4, "little")


def stl() -> bytes:
    """A tetrahedron."""
    import numpy as np

    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    return TRIANGLES + b"".join(bytes(12) + corners[list(face)].tobytes() + b"\0\0" for face in faces)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """The folder of a robot, with files beside it that are none of its business."""
    monkeypatch.delenv(ALLOWED, raising=False)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/part.xml").write_text(PART)
    (tmp_path / "private/mesh.stl").write_bytes(stl())
    own = tmp_path / "robot"
    (own / "parts").mkdir(parents=True)
    (own / "parts/part.xml").write_text(PART)
    (own / "link.xml").symlink_to(tmp_path / "private/part.xml")
    (own / "linked").symlink_to(tmp_path / "private")
    return own


def names(folder: Path) -> dict[str, str]:
    return {
        "up": "../private/part.xml",
        "absolute": str(folder.parent / "private/part.xml"),
        "round": "parts/../../private/part.xml",
        "link": "link.xml",
        "folder": "linked/part.xml",
    }


@pytest.mark.parametrize("way", ["up", "absolute", "round", "link", "folder"])
def test_mjcf_includes_from_outside_are_refused_in_a_sentence(folder: Path, way: str, monkeypatch) -> None:
    path = folder / "arm.xml"
    path.write_text(f'<mujoco>\n<include file="{names(folder)[way]}"/></mujoco>')
    status, output, error = run("inspect", path)
    assert (status, output) == (2, "")
    assert "arm.xml, line 2: <include> names" in error
    assert "outside the folder of the file" in error
    monkeypatch.setenv(ALLOWED, f"/nowhere{os.pathsep}{folder.parent / 'private'}")
    assert dynid.load_robot(path).nv == 1


def test_mjcf_includes_below_the_folder_are_read_also_through_links_to_the_file(folder: Path, tmp_path: Path) -> None:
    path = folder / "arm.xml"
    path.write_text('<mujoco><include file="parts/part.xml"/></mujoco>')
    assert dynid.load_robot(path).nv == 1
    installed = tmp_path / "installed"  # as colcon build --symlink-install does
    (installed / "parts").mkdir(parents=True)
    (installed / "arm.xml").symlink_to(path)
    (installed / "parts/part.xml").symlink_to(folder / "parts/part.xml")
    assert dynid.load_robot(installed / "arm.xml").nv == 1


def test_included_files_include_nothing_from_outside_either(folder: Path) -> None:
    (folder / "inner.xml").write_text('<mujoco><include file="../private/part.xml"/></mujoco>')
    (folder / "arm.xml").write_text('<mujoco><include file="inner.xml"/></mujoco>')
    with pytest.raises(RobotFileError, match=r"inner\.xml, line 1: <include> names"):
        dynid.load_robot(folder / "arm.xml")


def test_models_that_are_attached_are_included_files(folder: Path) -> None:
    (folder / "arm.xml").write_text(
        '<mujoco><asset><model name="x" file="../private/part.xml"/></asset>'
        '<worldbody><attach model="x" body="secret" prefix="p"/></worldbody></mujoco>'
    )
    with pytest.raises(RobotFileError, match="<model> names"):
        dynid.load_robot(folder / "arm.xml")


@pytest.mark.parametrize("compiler", ["", '<compiler meshdir="../private"/>'])
def test_mjcf_meshes_from_outside_are_left_out_or_refused_where_they_weigh(
    folder: Path, compiler: str, monkeypatch
) -> None:
    mesh = "mesh.stl" if compiler else "../private/mesh.stl"
    text = f'<mujoco>{compiler}<asset><mesh name="m" file="{mesh}"/></asset>{{}}</mujoco>'
    stated, weighed = folder / "stated.xml", folder / "weighed.xml"
    stated.write_text(text.format(BODY.format(name="a", geom='<geom type="mesh" mesh="m"/>')))
    weighed.write_text(text.format('<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody>'))
    assert "meshes-outside" in [finding.code for finding in dynid.load_robot(stated).description.findings]
    with pytest.raises(RobotFileError, match=f"outside the folder .*{ALLOWED}=.*meshes determine the inertia"):
        dynid.load_robot(weighed)
    (folder.parent / "package.xml").write_text("<package/>")  # one package: its meshes are its own
    assert dynid.load_robot(weighed).nv == 1
    (folder.parent / "package.xml").unlink()
    monkeypatch.setenv(ALLOWED, str(folder.parent))
    assert dynid.load_robot(weighed).nv == 1


def test_textures_from_outside_are_not_read(folder: Path) -> None:
    (folder.parent / "private/t.png").write_bytes(b"no picture")
    (folder / "arm.xml").write_text(
        '<mujoco><asset><texture name="t" type="2d" file="../private/t.png"/><material name="m" texture="t"/></asset>'
        + BODY.format(name="a", geom='<geom size="1" material="m"/>')
        + "</mujoco>"
    )
    assert dynid.load_robot(folder / "arm.xml").nv == 1


@pytest.mark.parametrize(
    "part",
    [
        '<xacro:include filename="{}"/>',
        "<link name=\"${{xacro.load_yaml('{}')['b']}}\"/>",
        "<link name=\"${{load_yaml('{}')['b']}}\"/>",
    ],
    ids=["include", "yaml", "plain yaml"],
)
def test_xacro_files_read_nothing_from_outside(folder: Path, part: str, monkeypatch) -> None:
    pytest.importorskip("xacro", reason="xacro is not installed")
    other = folder.parent / "private/part.xacro"
    other.write_text("b: b" if "yaml" in part else '<robot xmlns:xacro="x"><link name="b"/></robot>')
    path = folder / "arm.xacro"
    text = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/>{}{}</robot>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path.write_text(text.format(part.format("../private/part.xacro"), joint))
    with pytest.raises(RobotFileError, match="outside the folder of the file"):
        dynid.load_robot(path)
    monkeypatch.setenv(ALLOWED, str(folder.parent))
    assert dynid.load_robot(path).nv == 1


def test_secrets_of_the_environment_are_nothing_for_xacro_files(folder: Path, monkeypatch) -> None:
    pytest.importorskip("xacro", reason="xacro is not installed")
    monkeypatch.setenv("CLOUD_ACCESS_KEY", "hunter2zq")
    monkeypatch.setenv("ROBOT_KIND", "small")
    path = folder / "arm.xacro"
    text = '<robot name="$(optenv {} none)" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/>'
    text += '<link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    for variable, value in (("CLOUD_ACCESS_KEY", "none"), ("ROBOT_KIND", "small")):
        path.write_text(text.format(variable))
        status, output, _ = run("convert", path, folder / f"{variable}.urdf")
        assert "hunter2zq" not in output
        assert status == 0
        assert f'name="{value}"' in (folder / f"{variable}.urdf").read_text()


def test_packages_are_no_way_out(folder: Path) -> None:
    assert find_mesh(folder / "arm.urdf", "package://../private/mesh.stl") is None
    assert list(package_folders("..", folder / "arm.urdf")) == []
    assert Path("/etc") not in list(package_folders("etc", folder / "arm.urdf"))
