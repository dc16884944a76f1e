"""What a model gains simulated controllers: the order of tracking errors, held-out residuals, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import DynamicModel, Log, Result, Robot, load_robot
from dynid.errors import DynidError, InvalidRequestError
from dynid.identification.answers import Answer
from dynid.identification.tracked_motion import TrackedMotion, motion_of_logs
from dynid.identification.tracking import robot_of_file
from dynid.logs.processing.signals import TooShortError
from dynid.robot import Load
from dynid.robot.assembly import assemble
from dynid.simulation import stated_terms
from tests.commanded_results import small_result
from tests.first_hours import sums_of_sines
from tests.truth_logs import random_arm

TERMS = ("viscous", "coulomb")
T = np.arange(0.0, 12.0, 0.005)


def true_parameters(model: DynamicModel, factor: float) -> np.ndarray:
    """Links that are heavier than in the file, and friction that it does not state."""
    p = np.nan_to_num(model.reference).copy()
    size = len(model.robot.parameters)
    p[:size] *= factor
    p[size:] = 0.2
    return p


def logged(robot: Robot, seed: int, factor: float = 1.15, noise: float = 1e-3, terms: tuple[str, ...] = TERMS) -> Log:
    model = DynamicModel(robot, terms)
    rng = np.random.default_rng(seed)
    q, v, a = sums_of_sines(robot, rng, T)
    tau = model.inverse_dynamics(q, v, a, true_parameters(model, factor))
    tau += noise * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)
    return Log(time=T, position=q, torque=tau, name=f"log {seed}")


@cache
def result() -> Result:
    robot = load_robot("builtin:spatial_3r")
    return dynid.identify(robot, [logged(robot, 1)], TERMS)


def other() -> Log:
    return logged(result().robot, 2)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_identified_model_tracks_best_and_feedback_alone_worst_where_the_file_is_off(seed: int) -> None:
    robot = random_arm(seed, 3, sliding=0.4)
    found = dynid.identify(robot, [logged(robot, seed)], TERMS)
    for logs in ([logged(robot, seed + 10)], []):
        tracking = found.track(*logs)
        identified, file, feedback = (tracking[name].rms for name in ("identified", "robot_file", "feedback"))
        assert (3.0 * identified < file).all()
        assert np.sqrt(np.mean(file**2)) < np.sqrt(np.mean(feedback**2))
        assert ratio(tracking) > 3.0


def test_without_errors_the_prediction_is_the_truth() -> None:
    robot = load_robot("builtin:spatial_3r")
    found = dynid.identify(robot, [logged(robot, 1, noise=0.0)], TERMS)
    log, truth = logged(robot, 2, noise=0.0), true_parameters(found.model, 1.15)
    predicted, true = found.track(log), dynid.track(found, log, truth=truth)
    assert true.plant == "truth"
    for name in ("robot_file", "feedback"):
        assert np.allclose(predicted[name].rms, true[name].rms, rtol=0.02)
    assert (true["identified"].rms < 1e-3 * true["feedback"].rms.max()).all()


def motion_of(*logs: Log) -> TrackedMotion:
    p = result().standard_parameters(physical=True)
    return motion_of_logs(result(), logs, p, 20.0, physical=True)


def test_the_simulated_robot_needs_the_torques_that_were_measured() -> None:
    log, p = logged(result().robot, 2, noise=0.0), result().standard_parameters(physical=True)
    motion = motion_of(log)
    torques = result().model.inverse_dynamics(*motion.trajectory.states(motion.time), p) - motion.disturbance(
        motion.time
    )
    measured = np.stack([np.interp(motion.start + motion.time, T, column) for column in log.torque.T], axis=1)
    moving = np.abs(motion.trajectory.states(motion.time)[1]) > 0.1
    assert np.abs(torques - measured)[moving].max() < 0.02 * np.abs(measured).max()


def test_a_disturbance_fades_in_before_the_motion() -> None:
    motion = motion_of(other())
    before = motion.disturbance(np.array([-2.0, -1.0, 0.0]))
    assert np.array_equal(before[:2], np.zeros((2, 3)))
    assert np.allclose(before[2], -motion.residual[0])


def test_own_stretches_are_held_out_and_other_logs_are_unused() -> None:
    assert motion_of().held_out == "stretches"
    assert motion_of(other()).held_out == "log"
    with pytest.raises(InvalidRequestError, match="was identified from 'log 1'"):
        result().track(logged(result().robot, 1))


def test_results_whose_logs_are_gone_ask_for_another_one(tmp_path) -> None:
    result().save(tmp_path / "result")
    with pytest.raises(InvalidRequestError, match="no log of motion that can be read again"):
        dynid.track(tmp_path / "result")
    assert dynid.track(tmp_path / "result", other()).plant == "held-out log"


def test_tracking_is_plain_data_and_has_a_short_repr() -> None:
    tracking = result().track(other(), bandwidth=4.0)
    data = json.loads(json.dumps(tracking.to_dict(), allow_nan=False))
    assert data["gains"]["position"] == pytest.approx((2 * np.pi * 4.0) ** 2)
    assert data["gains"]["velocity"] == pytest.approx(4 * np.pi * 4.0)
    assert data["file_over_identified"] == pytest.approx(tracking.ratio("robot_file"))
    assert [joint["unit"] for joint in data["joints"]] == ["rad"] * 3
    assert set(data["joints"][0]) == {"name", "unit", "identified", "robot_file", "feedback"}
    assert data["plant"] == "held-out log"
    assert data["lost"] == {}
    assert len(repr(tracking)) < 200
    assert tracking.findings == ()


def test_stiffer_feedback_leaves_smaller_errors() -> None:
    soft, stiff = (result().track(other(), bandwidth=bandwidth) for bandwidth in (3.0, 6.0))
    assert soft["robot_file"].rms / stiff["robot_file"].rms == pytest.approx(4.0, rel=0.5)


def ratio(tracking: dynid.Tracking) -> float:
    found = tracking.ratio("robot_file")
    assert found is not None
    return found


def codes(tracking: dynid.Tracking) -> list[str]:
    return [finding.code for finding in tracking.findings]


def test_a_file_that_is_right_already_is_said_to_be() -> None:
    robot = load_robot("builtin:two_link")
    terms = stated_terms(robot)
    model = DynamicModel(robot, terms)
    truth = np.nan_to_num(model.reference)
    log = replace_torque(logged(robot, 1, noise=0.0, terms=terms), model, truth, 1)
    held_out = replace_torque(logged(robot, 2, noise=0.0, terms=terms), model, truth, 2)
    tracking = dynid.identify(robot, [log], terms).track(held_out)
    assert ratio(tracking) < 1.1
    assert codes(tracking) == ["controller-gains-nothing"]


def replace_torque(log: Log, model: DynamicModel, p: np.ndarray, seed: int) -> Log:
    rng = np.random.default_rng(seed)
    tau = model.inverse_dynamics(*sums_of_sines(model.robot, np.random.default_rng(seed), T), p)
    return replace(log, torque=tau + 0.02 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape))


def test_a_file_without_inertia_is_not_compared() -> None:
    robot = load_robot("builtin:lwr4")
    assert robot_of_file(robot) is None


def test_a_robot_file_states_its_own_friction() -> None:
    known = robot_of_file(load_robot("builtin:ur5"))
    assert known is not None
    assert [type(term).__name__ for term in known.model.terms] == ["Coulomb", "Armature"]


def test_limits_that_the_measured_torques_exceed_are_left_out() -> None:
    robot = random_arm(4, 2)
    joints = tuple(replace(joint, limits=replace(joint.limits, effort=0.01)) for joint in robot.description.joints)
    weak = assemble(replace(robot.description, joints=joints))
    tracking = dynid.identify(weak, [logged(weak, 1)], TERMS).track(logged(weak, 2))
    assert not tracking.controller.saturates
    assert "controller-without-limits" in codes(tracking)


def test_models_that_cannot_be_trusted_are_said_to_be() -> None:
    verdict = replace(result().verdict, answer=Answer.NO)
    doubted = replace(result(), record=result().record.model_copy(update={"verdict": verdict}))
    assert codes(doubted.track(other())) == ["controller-of-untrusted-model"]


def test_base_parameters_alone_do_where_their_mass_matrix_is_positive() -> None:
    found = dynid.identify(result().robot, [logged(result().robot, 1)], TERMS, physical={"fit": False})
    tracking = found.track(other())
    assert not tracking.links
    assert tracking.ratio("robot_file") == pytest.approx(result().track(other()).ratio("robot_file"), rel=0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"seconds": 0.0}, "longer than 0 s"), ({"bandwidth": -1.0}, "bandwidth"), ({"rate": 0.0}, "rate")],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DynidError, match=message):
        dynid.track(result(), other(), **changes)


def test_results_of_commands_and_of_currents_are_refused_by_name() -> None:
    with pytest.raises(InvalidRequestError, match="not identified from joint torques"):
        small_result().track()
    robot = load_robot("builtin:two_link")
    found = dynid.identify(robot, [logged(robot, 1)], TERMS, drive={"torque_constants": "unknown"})
    with pytest.raises(InvalidRequestError, match=r"state drive\.torque_constants"):
        found.track()


def test_logs_with_a_load_that_is_not_known_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="carries the load 'box', which is not known"):
        result().track(replace(other(), load="box"))


def test_a_load_that_is_known_is_taken_out() -> None:
    robot = result().robot
    load = Load(mass=1.0, center_of_mass=np.array([0.1, 0.0, 0.0]))
    model = DynamicModel(dynid.with_load(robot, load), TERMS)
    plain = DynamicModel(robot, TERMS)
    states = sums_of_sines(robot, np.random.default_rng(5), T)
    carried = model.inverse_dynamics(*states, np.nan_to_num(model.reference))
    carried -= plain.inverse_dynamics(*states, np.nan_to_num(plain.reference))
    empty = plain.inverse_dynamics(*states, true_parameters(plain, 1.15))
    log = Log(time=T, position=states[0], torque=empty + carried, load=load, name="loaded")
    assert ratio(result().track(log)) > 3.0
    found = dynid.identify(robot, [log], TERMS)
    assert ratio(found.track()) > 3.0


def test_logs_whose_stretches_cannot_be_held_out_ask_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TooShortError("decimation by 2", 21, 28)

    monkeypatch.setattr("dynid.identification.tracked_motion.held_out_stretches", fail)
    with pytest.raises(InvalidRequestError, match="cannot be held out from its fit in parts"):
        result().track()
