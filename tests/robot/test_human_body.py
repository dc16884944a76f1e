"""The human body as a robot: its mass, its symmetry, its joints, and the file that it is written to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynid
from dynid import Robot, human, joint_poses, load_robot
from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.human.anthropometry import LIMBS, SEGMENTS, SEXES, TABLES, anthropometry
from dynid.robot.human.human_body import length_at
from dynid.robot.human.skeleton import marker_rows
from dynid.robot.pinocchio import to_pinocchio
from tests.references import pinocchio_regressor

BOTH = [(table, sex) for table in TABLES for sex in SEXES]
MIRROR = np.diag([1.0, -1.0, 1.0])


def places(robot: Robot, q: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Origins [m] of all bodies in the world, shape (3,), in a posture; in the neutral one when None."""
    rotations, origins = joint_poses(robot, robot.neutral if q is None else q)
    return {
        body.name: rotations[i, 0] @ body.placement[:3, 3] + origins[i, 0]
        for i, link in enumerate(robot.links)
        for body in link.bodies
    }


def other_side(name: str) -> str:
    if name.endswith(("_left", "_right")) or name.startswith(("left_", "right_")):
        return name.replace("left", "#").replace("right", "left").replace("#", "right")
    return name if name == "RBAK" or name[:1] not in "LR" else {"L": "R", "R": "L"}[name[0]] + name[1:]


@pytest.mark.parametrize(("table", "sex"), BOTH)
def test_pinocchio_finds_the_mass_and_the_centre_of_mass_of_a_person(table: str, sex: str) -> None:
    robot = human(sex=sex, height=1.72, mass=68.0, table=table)
    model = to_pinocchio(robot)
    centre = pin.centerOfMass(model, model.createData(), pin.neutral(model))
    sole = places(robot)["left_sole"]
    assert pin.computeTotalMass(model) == pytest.approx(68.0, abs=1e-9)
    assert 0.53 < (centre[2] - sole[2]) / 1.72 < 0.57
    assert centre[1] == pytest.approx(0.0, abs=1e-12)
    heel, toes = places(robot)["LHEE"][0], places(robot)["LTOE"][0]
    assert heel < centre[0] < toes


@pytest.mark.parametrize(("table", "sex"), BOTH)
def test_the_body_stands_as_high_as_it_should(table: str, sex: str) -> None:
    robot = human(sex=sex, height=1.72, mass=68.0, table=table)
    head = next(link for link in robot.links if link.name == "head")
    vertex = places(robot)["head"][2] + length_at(anthropometry(table, sex), "head", 1.72)
    assert vertex - places(robot)["left_sole"][2] == pytest.approx(1.72, abs=1e-12)
    assert head.parameters[0] > 0.0


@pytest.mark.parametrize(("table", "sex"), BOTH)
def test_left_and_right_are_mirror_images(table: str, sex: str) -> None:
    robot = human(sex=sex, height=1.72, mass=68.0, table=table)
    at = places(robot)
    by_name = {link.name: link.parameters for link in robot.links}
    flip = np.diag([1.0, -1.0, 1.0, 1.0])
    for name, place in at.items():
        if other_side(name) != name and "/" not in name:
            assert np.allclose(MIRROR @ place, at[other_side(name)], atol=1e-14), name
    for name, parameters in by_name.items():
        assert np.allclose(inertia.moved(parameters, flip), by_name[other_side(name)], atol=1e-12), name


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_positive_angle_is_what_the_name_of_the_joint_says(side: str) -> None:
    robot = human(sex="female", height=1.7, mass=60.0)
    out = 1.0 if side == "left" else -1.0
    label = side[0].upper()
    for joint, frame, axis, sign in (
        (f"hip_{side}_flexion", f"{label}KNE", 0, 1),
        (f"hip_{side}_abduction", f"{label}KNE", 1, out),
        (f"hip_{side}_rotation", f"{label}TOE", 1, -out),
        (f"knee_{side}_flexion", f"{label}ANK", 0, -1),
        (f"ankle_{side}_flexion", f"{label}TOE", 2, 1),
        (f"ankle_{side}_inversion", f"{side}_sole", 1, -out),
        (f"shoulder_{side}_flexion", f"{label}ELB", 0, 1),
        (f"shoulder_{side}_abduction", f"{label}ELB", 1, out),
        (f"elbow_{side}_flexion", f"{label}WRA", 0, 1),
        (f"elbow_{side}_pronation", f"{label}WRA", 0, 1),
        (f"wrist_{side}_flexion", f"{label}FIN", 0, 1),
        (f"wrist_{side}_deviation", f"{label}FIN", 1, out),
        ("spine_flexion", "CLAV", 0, 1),
        ("spine_bending", "C7", 1, 1),
        ("spine_rotation", "CLAV", 1, 1),
        ("neck_flexion", "LFHD", 0, 1),
    ):
        q = robot.neutral
        q[robot.joint(joint).q] = 0.3
        moved = places(robot, q)[frame] - places(robot)[frame]
        assert sign * moved[axis] > 0.01, joint


