"""Xacro files: expanded without ROS, and without running what they contain."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dynid
from dynid import DynidError, load_robot
from dynid.cli import app
from dynid.robot.formats.xacro_files import check_expression

HEAD = '<robot name="macro" xmlns:xacro="http://www.ros.org/wiki/xacro">'

PARTS = """<xacro:macro name="link" params="name mass">
<link name="${name}"><inertial><mass value="${mass}"/><origin xyz="0.1 0 0"/>
<inertia ixx="${0.1 * mass}" ixy="0" ixz="0" iyy="${0.1 * mass}" iyz="0" izz="${0.1 * mass}"/></inertial></link>
</xacro:macro>"""

ARM = f"""{HEAD}
<xacro:arg name="mass" default="2"/>
<xacro:include filename="$(find my_arm)/urdf/parts.xacro"/>
<xacro:property name="sizes" value="${{xacro.load_yaml('$(find my_arm)/config/sizes.yaml')}}"/>
<link name="base"/><xacro:link name="arm" mass="$(arg mass)"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="${{-pi/2}}" upper="${{radians(90)}}" velocity="${{sizes['speed']}}" effort="10"/></joint></robot>"""

needs_xacro = pytest.mark.skipif(importlib.util.find_spec("xacro") is None, reason="xacro is not installed")


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """A xacro file in a package whose folder is called otherwise."""
    package = tmp_path / "checkout"
    for folder in ("urdf", "config"):
        (package / folder).mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>my_arm</name></package>")
    (package / "urdf" / "parts.xacro").write_text(f"{HEAD}{PARTS}</robot>")
    (package / "config" / "sizes.yaml").write_text("speed: 1.5\n")
    path = package / "urdf" / "arm.urdf.xacro"
    path.write_text(ARM)
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.stdout + result.stderr


def test_without_the_package_the_message_says_how_to_install_it(arm: Path, monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    status, text = run("inspect", arm)
    assert status == 2
    assert "pip install 'dynid[xacro]'" in text


@needs_xacro
def test_a_xacro_file_is_a_robot_file(arm: Path, tmp_path: Path) -> None:
    robot = load_robot(arm)
    assert robot.name == "macro"
    assert robot.links[0].parameters[0] == 2.0
    limits = robot.joints[0].limits
    assert (-limits.lower, limits.upper, limits.velocity) == pytest.approx((math.pi / 2, math.pi / 2, 1.5))
    assert run("inspect", arm)[0] == 0
    status, text = run("convert", arm, tmp_path / "arm.urdf", "--xacro-arg", "mass:=3")
    assert status == 0, text
    assert load_robot(tmp_path / "arm.urdf").links[0].parameters[0] == 3.0


def test_macros_in_a_file_of_another_name_are_named(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    assert "give it a name that ends in .xacro" in run("inspect", path)[1]


@needs_xacro
def test_identified_values_are_written_into_the_expanded_file(arm: Path, tmp_path: Path) -> None:
    motion = dynid.excite(arm, time_limit=60, starts=1, harmonics=3, period=4.0)
    result = dynid.identify(arm, dynid.simulate(arm, motion))
    done = result.export(tmp_path / "identified.urdf", anyway=True)
    assert done.edited
    assert load_robot(tmp_path / "identified.urdf").joints[0].limits == load_robot(arm).joints[0].limits
    assert arm.read_text() == ARM


@needs_xacro
def test_a_missing_argument_or_package_is_named_with_what_to_do(arm: Path) -> None:
    arm.write_text(ARM.replace('<xacro:arg name="mass" default="2"/>', ""))
    status, text = run("inspect", arm)
    assert status == 2
    assert "needs the argument 'mass'" in text
    assert "dynid convert arm.urdf.xacro robot.urdf --xacro-arg mass:=VALUE" in text
    arm.write_text(ARM.replace("$(find my_arm)/urdf", "$(find ur_description)/urdf"))
    assert "there is no package 'ur_description'" in run("inspect", arm)[1]
    arm.write_text(ARM.replace('<child link="arm"/>', '<child link="leg"/>'))
    assert "after expansion" in run("inspect", arm)[1]


ATTACKS = [
    "${().__class__.__bases__}",
    "${(lambda: open('NAME', 'w'))()}",
    "${[x for x in (0,)][0].__class__}",
    "${'{0.__class__}'.format(1)}",
    "${python.type(1)}",
    "$(eval open('NAME', 'w'))",
    "$(eval exec('1'))",
    "${python['type'](1)}",
    "${python['vars'](python['type'])['mro'](int)}",
    "${python.get('type')(1)}",
    "${{}['__class__']}",
    "$(eval [].append.im_self)",
]


@needs_xacro
@pytest.mark.parametrize("attack", ATTACKS)
def test_code_in_a_file_is_not_run(arm: Path, tmp_path: Path, attack: str) -> None:
    touched = tmp_path / "touched"
    arm.write_text(
        ARM.replace('<link name="base"/>', f'<link name="base"/><x a="{attack}"/>'.replace("NAME", str(touched)))
    )
    with pytest.raises(DynidError, match="cannot be expanded"):
        load_robot(arm)
    assert not touched.exists()


@needs_xacro
@pytest.mark.parametrize("bomb", ["${9**9**9}", "${'a' * 10**11}", "${[0] * 10**11}"])
def test_bombs_end(arm: Path, bomb: str, monkeypatch) -> None:
    monkeypatch.setattr("dynid.robot.formats.xacro_files.SECONDS", 2)
    arm.write_text(ARM.replace('<link name="base"/>', f'<link name="base"/><x a="{bomb}"/>'))
    with pytest.raises(DynidError, match="expan"):
        load_robot(arm)


@needs_xacro
def test_entities_are_refused(arm: Path) -> None:
    arm.write_text(f'<!DOCTYPE robot [<!ENTITY a "b">]>{ARM}')
    with pytest.raises(DynidError, match="XML entities"):
        load_robot(arm)


@pytest.mark.parametrize(
    "text", ["2*pi", "a.b[0]", "max(1, x) if y == 'z' else [1, 2]", "not a or -b", "[2*x for x in y]"]
)
def test_arithmetic_is_allowed(text: str) -> None:
    check_expression(text)


@needs_xacro
def test_arguments_do_not_bring_back_what_python_has(arm: Path, tmp_path: Path) -> None:
    """Names in a comprehension of `$(eval)` are looked for among the real builtins."""
    touched = tmp_path / "touched"
    attack = (
        '<xacro:arg name="exec" default="1"/>'
        f"<xacro:property name=\"p\" value=\"[exec(&quot;open('{touched}', 'w')&quot;) for e in (0,)]\"/>"
        '<x a="$(eval ${p})"/>'
    )
    arm.write_text(ARM.replace('<link name="base"/>', f'<link name="base"/>{attack}'))
    with pytest.raises(DynidError, match="cannot be expanded"):
        load_robot(arm)
    assert not touched.exists()


@needs_xacro
def test_a_robot_that_cannot_be_read_is_not_written(arm: Path, tmp_path: Path) -> None:
    arm.write_text(ARM.replace('<link name="base"/>', ""))
    with pytest.raises(DynidError):
        dynid.convert(arm, tmp_path / "made.urdf")
    assert not (tmp_path / "made.urdf").exists()
