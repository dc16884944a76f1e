"""Movements: what they are called, where they go, and how fast."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid import joint_poses
from dynid.excitation.proposals.candidate_movements import THRESHOLDS, CandidateMovements
from dynid.excitation.proposals.movement_words import named_joint, named_joints
from dynid.robot.loads import place_of_body

UR5 = dynid.load_robot("builtin:ur5")
PERSON = dynid.human(sex="male", height=1.8, mass=80.0, markers=[])


@pytest.mark.parametrize("robot", [UR5, dynid.load_robot("builtin:panda"), PERSON], ids=lambda robot: robot.name)
def test_movements_stay_within_ranges_and_speeds(robot: dynid.Robot) -> None:
    posture = robot.neutral
    for joint in robot.axes:
        posture[joint.q] = np.clip(posture[joint.q], joint.limits.lower, joint.limits.upper)
    movements = CandidateMovements(robot, posture)
    for movement in [*movements.first(), *movements.around(1)]:
        q, v, _ = movement.states(robot, posture, 2.0 * movement.period, 101)
        for axis, joint in enumerate(robot.axes):
            if axis in movement.joints:
                assert q[:, joint.q].min() >= joint.limits.lower - 1e-9
                assert q[:, joint.q].max() <= joint.limits.upper + 1e-9
                speed = THRESHOLDS.speed_part * joint.limits.velocity
                assert np.abs(v[:, joint.v]).max() <= speed * 1.0001
            else:
                assert np.ptp(q[:, joint.q]) == 0.0


def test_velocities_and_accelerations_are_the_derivatives_of_positions() -> None:
    """Of a base that turns, too, against Pinocchio's differences of configurations."""
    import pinocchio as pin

    from dynid.robot.pinocchio import to_pinocchio

    model = to_pinocchio(PERSON)
    turn = next(one for one in CandidateMovements(PERSON, PERSON.neutral).first() if one.turn is not None)
    q, v, a = turn.states(PERSON, PERSON.neutral, 2.0, 4001)
    step = 2.0 / 4001
    for k in (500, 1777, 3210):
        numeric = pin.difference(model, q[k - 1], q[k + 1]) / (2.0 * step)
        assert np.allclose(numeric[:6], v[k, :6], atol=1e-4)
        assert np.allclose((v[k + 1] - v[k - 1]) / (2.0 * step), a[k], atol=1e-3)


def test_a_body_that_leans_keeps_a_place_on_the_ground() -> None:
    movements = CandidateMovements(PERSON, PERSON.neutral)
    lean = next(one for one in movements.first() if one.turn is not None and "Lean" in one.text)
    q = lean.positions(PERSON, PERSON.neutral, np.linspace(0.0, 2.0, 50))
    link, placement = place_of_body(PERSON, "left_sole")
    rotations, origins = joint_poses(PERSON, q)
    soles = origins[link] + rotations[link] @ placement[:3, 3]
    heads = origins[next(k for k, one in enumerate(PERSON.links) if one.name == "head")]
    assert np.ptp(soles[:, 0]) < 0.03 < 0.2 < np.ptp(heads[:, 0])


def test_bodies_with_two_sides_are_spoken_of_in_plain_words() -> None:
    texts = {one.text for one in CandidateMovements(PERSON, PERSON.neutral).first()}
    for text in (
        "Raise the left arm sideways and lower it, briskly",
        "Raise both arms forward and lower them, briskly",
        "Bend and stretch the right knee, slowly",
        "Turn the whole body left and right on the spot",
    ):
        assert text in texts
    assert None not in named_joints(PERSON)
    assert named_joints(UR5) == [None] * 6  # it has shoulder, elbow and wrist, and no sides
    assert any(one.text == "Swing elbow_joint, briskly" for one in CandidateMovements(UR5, np.zeros(6)).first())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("left_shoulder_pitch_joint", ("left", "shoulder", "flexion")),
        ("right_hip_yaw_joint", ("right", "hip", "rotation")),
        ("LHipRoll", ("left", "hip", "abduction")),
        ("l_elbow", ("left", "elbow", "")),
        ("r_knee_joint", ("right", "knee", "flexion")),
        ("waist_yaw", ("", "spine", "rotation")),
        ("FL_calf_joint", None),
        ("panda_joint1", None),
        ("left_wheel", None),
    ],
)
def test_names_of_joints_say_what_they_are(name: str, expected: tuple[str, str, str] | None) -> None:
    found = named_joint(name)
    if expected is None or not expected[2]:
        assert found is None  # the name does not say which way it turns
    else:
        assert found is not None
        assert (found.side, found.part, found.way) == expected