def test_every_joint_may_move_both_ways_from_the_neutral_posture() -> None:
    for joint in human(sex="male", height=1.8, mass=80.0).joints[1:]:
        assert joint.limits.lower < -0.08 < 0.3 < joint.limits.upper
        assert 3.0 < joint.limits.velocity < 30.0


def test_markers_are_massless_bodies_of_the_plug_in_gait_model() -> None:
    robot = human(sex="male", height=1.8, mass=80.0)
    bodies = {body.name: body for link in robot.links for body in link.bodies}
    names = [name for name, _, _ in marker_rows()]
    assert len(names) == len(set(names)) == 39 + 4
    assert all(bodies[name].inertia is None for name in names)
    few = human(sex="male", height=1.8, mass=80.0, markers=["LASI", "RASI"])
    left = {body.name for link in few.links for body in link.bodies}
    assert {name for name in names if name in left} == {"LASI", "RASI"}


@pytest.mark.parametrize(("sex", "printed"), [("female", 497.9 / 1735), ("male", 515.5 / 1741)])
def test_shoulders_are_as_high_above_the_hips_as_de_leva_has_them(sex: str, printed: float) -> None:
    height = anthropometry("de-leva", sex).height
    at = places(human(sex=sex, height=height, mass=70.0, table="de-leva"))
    assert (at["upper_arm_left"] - at["thigh_left"])[2] == pytest.approx(
        printed * height, rel=0.025
    )  # lengths are scaled


def test_soles_are_on_the_ground_under_the_ankles() -> None:
    at = places(human(sex="male", height=1.8, mass=80.0))
    for side in ("left", "right"):
        assert np.allclose(at[f"{side}_sole"][:2], at[f"foot_{side}"][:2], atol=1e-14)
        assert at[f"foot_{side}"][2] - at[f"{side}_sole"][2] == pytest.approx(0.039 * 1.8)


def test_what_the_ground_identifies_is_what_pinocchio_says() -> None:
    robot = human(sex="female", height=1.7, mass=60.0, markers=[])
    count = len(dynid.inspect(robot, wrench=True, moving=True).base_parameters)
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=(120, size)) for size in (robot.nq, robot.nv, robot.nv))
    W = pinocchio_regressor(robot, robot.normalised(q), v, a)[:6]
    solid = np.concatenate([np.arange(10 * i, 10 * i + 10) for i in robot.solid_links])
    columns = W.reshape(-1, W.shape[-1])[:, solid]
    assert count == np.linalg.matrix_rank(columns / np.linalg.norm(columns, axis=0), tol=1e-8)


def test_the_planar_body_is_the_whole_one_in_three_pieces() -> None:
    whole, planar = (human(sex="male", height=1.8, mass=80.0, planar=flat) for flat in (False, True))
    models = [to_pinocchio(whole), to_pinocchio(planar)]
    centres = [pin.centerOfMass(model, model.createData(), pin.neutral(model)) for model in models]
    masses = [pin.computeTotalMass(model) for model in models]
    feet = inertia.to_mass_com_inertia(planar.base.parameters)
    centre = (masses[1] * centres[1] + feet[0] * feet[1]) / 80.0
    ground = places(whole)["left_sole"] * [1, 0, 1]
    assert (masses[0], masses[1] + feet[0]) == (pytest.approx(80.0), pytest.approx(80.0))
    assert np.allclose(centre, centres[0] - ground, atol=1e-12)
    assert [joint.name for joint in planar.joints] == ["ankle_flexion", "knee_flexion", "hip_flexion"]
    assert [link.name for link in planar.links] == ["shanks", "thighs", "trunk"]
    assert planar.base.name == "feet"


