"""Loads from logs, results and sensors: what they are, what is said of them, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import Load, Log, Payload, Result
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.payloads.load_body import NUMBERS
from tests.payload_study import (
    BIAS,
    PLAIN,
    TERMS,
    arm,
    log_of,
    motion,
    torques,
    wrench_log_of,
    wrenches,
)

ARM = arm("spatial_3r")
LOAD = Load.of_numbers(1.0, (0.05, -0.03, 0.1), (0.02, 0.001, 0.025, -0.002, 0.003, 0.015))
TRUTH = np.array([1.0, 0.05, -0.03, 0.1, 0.02, 0.001, 0.025, -0.002, 0.003, 0.015])
GIVEN: dict[str, Any] = {"terms": TERMS, "processing": PLAIN}


def _log(load: Load | None, seed: int = 0, *, move: int = 1, slow: float = 1.0, friction: float = 1.0) -> Log:
    states = motion(3, move, 8.0, slow=slow)
    exact = torques(ARM, states, load, friction)
    return log_of(states, exact, np.random.default_rng(seed), None if load is None else "tool")


def _codes(found: Payload) -> set[str]:
    return {finding.code for finding in found.findings}


@pytest.fixture(scope="module")
def result() -> Result:
    return dynid.identify(ARM, _log(None), TERMS, processing=PLAIN, estimation={"bootstrap": False})


def _holds(found: Payload) -> bool:
    sure = np.array([name not in found.undetermined for name in NUMBERS])
    return bool((np.abs(found.estimate.numbers - TRUTH) < 4.5 * found.estimate.stds)[sure].all())


def test_logs_with_and_without_the_load_give_it(result: Result) -> None:
    found = dynid.identify_payload(ARM, [_log(None), _log(LOAD, 1)], **GIVEN)
    assert _holds(found)
    assert abs(found.mass - 1.0) < 4.0 * found.mass_std < 0.01
    assert not _codes(found) & {"payload-other-motion", "payload-other-link", "payload-friction-differs"}
    assert found.inertia.shape == found.inertia_std.shape == (3, 3)
    np.testing.assert_allclose(found.load.parameters, found.parameters, atol=1e-12)
    assert len(repr(found)) < 200
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["mass"] == found.mass
    assert len(data["inertia_std"]) == 6
    beside = dynid.identify_payload(result, replace(_log(LOAD, 1), load=None))
    np.testing.assert_allclose(beside.estimate.numbers, found.estimate.numbers, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(beside.estimate.stds, found.estimate.stds, rtol=0.1)


def test_uncertainty_of_the_robot_counts() -> None:
    free, loaded = _log(None), _log(LOAD, 1)
    sure, unsure = (dynid.identify_payload(ARM, [each, loaded], **GIVEN) for each in (free, free[:150]))
    assert (unsure.estimate.stds > sure.estimate.stds).all()


def test_the_difference_must_be_the_known_load() -> None:
    logs = [_log(None), replace(_log(LOAD, 1), load=LOAD)]
    found = dynid.identify_payload(ARM, logs, **GIVEN)
    assert found.known is not None
    assert found.known.agrees
    assert "payload-as-stated" in _codes(found)
    assert np.abs(found.known.scores).max() < 4.0
    wrong = dynid.identify_payload(ARM, [logs[0], _log(LOAD, 1)], known=1.1, **GIVEN)
    assert wrong.known is not None
    assert not wrong.known.agrees
    assert wrong.known.mass_error == pytest.approx(-0.0909, abs=0.005)
    assert "payload-not-as-stated" in _codes(wrong)


def test_another_motion_is_said_and_works() -> None:
    found = dynid.identify_payload(ARM, [_log(None), _log(LOAD, 1, move=2)], **GIVEN)
    assert "payload-other-motion" in _codes(found)
    assert _holds(found)


def test_a_slow_motion_leaves_inertia_open() -> None:
    logs = [_log(None), _log(LOAD, 1, slow=40.0)]
    found = dynid.identify_payload(ARM, logs, **GIVEN)
    assert set(found.undetermined) >= {"Ixx", "Iyy", "Izz"}
    assert "mass" not in found.undetermined
    assert "payload-undetermined" in _codes(found)


def test_friction_that_differs_is_named_and_taken_out() -> None:
    found = dynid.identify_payload(ARM, [_log(None), _log(LOAD, 1, friction=1.2)], **GIVEN)
    assert "payload-friction-differs" in _codes(found)
    assert {name[:2] for name in found.changes} <= {"fv", "fs"}
    assert _holds(found)


def test_torque_constants_that_are_uncertain_widen_intervals() -> None:
    scale = np.array([1.03, 0.98, 1.02])
    logs = [replace(log, torque=log.torque * scale) for log in (_log(None), _log(LOAD, 1))]
    exact, wide = (dynid.identify_payload(ARM, logs, gain_std=gain, **GIVEN) for gain in (None, 0.03))
    assert not _holds(exact)
    assert _holds(wide)
    assert wide.mass_std > 5.0 * exact.mass_std
    each = dynid.identify_payload(ARM, logs, gain_std=[0.03] * 3, **GIVEN)
    assert each.mass_std == pytest.approx(wide.mass_std)
    with pytest.raises(InvalidRequestError, match="share"):
        dynid.identify_payload(ARM, logs, gain_std=3.0, **GIVEN)
    with pytest.raises(InvalidRequestError, match="3 in the order of the joints"):
        dynid.identify_payload(ARM, logs, gain_std=[0.03] * 2, **GIVEN)


def test_a_load_on_the_wrong_link_is_found() -> None:
    body = ARM.links[1].name
    found = dynid.identify_payload(ARM, [_log(None), _log(LOAD, 1)], body=body, **GIVEN)
    finding = next(each for each in found.findings if each.code == "payload-other-link")
    assert finding.values["other"] == ARM.links[2].name
    assert finding.values["mass"] == pytest.approx(1.0, abs=0.02)


def test_loads_that_are_not_there_and_too_heavy_are_named() -> None:
    mistaken = dynid.identify_payload(
        ARM, [replace(_log(LOAD, 1), load=None), replace(_log(None), load="tool")], **GIVEN
    )
    assert "payload-negative" in _codes(mistaken)
    nothing = dynid.identify_payload(ARM, [_log(None), replace(_log(None, 5), load="tool")], **GIVEN)
    assert _codes(nothing) & {"payload-not-seen", "payload-undetermined"}
    joints = tuple(replace(joint, limits=replace(joint.limits, effort=1.0)) for joint in ARM.joints)
    limited = replace(ARM, joints=joints)
    assert "payload-beyond-limits" in _codes(dynid.identify_payload(limited, [_log(None), _log(LOAD, 1)], **GIVEN))


def test_requests_that_do_not_fit_are_refused(result: Result) -> None:
    loaded = _log(LOAD, 1)
    with pytest.raises(InvalidRequestError, match="none is without it"):
        dynid.identify_payload(ARM, [loaded], **GIVEN)
    with pytest.raises(InvalidRequestError, match="no log carries a load"):
        dynid.identify_payload(ARM, [_log(None)], **GIVEN)
    with pytest.raises(InvalidRequestError, match="several loads"):
        dynid.identify_payload(ARM, [_log(None), loaded, replace(_log(LOAD, 2), load="other")], **GIVEN)
    with pytest.raises(UnknownNameError, match="tool"):
        dynid.identify_payload(ARM, [_log(None), loaded], load="gripper", **GIVEN)
    with pytest.raises(InvalidRequestError, match="with the load, too"):
        dynid.identify_payload(result)
    with pytest.raises(InvalidRequestError, match="torque_constants"):
        dynid.identify_payload(ARM, [_log(None), loaded], terms=TERMS, drive={"torque_constants": "unknown"})
    with pytest.raises(InvalidRequestError, match="beyond its sensor"):
        dynid.identify(ARM, Log(time=loaded.time, position=loaded.position, wrench=np.ones((len(loaded), 6))))


def test_a_sensor_gives_the_load_and_its_drift_is_named() -> None:
    robot, states = arm("ur5"), motion(6, 1, 8.0)
    exact = wrenches(robot, states, LOAD)
    steady, drifting = (
        dynid.identify_payload(robot, wrench_log_of(states, exact, np.random.default_rng(0), drift), processing=PLAIN)
        for drift in (None, 0.05 * BIAS)
    )
    assert _holds(steady)
    assert _holds(drifting)
    assert "payload-sensor-drift" not in _codes(steady)
    assert "payload-sensor-drift" in _codes(drifting)
    assert steady.bias is not None
    np.testing.assert_allclose(steady.bias["logs"][0]["value"], BIAS, atol=0.05)
    turned = wrench_log_of(states, exact, np.random.default_rng(0))
    assert turned.wrench is not None
    found = dynid.identify_payload(robot, replace(turned, wrench=-turned.wrench), processing=PLAIN)
    assert "payload-sensor-sign" in _codes(found)
    np.testing.assert_allclose(found.estimate.numbers, steady.estimate.numbers, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_known_load_of_a_sensor_s_other_log_is_taken_out(sign: int) -> None:
    robot, rng = arm("ur5"), np.random.default_rng(0)
    tool = Load.of_numbers(0.4, (0.0, 0.02, 0.05), (1e-3, 0.0, 1e-3, 0.0, 0.0, 1e-3))
    logs = []
    for load, seed in ((tool, 2), (LOAD, 1)):
        states = motion(6, seed, 8.0)
        log = wrench_log_of(states, wrenches(robot, states, load), rng)
        assert log.wrench is not None
        logs.append(replace(log, wrench=sign * log.wrench, load=tool if load is tool else "tool"))
    assert _holds(dynid.identify_payload(robot, logs, processing=PLAIN))


def test_static_logs_and_equal_loads_without_names() -> None:
    free, loaded = _log(None), _log(LOAD, 1)
    with pytest.raises(InvalidRequestError, match="hold postures"):
        dynid.identify_payload(ARM, [replace(free, static=True), loaded], **GIVEN)
    twice = [replace(_log(LOAD, seed), load=replace(LOAD)) for seed in (1, 2)]
    found = dynid.identify_payload(ARM, [free, *twice], **GIVEN)
    assert found.samples == 2 * dynid.identify_payload(ARM, [free, twice[0]], **GIVEN).samples
    assert found.known is not None
    assert found.known.agrees


def test_a_load_added_to_a_result_and_taken_off_again(result: Result, tmp_path: Path) -> None:
    states = motion(3, 3, 2.0)
    loaded = result.with_load(LOAD)
    more = torques(ARM, states, LOAD) - torques(ARM, states)
    for physical in (False, True):
        was, now = (each.predict(states.q, states.v, states.a, physical=physical) for each in (result, loaded))
        np.testing.assert_allclose(now - was, more, atol=1e-8)
    assert dynid.validate(loaded, replace(_log(LOAD, 7, move=2), load=None)).relative_error < 0.01
    back = loaded.with_load(LOAD, remove=True)
    np.testing.assert_allclose(back.parameters.values, result.parameters.values, atol=1e-12)
    assert [log.load for log in back.task.logs if isinstance(log, Log)] == [None]
    replay = next(iter(loaded.replays()))
    assert np.abs(replay.segments[0].measured - replay.segments[0].predicted).max() < 1.0
    change = dynid.change_load(result, LOAD, tmp_path / "loaded")
    assert change.after is not None
    assert change.before is not None
    assert change.after - change.before == pytest.approx(1.0)
    again = dynid.load_result(tmp_path / "loaded")
    np.testing.assert_allclose(again.parameters.values, loaded.parameters.values, atol=1e-15)
    with pytest.raises(InvalidRequestError, match="could not exist without"):
        result.with_load(Load(50.0), remove=True)
