"""Results of one stance beside logs of another: what base parameters cannot say is refused, or said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import Contact, DynamicModel, Log, Result, load_result, load_robot
from dynid.arrays import Array
from dynid.findings import Severity, has
from dynid.identification.held_out_logs import unseen_logs
from dynid.identification.log_reading import share_samples
from dynid.identification.other_stances import THRESHOLDS, share_beyond
from dynid.identification.result import ResultError
from dynid.identification.validation import Validation
from dynid.robot import Robot
from tests.floating_logs import needed, smooth_motion
from tests.standing_biped import LEFT, RIGHT, Stood, on_one_foot, two_feet

PLAIN = {"fit": False}
OTHER = "validated-on-another-stance"


@pytest.fixture(scope="module")
def robot() -> Robot:
    return two_feet(5)


@pytest.fixture(scope="module")
def left(robot: Robot) -> Stood:
    return on_one_foot(robot, LEFT, 0)


@pytest.fixture(scope="module")
def left_again(robot: Robot) -> Stood:
    return on_one_foot(robot, LEFT, 2)


@pytest.fixture(scope="module")
def right(robot: Robot) -> Stood:
    return on_one_foot(robot, RIGHT, 1)


@pytest.fixture(scope="module")
def of_left(robot: Robot, left: Stood) -> Result:
    """From the wrench, standing on the left foot."""
    return dynid.identify(robot, left.log(), physical=PLAIN)


@pytest.fixture(scope="module")
def of_both(robot: Robot, left: Stood, right: Stood) -> Result:
    """From the wrench, on the left foot and then on the right one."""
    return dynid.identify(robot, [left.log(), right.log()], physical=PLAIN)


def share_of(validation: Validation) -> float:
    return next(finding.values["share"] for finding in validation.findings if finding.code == OTHER)


def values(result: Result) -> Array:
    return np.array([row.value for row in result.parameters])


def test_a_log_on_the_same_foot_is_described(of_left: Result, left_again: Stood) -> None:
    found = of_left.validate(left_again.log())
    assert found.relative_error < 1e-7
    assert not has(found.findings, OTHER, "log-not-held-out")


def test_a_log_on_the_other_foot_is_said_to_be_and_by_how_much(of_left: Result, right: Stood) -> None:
    found = of_left.validate(right.log(name="right"))
    assert found.relative_error > 0.01
    assert share_of(found) == pytest.approx(found.relative_error, rel=0.02)  # the file is right, so nothing else is off
    assert next(one for one in found.findings if one.code == OTHER).severity is Severity.WARNING
    assert found.unseen is not None
    noticed = next(one.evidence for one in found.findings if one.code == OTHER)
    assert noticed in found.verdict.reason


def test_a_foot_that_is_tilted_otherwise_is_another_stance(of_left: Result, robot: Robot) -> None:
    tilted = on_one_foot(robot, LEFT, 3, tilt=0.5).log()
    assert has(of_left.validate(tilted).findings, OTHER)
    with pytest.raises(ResultError, match="tilted"):
        dynid.identify(robot, tilted, physical=PLAIN, add_to=of_left)


def test_both_feet_describe_every_stance(of_both: Result, robot: Robot, left_again: Stood) -> None:
    for log in (left_again.log(), on_one_foot(robot, RIGHT, 4, tilt=0.5).log()):
        found = of_both.validate(log)
        assert found.relative_error < 1e-7
        assert not has(found.findings, OTHER)


def test_physical_links_predict_the_other_foot(robot: Robot, left: Stood, right: Stood) -> None:
    """What never shows on the left foot is that of the file, which is right here."""
    result = dynid.identify(robot, left.log())
    found = result.validate(right.log())
    assert found.physical is not None
    assert found.physical.relative_error < 1e-4 < 0.01 < found.relative_error
    assert next(one for one in found.findings if one.code == OTHER).severity is Severity.NOTE
    p = result.standard_parameters(physical=True)
    expected = np.linalg.norm(needed(robot, right.motion, p)[:, :6] - needed(robot, right.motion)[:, :6])
    assert expected < 1e-4 * np.linalg.norm(needed(robot, right.motion)[:, :6])


def test_a_base_that_stands_still_says_little_of_one_that_moves(tmp_path: Path) -> None:
    robot = load_robot("builtin:ur5", floating_base=True)
    motion = smooth_motion(robot)
    still = np.zeros((len(motion.t), 6))
    q = np.hstack([np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(still), 1)), motion.q[:, 7:]])
    v, a = (np.hstack([still, x[:, 6:]]) for x in (motion.v, motion.a))
    wrench = DynamicModel(robot).inverse_dynamics(q, v, a)[:, :6]
    standing = Log(time=motion.t, position=q[:, 7:], stance="base", contacts=[Contact("base", wrench)])
    moving = Log(
        time=motion.t,
        position=q[:, 7:],
        base_pose=motion.q[:, :7],
        contacts=[Contact("base", needed(robot, motion)[:, :6])],
    )
    result = dynid.identify(robot, standing, physical=PLAIN)
    found = result.validate(moving)
    assert share_of(found) == pytest.approx(found.relative_error, rel=0.05)
    result.save(tmp_path / "standing")
    assert share_of(load_result(tmp_path / "standing").validate(moving)) == share_of(found)
    with pytest.raises(ResultError, match="'base' rests"):
        dynid.identify(robot, moving, physical=PLAIN, add_to=result)
    other_way = dynid.identify(robot, moving, physical=PLAIN)
    assert not has(other_way.validate(standing).findings, OTHER)
    added = dynid.identify(robot, standing, physical=PLAIN, add_to=other_way)
    assert np.abs(values(added) - added.base.to_base(robot.parameters)).max() < 1e-6


def test_adding_a_log_on_the_other_foot_is_refused(of_left: Result, robot: Robot, right: Stood) -> None:
    with pytest.raises(ResultError, match=f"'{LEFT}' rests"):
        dynid.identify(robot, right.log(), physical=PLAIN, add_to=of_left)


def test_adding_torques_to_a_result_of_wrenches_is_refused(of_left: Result, robot: Robot, left_again: Stood) -> None:
    with pytest.raises(ResultError, match="joint torques"):
        dynid.identify(robot, left_again.log(torques=True), physical=PLAIN, add_to=of_left)


def test_torques_that_a_result_of_wrenches_does_not_predict_are_noted(of_left: Result, left_again: Stood) -> None:
    assert has(of_left.validate(left_again.log(torques=True)).findings, "log-measures-more")


def test_a_log_of_which_nothing_is_predicted_validates_nothing(of_left: Result, left_again: Stood) -> None:
    with pytest.raises(ResultError, match="nothing that the result predicts"):
        of_left.validate(left_again.log(wrench=False, torques=True))


def test_adding_a_log_on_the_same_tilted_foot_is_identifying_both(robot: Robot) -> None:
    """The first result knows where the foot rests."""
    one, other = (on_one_foot(robot, LEFT, seed, tilt=0.3).log() for seed in (3, 4))
    first = dynid.identify(robot, one, physical=PLAIN)
    assert first.model.observed.posture
    together = dynid.identify(robot, [one, other], physical=PLAIN)
    added = dynid.identify(robot, other, physical=PLAIN, add_to=first)
    assert added.model.observed == first.model.observed
    assert added.base.names == together.base.names
    assert np.abs(values(added) - added.base.to_base(robot.parameters)).max() < 1e-6


def test_a_foot_that_tilts_a_little_is_the_same_stance(of_left: Result, robot: Robot) -> None:
    """Soles rest on the ground to half a degree; what that leaves is far below the noise of sensors."""
    log = on_one_foot(robot, LEFT, 3, tilt=0.01).log()
    prepared = unseen_logs(of_left, [log])[0].prepared
    assert 0.0 < share_beyond(of_left.base, prepared) < 0.2 * THRESHOLDS.beyond


def test_logs_without_torques_are_the_same_where_motions_and_wrenches_are(left: Stood, left_again: Stood) -> None:
    log, other = left.log(), left_again.log()
    assert np.array_equal(log.time, other.time)
    assert share_samples(log, left.log())
    assert not share_samples(log, other)
    assert left.contact.wrench is not None
    assert not share_samples(log, replace(log, contacts=[Contact(LEFT, 1.1 * left.contact.wrench)]))
    assert not share_samples(log, replace(log, contacts=[Contact(LEFT)]))
    moving = replace(log, stance=None, base_pose=left.motion.q[:, :7])
    assert share_samples(moving, replace(moving))
    assert not share_samples(moving, replace(moving, base_pose=left_again.motion.q[:, :7]))