def planar_columns(robot: Robot, channels: tuple[int, ...], speed: float) -> np.ndarray:
    """Pinocchio's regressor of some channels of the wrench on the feet, over random states of the joints."""
    free = assemble(robot.description, floating_base=True)
    rng = np.random.default_rng(0)
    q, v, a = np.tile(free.neutral, (60, 1)), np.zeros((60, free.nv)), np.zeros((60, free.nv))
    q[:, 7:], v[:, 6:], a[:, 6:] = (scale * rng.uniform(-1, 1, (60, 3)) for scale in (1.0, speed, speed))
    W = pinocchio_regressor(free, q, v, a)[list(channels)]
    return W.reshape(-1, W.shape[-1])


PLANAR = {
    "forces and moment": ((0, 2, 4), 1.0, {"wrench": True}, 11),
    "balance board": ((2, 4), 1.0, {"wrench": True}, 11),
    "at rest": ((0, 2, 4), 0.0, {"wrench": True, "gravity_only": True}, 8),
    "centre of pressure at rest": ((2, 4), 0.0, {"centre_of_pressure": True}, 7),
}
"""Channels of the wrench, speed of the motion, what dynid is asked, and the base parameters of the planar body."""


@pytest.mark.parametrize("case", PLANAR)
def test_what_a_balance_board_identifies_of_the_planar_body(case: str) -> None:
    channels, speed, asked, count = PLANAR[case]
    robot = human(sex="male", height=1.8, mass=80.0, planar=True)
    sideways = [f"{symbol}{i}" for i in range(4) for symbol in ("my", "Ixy", "Iyz")]
    found = dynid.inspect(robot, known=dict.fromkeys(sideways, 0.0), **asked)
    scale = int("centre_of_pressure" in asked)  # which the vertical force has, and the centre of pressure has not
    assert np.linalg.matrix_rank(planar_columns(robot, channels, speed), tol=1e-8) == count + scale
    assert len(found.base_parameters) == count


@given(
    st.sampled_from(BOTH),
    st.floats(1.2, 2.2),
    st.floats(30.0, 200.0),
    st.dictionaries(st.sampled_from(SEGMENTS), st.floats(0.7, 1.4), max_size=4),
    st.booleans(),
)
def test_any_body_is_whole_possible_and_the_same_when_read_again(
    tmp_path_factory, kind: tuple[str, str], height: float, mass: float, scales: dict[str, float], planar: bool
) -> None:
    table, sex = kind
    lengths = {name: scale * length_at(anthropometry(table, sex), name, height) for name, scale in scales.items()}
    wanted = {"sex": sex, "height": height, "mass": mass, "table": table, "lengths": lengths, "planar": planar}
    robot = human(**wanted)
    every = (robot.base, *robot.links)
    assert sum(link.parameters[0] for link in every) == pytest.approx(mass, abs=1e-9)
    assert all(inertia.is_physical(link.parameters, tolerance=0.0) for link in every if link.has_inertia)
    path = tmp_path_factory.mktemp("human") / "human.urdf"
    dynid.convert("human", path, **wanted)
    again = load_robot(path, floating_base=not planar)
    assert again.moves_as(robot.kinematics())
    assert again.solid_links == robot.solid_links
    for mine, theirs in zip(every, (again.base, *again.links), strict=True):
        assert np.allclose(mine.parameters, theirs.parameters, rtol=1e-12, atol=1e-12)
        assert [body.name for body in mine.bodies] == [body.name for body in theirs.bodies]
        for one, other in zip(mine.bodies, theirs.bodies, strict=True):
            assert np.allclose(one.placement, other.placement, atol=1e-12)
            assert [shape.size for shape in one.geometry] == [shape.size for shape in other.geometry]
    assert [joint.limits for joint in again.joints] == [joint.limits for joint in robot.joints]


