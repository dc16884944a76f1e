"""Joint angles from markers: exact where markers are, honest where they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid import Capture, Robot, motion_of_markers
from dynid.errors import InvalidRequestError, ShapeError
from dynid.findings import has
from dynid.logs.captures.marker_tree import MarkerTree
from dynid.model import moved
from dynid.robot import JointKind, as_robot, pose
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, JointDescription
from tests.marker_truth import LABELS, captured, pinocchio_markers, waves


@pytest.fixture(scope="module")
def person() -> Robot:
    return dynid.human(sex="female", height=1.7, mass=60.0)


def at(name: str) -> int:
    return LABELS.index(name)


def test_markers_and_their_jacobian_are_those_of_pinocchio_and_of_finite_differences(person: Robot) -> None:
    _, q = waves(person, 0.05)
    tree = MarkerTree.of(person, LABELS)
    assert np.allclose(tree.positions(q), pinocchio_markers(person, q), atol=1e-13)
    J, h = tree.jacobian(q), 1e-6
    for k in range(person.nv):
        step = np.zeros((len(q), person.nv))
        step[:, k] = h
        slope = (tree.positions(moved(person, q, step)) - tree.positions(moved(person, q, -step))) / (2.0 * h)
        assert np.allclose(J[..., k], slope, atol=1e-8)


def test_normal_equations_are_those_of_the_jacobian(person: Robot) -> None:
    rng = np.random.default_rng(1)
    _, q = waves(person, 0.05)
    tree = MarkerTree.of(person, LABELS)
    seen = tree.positions(q) + 0.01 * rng.normal(size=(len(q), len(LABELS), 3))
    weights = rng.uniform(0.0, 2.0, (len(q), len(LABELS))) * (rng.random((len(q), len(LABELS))) > 0.2)
    errors, H, g = tree.normal_equations(q, seen, weights)
    J, w = tree.jacobian(q), weights[:, :, None]
    assert np.allclose(H, np.einsum("smxi,smxj->sij", w[..., None] * J, J), atol=1e-12)
    assert np.allclose(g, np.einsum("smxi,smx->si", J, w * errors), atol=1e-12)


def test_exact_markers_give_the_exact_posture(person: Robot) -> None:
    t, q = waves(person, 3.0, share=0.6)
    motion = motion_of_markers(person, captured(t, pinocchio_markers(person, q)))
    assert np.abs(motion.position - q[:, 7:]).max() < 1e-9
    signs = np.sign(np.sum(motion.base_pose[:, 3:] * q[:, 3:7], axis=1, keepdims=True))
    assert np.abs(motion.base_pose[:, :3] - q[:, :3]).max() < 1e-9
    assert np.abs(signs * motion.base_pose[:, 3:] - q[:, 3:7]).max() < 1e-9
    assert motion.rms < 1e-9
    assert not motion.findings
    assert repr(motion).startswith("MarkerMotion: 300 samples, 32 joints from 43 markers")


def test_standard_deviations_are_those_of_the_errors(person: Robot) -> None:
    t, q = waves(person, 10.0)
    motion = motion_of_markers(person, captured(t, pinocchio_markers(person, q), noise=1e-3))
    errors = (motion.position - q[:, 7:]) / motion.std
    assert 0.95 < np.sqrt(np.mean(errors**2)) < 1.05
    assert np.sqrt(np.mean(errors**2, axis=0)) == pytest.approx(1.0, abs=0.2)
    assert motion.rms == pytest.approx(1e-3 * np.sqrt(3.0 * (1.0 - 38 / (3 * len(LABELS)))), rel=0.03)


def test_markers_that_were_not_seen_are_left_out_and_joints_that_none_shows_have_no_position(person: Robot) -> None:
    t, q = waves(person, 3.0)
    markers = pinocchio_markers(person, q)
    markers[:, at("C7")] = np.nan
    markers[100:150, [at("LFIN"), at("RANK"), at("RMED")]] = np.nan
    motion = motion_of_markers(person, captured(t, markers))
    joints = [joint.name for joint in person.joints[1:]]
    wrist = [joints.index(f"wrist_left_{kind}") for kind in ("flexion", "deviation")]
    lost = np.isnan(motion.position)
    assert lost[100:150, wrist].all()
    assert np.count_nonzero(lost) == 100
    assert np.nanmax(np.abs(motion.position - q[:, 7:])) < 1e-9
    assert np.isnan(motion.residuals[:, at("C7")]).all()
    assert {f.subject for f in motion.findings if f.code == "joint-seen-in-part"} == {
        f"joint 'wrist_left_{kind}'" for kind in ("flexion", "deviation")
    }


def test_joints_without_markers_are_named_and_held(person: Robot) -> None:
    t, q = waves(person, 2.0)
    q[:, person.joint("wrist_right_flexion").q.start] = 0.0
    q[:, person.joint("wrist_right_deviation").q.start] = 0.0
    few = [k for k, name in enumerate(LABELS) if name != "RFIN"]
    names = [LABELS[k] for k in few]
    motion = motion_of_markers(person, captured(t, pinocchio_markers(person, q, names), names))
    assert [f.values["joints"] for f in motion.findings] == [["wrist_right_flexion", "wrist_right_deviation"]]
    assert np.abs(motion.position - q[:, 7:]).max() < 1e-9


def test_markers_that_are_swapped_or_slip_do_not_count_and_are_named(person: Robot) -> None:
    t, q = waves(person, 4.0)
    markers = pinocchio_markers(person, q)
    pair = [at("LKNE"), at("LTHI")]
    markers[100:140, pair] = markers[100:140, pair[::-1]]
    markers[240:, at("RTIB")] += [0.0, 0.05, 0.0]
    motion = motion_of_markers(person, captured(t, markers))
    assert {f.subject for f in motion.findings if f.code == "marker-left-out"} == {
        "marker 'LKNE'", "marker 'LTHI'", "marker 'RTIB'"
    }  # fmt: skip
    assert np.count_nonzero(motion.left_out) == 2 * 40 + 160
    assert np.abs(motion.position - q[:, 7:]).max() < 1e-9


def test_a_marker_that_is_elsewhere_all_the_time_is_named(person: Robot) -> None:
    t, q = waves(person, 2.0)
    markers = pinocchio_markers(person, q)
    markers[:, at("LTHI")] += 0.04 * (markers[:, at("LKNE")] - markers[:, at("LASI")])
    markers[:, at("T10")] += [0.0, 0.0, 0.06]
    motion = motion_of_markers(person, captured(t, markers, noise=1e-3))
    assert "marker 'T10'" in {f.subject for f in motion.findings if f.code == "marker-residual-large"}


def test_another_person_and_joints_beyond_their_limits_are_said(person: Robot) -> None:
    taller = dynid.human(sex="female", height=1.9, mass=60.0)
    t, q = waves(taller, 1.0)
    q[:, taller.joint("knee_left_flexion").q.start] = -0.4
    findings = motion_of_markers(person, captured(t, pinocchio_markers(taller, q))).findings
    assert has(findings, "markers-fit-poorly")
    assert "joint 'knee_left_flexion'" in {f.subject for f in findings if f.code == "joint-beyond-limit"}


def arm_with_markers(on_base: bool) -> tuple[Robot, list[str]]:
    """A UR5 with two markers on each link, and three on its base if wanted."""
    rng, arm = np.random.default_rng(3), dynid.load_robot("builtin:ur5").description
    bodies, joints, names = list(arm.bodies), list(arm.joints), list[str]()
    for body in arm.bodies[0 if on_base else 1 :]:
        for k in range(3 if body is arm.bodies[0] else 2):
            names.append(f"{body.name}_{k}")
            bodies.append(BodyDescription(names[-1]))
            place = pose(translation=0.1 * rng.normal(size=3))
            joints.append(JointDescription(f"{names[-1]}_fixed", JointKind.FIXED, body.name, names[-1], place))
    return assemble(replace(arm, bodies=tuple(bodies), joints=tuple(joints))), names


@pytest.mark.parametrize("on_base", [True, False])
def test_an_arm_shows_where_its_base_stands(on_base: bool) -> None:
    arm, names = arm_with_markers(on_base)
    t, q = waves(as_robot(arm, floating_base=True), 2.0, share=0.3)
    q[:, :7] = [1.0, 2.0, 0.1, 0.0, 0.0, np.sin(0.6), np.cos(0.6)]
    markers = pinocchio_markers(as_robot(arm, floating_base=True), q, names)
    motion = motion_of_markers(arm, captured(t, markers, names))
    # Without markers on the base, a turn of it about the first axis is an offset of the first joint.
    assert np.abs(motion.position[:, 1:] - q[:, 8:]).max() < 1e-9
    if on_base:
        assert np.abs(motion.position - q[:, 7:]).max() < 1e-9
        assert np.abs(motion.base_pose - q[:, :7]).max() < 1e-9
    else:
        assert np.ptp(motion.position[:, 0] - q[:, 7]) < 1e-9
        assert has(motion.findings, "base-not-seen")
    known = motion_of_markers(arm, captured(t, markers, names), base_pose=q[0, :7])
    assert np.abs(known.position - q[:, 7:]).max() < 1e-9
    with pytest.raises(ShapeError):
        motion_of_markers(arm, captured(t, markers, names), base_pose=[0.0, 0.0, 0.0])


def test_the_planar_body_takes_the_markers_of_both_sides() -> None:
    body = dynid.human(sex="male", height=1.8, mass=80.0, planar=True)
    free = as_robot(body, floating_base=True)
    t, q = waves(free, 2.0, share=0.3)
    q[:, :7] = [1.0, 2.0, 0.1, 0.0, 0.0, np.sin(0.6), np.cos(0.6)]
    motion = motion_of_markers(body, captured(t, pinocchio_markers(free, q)))
    assert np.abs(motion.position - q[:, 7:]).max() < 1e-9
    assert np.abs(motion.base_pose - q[:, :7]).max() < 1e-9


def test_labels_may_have_subjects_or_be_stated(person: Robot) -> None:
    t, q = waves(person, 0.3)
    markers = pinocchio_markers(person, q)
    names = ["Anna:" + name for name in LABELS]
    names[at("LASI")], names[at("T10")] = "pelvis left", "stick"
    motion = motion_of_markers(person, Capture(t, markers, names), labels={"pelvis left": "LASI"})
    assert np.abs(motion.position - q[:, 7:]).max() < 1e-9
    assert [f.values["labels"] for f in motion.findings] == [["stick"]]
    for wrong in ({"pelvis": "LASI"}, {"stick": "nobody"}, {"stick": "LTHI"}):
        with pytest.raises(InvalidRequestError):
            motion_of_markers(person, Capture(t, markers, names), labels=wrong)
    with pytest.raises(InvalidRequestError, match="massless bodies"):
        motion_of_markers(dynid.load_robot("builtin:ur5"), Capture(t, markers, names))
    with pytest.raises(InvalidRequestError, match="leave base_pose out"):
        motion_of_markers(person, captured(t, markers), base_pose=q[0, :7])
    with pytest.raises(InvalidRequestError, match="was seen"):
        motion_of_markers(person, captured(t, np.full_like(markers, np.nan)))
