"""Lengths of people, and where their markers are, from a recording in which all joints move."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import dynid
from dynid import Capture, MarkerCalibration, Robot, calibrate_markers, human_of_markers, motion_of_markers
from dynid.arrays import Array
from dynid.errors import UnknownNameError
from dynid.findings import has
from dynid.logs.captures.human_of_markers import lengths_of
from dynid.robot import with_places
from tests.marker_truth import LABELS, captured, pinocchio_markers, waves

TRUE = {"thigh": 0.42, "shank": 0.37, "upper_arm": 0.29, "forearm": 0.24, "torso": 0.47}
"""Lengths [m] of a person that are up to 4 cm off those of her height."""


def places(robot: Robot) -> dict[str, Array]:
    """Origins of all joints on the link before them [m]."""
    return {joint.name: joint.placement[:3, 3] for joint in robot.joints}


@pytest.fixture(scope="module")
def truth() -> Robot:
    """A person with lengths of her own, whose hip and shoulder, and all markers, are elsewhere than in the model."""
    rng = np.random.default_rng(5)
    body = dynid.human(sex="female", height=1.70, mass=60.0, lengths=TRUE)
    joints = {name: places(body)[name] + [0.0, 0.01, 0.005] for name in ("hip_left_flexion", "shoulder_left_flexion")}
    own = {b.name: b.placement[:3, 3] for link in body.links for b in link.bodies if b.name in LABELS}
    return with_places(body, joints, {name: place + 0.01 * rng.normal(size=3) for name, place in own.items()})


@pytest.fixture(scope="module")
def recording(truth: Robot) -> Capture:
    t, q = waves(truth, 20.0, rate=50.0)
    return captured(t, pinocchio_markers(truth, q), noise=1e-3)


@pytest.fixture(scope="module")
def found(recording: Capture) -> MarkerCalibration:
    return calibrate_markers(dynid.human(sex="female", height=1.70, mass=60.0), recording)


def true_length(truth: Robot, joints: tuple[str, str]) -> float:
    first, second = (truth.joint(name) for name in joints)
    carrier = truth.joints.index(first)
    begin = np.zeros(3) if second.parent == carrier else first.placement[:3, 3]
    return float(np.linalg.norm(second.placement[:3, 3] - begin))


def test_lengths_between_joints_are_found_within_their_standard_deviations(
    truth: Robot, found: MarkerCalibration
) -> None:
    assert len(found.lengths) == 17
    assert all(one.is_determined for one in found.lengths)
    errors = np.array([one.length - true_length(truth, one.joints) for one in found.lengths])
    stds = np.array([one.std for one in found.lengths])
    assert np.abs(errors).max() < 0.006
    assert np.sqrt(np.mean((errors / stds) ** 2)) < 2.0
    before = np.array([one.before - true_length(truth, one.joints) for one in found.lengths])
    assert np.abs(before).max() > 0.03
    assert not found.findings


def test_residuals_are_those_of_the_cameras(recording: Capture, found: MarkerCalibration) -> None:
    assert found.before > 0.015
    assert found.after < 1.6e-3
    motion = motion_of_markers(found.robot, recording)
    assert motion.rms == pytest.approx(found.after, rel=0.05)
    assert not has(motion.findings, "markers-fit-poorly", "marker-residual-large", "marker-left-out")
    assert repr(found).startswith("MarkerCalibration: 17 of 17 lengths determined, residuals ")


def test_exchanged_labels_are_put_right_before_anything_is_calibrated(
    recording: Capture, found: MarkerCalibration
) -> None:
    order = list(recording.names)
    a, b = order.index("LKNE"), order.index("LTIB")
    order[a], order[b] = order[b], order[a]
    wrong = replace(recording, names=tuple(name.lower() for name in order))
    again = calibrate_markers(dynid.human(sex="female", height=1.70, mass=60.0), wrong)
    assert [finding.code for finding in again.findings] == ["markers-swapped"]
    assert [one.length for one in again.lengths] == pytest.approx([one.length for one in found.lengths], abs=1e-6)


def test_frames_stay_near_those_of_the_file(truth: Robot, found: MarkerCalibration) -> None:
    q = truth.neutral[None]
    way = pinocchio_markers(found.robot, q) - pinocchio_markers(truth, q)
    assert np.linalg.norm(way - way.mean(axis=1), axis=2).max() < 0.12


def test_a_human_body_of_a_recording_has_its_lengths_and_the_stated_mass(recording: Capture, truth: Robot) -> None:
    stated = {"upper_arm": 0.29}
    body = human_of_markers(recording, sex="female", height=1.70, mass=60.0, table="de-leva", lengths=stated)
    lengths = lengths_of(body)
    for name, length in TRUE.items():
        for key in (name,) if name == "torso" else (f"{name}_left", f"{name}_right"):
            assert lengths[key] == pytest.approx(length, abs=0.006), key
    middle = (places(truth)["hip_left_flexion"] + places(truth)["hip_right_flexion"]) / 2
    pelvis = np.linalg.norm(places(truth)["spine_flexion"] - middle)
    assert lengths["pelvis"] == pytest.approx(pelvis, abs=0.004)
    assert sum(link.parameters[0] for link in body.robot.links) == pytest.approx(60.0, abs=1e-9)
    thigh = next(link for link in body.robot.links if link.name == "thigh_left")
    mass, *moments = thigh.parameters[:4]
    table = dynid.human(sex="female", height=1.70, mass=60.0, table="de-leva", lengths={"thigh": 0.42})
    expected = next(link for link in table.links if link.name == "thigh_left").parameters
    assert np.array(moments) / mass == pytest.approx(expected[1:4] / expected[0], abs=0.004)


def test_what_does_not_move_is_not_determined_and_stays(truth: Robot) -> None:
    t, q = waves(truth, 6.0, rate=50.0)
    for name in ("knee_left_flexion", "ankle_left_flexion", "ankle_left_inversion"):
        q[:, truth.joint(name).q] = 0.1
    found = calibrate_markers(
        dynid.human(sex="female", height=1.70, mass=60.0), captured(t, pinocchio_markers(truth, q), noise=1e-3)
    )
    finding = next(f for f in found.findings if f.code == "lengths-not-determined")
    assert "shank_left" in finding.values["links"]
    assert "shank_right" not in finding.values["links"]
    assert "shank_left" not in lengths_of(found)


def test_the_planar_body_and_markers_alone_are_calibrated() -> None:
    body = dynid.human(sex="male", height=1.80, mass=80.0, planar=True)
    taller = dynid.human(sex="male", height=1.80, mass=80.0, planar=True, lengths={"thigh": 0.47, "shank": 0.42})
    free = dynid.robot.as_robot(taller, floating_base=True)  # type: ignore[attr-defined]
    t, q = waves(free, 6.0, share=0.4, rate=50.0)
    q[:, :7] = free.neutral[:7]
    recording = captured(t, pinocchio_markers(free, q), noise=1e-3)
    lengths = {one.link: one.length for one in calibrate_markers(body, recording).lengths}
    assert lengths["shanks"] == pytest.approx(0.42, abs=0.004)
    assert lengths["thighs"] == pytest.approx(0.47, abs=0.004)
    markers = calibrate_markers(body, recording, joints=False)
    assert not markers.lengths
    assert markers.after < markers.before


def test_places_of_frames_are_changed_by_name() -> None:
    body = dynid.human(sex="male", height=1.80, mass=80.0)
    moved = with_places(body, {"knee_left_flexion": np.array([0.0, 0.0, -0.5])}, {"LTIB": np.array([0.1, 0.0, -0.2])})
    assert places(moved)["knee_left_flexion"].tolist() == [0.0, 0.0, -0.5]
    at = {b.name: b.placement[:3, 3] for link in moved.links for b in link.bodies}
    assert at["LTIB"].tolist() == [0.1, 0.0, -0.2]
    assert np.array_equal(moved.parameters, body.parameters)
    for joints, bodies in (({"knee": np.zeros(3)}, {}), ({}, {"thigh_left": np.zeros(3)})):
        with pytest.raises(UnknownNameError):
            with_places(body, joints, bodies)


def test_pairs_of_joints_on_one_link_are_all_there(found: MarkerCalibration) -> None:
    torso = [one.joints for one in found.lengths if one.link == "torso"]
    ends = ["spine_rotation", "neck_flexion", "shoulder_left_flexion", "shoulder_right_flexion"]
    assert torso == list(combinations(ends, 2))