WRONG = {
    "centimetres": ({"height": 175.0}, InvalidRequestError, "1.75"),
    "millimetres": ({"height": 1750}, InvalidRequestError, "1.75"),
    "feet": ({"height": 5.75}, InvalidRequestError, "1.753"),
    "grams": ({"mass": 70000.0}, InvalidRequestError, "70"),
    "not a number": ({"mass": float("nan")}, InvalidRequestError, "650"),
    "text": ({"height": "tall"}, InvalidRequestError, "tall"),
    "an array": ({"height": [1.7, 1.8]}, InvalidRequestError, "1.8"),
    "a truth": ({"height": True}, InvalidRequestError, "True"),
    "no sex": ({"sex": None}, UnknownNameError, "female"),
    "no mass": ({"mass": 0.0}, InvalidRequestError, "0.0"),
    "long thigh": ({"lengths": {"thigh": 41.0}}, InvalidRequestError, "0.41"),
    "no such segment": ({"lengths": {"tigh": 0.4}}, UnknownNameError, "thigh"),
    "no such table": ({"table": "deleva"}, UnknownNameError, "de-leva"),
    "no such sex": ({"sex": "woman"}, UnknownNameError, "female"),
    "no such marker": ({"markers": ["LKNEE"]}, UnknownNameError, "LKNE"),
}


@pytest.mark.parametrize("case", WRONG)
def test_numbers_and_names_that_are_none_of_a_body_are_refused(case: str) -> None:
    wrong, error, hint = WRONG[case]
    with pytest.raises(error, match=hint):
        human(**{"sex": "male", "height": 1.75, "mass": 70.0, **wrong})


def codes(**stated) -> set[str]:
    return {f.code for f in human(**{"sex": "male", "height": 1.75, "mass": 70.0, **stated}).description.findings}


def test_unusual_bodies_are_made_with_a_finding() -> None:
    assert codes() == set()
    assert codes(mass=38.0) == {"human-mass-implausible"}
    assert codes(mass=155.0) == {"human-mass-implausible"}
    assert codes(lengths={"hand": 0.12}) == {"human-length-unusual"}
    assert codes(lengths={"thigh": 0.50, "shank": 0.50}) == {"human-height-differs"}


def test_a_length_of_one_side_is_of_that_side_only() -> None:
    robot = human(sex="male", height=1.75, mass=70.0, lengths={"thigh": 0.42, "thigh_left": 0.40})
    at = places(robot)
    assert at["thigh_left"][2] - at["shank_left"][2] == pytest.approx(0.40)
    assert at["thigh_right"][2] - at["shank_right"][2] == pytest.approx(0.42)
    assert {f"{limb}_left" for limb in LIMBS} <= set(at)


def test_convert_needs_a_person_and_a_new_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequestError, match="mass"):
        dynid.convert("human", sex="male", height=1.8)
    with pytest.raises(InvalidRequestError, match="--sex female or --sex male"):
        dynid.convert("human", height=1.75, mass=70.0)
    with pytest.raises(InvalidRequestError, match="height"):
        dynid.convert("builtin:ur5", "ur5.urdf", height=1.8)
    with pytest.raises(InvalidRequestError, match="output"):
        dynid.convert("builtin:ur5")
    done = dynid.convert("human", sex="male", height=1.8, mass=80.0)
    assert (str(done.path), done.left_out) == ("human.urdf", ())
    with pytest.raises(OutputExistsError):
        dynid.convert("human", sex="male", height=1.8, mass=80.0)


def test_a_file_called_human_is_read_as_a_path(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    dynid.convert("builtin:pendulum", "pendulum.urdf")
    Path("pendulum.urdf").rename("human")
    for source in (Path("human"), "./human"):
        assert len(dynid.convert(source, "arm.urdf", overwrite=True).robot.joints) == 1


def test_a_freed_base_is_written_as_the_file_has_it(tmp_path: Path) -> None:
    robot = human(sex="male", height=1.8, mass=80.0)
    dynid.convert(robot, tmp_path / "body.urdf")
    assert not load_robot(tmp_path / "body.urdf").has_floating_base
    assert load_robot(tmp_path / "body.urdf", floating_base=True).moves_as(robot.kinematics())
