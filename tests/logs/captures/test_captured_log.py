"""Captures to logs: motion and wrenches are the true ones, and samples with an unmeasured foot do not count."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dynid
from dynid import Log
from dynid.errors import InvalidRequestError
from dynid.logs.captures.inverse_kinematics import MarkerMotion
from dynid.logs.floating_body import contact_torques
from tests.captured_bodies import angle_between, captured

HALF = slice(None, None, 2)
"""Every other sample: 50 Hz are enough here."""


@cache
def log() -> Log:
    return dynid.log_of_capture(captured().robot, captured().noisy().at(HALF))


def motion() -> MarkerMotion:
    """The true motion."""
    q, names = captured().q, tuple(captured().capture.names)
    nothing = np.zeros((len(q), len(names)))
    return MarkerMotion(
        captured().capture.time, q[:, 7:], q[:, :7], np.zeros_like(q[:, 7:]), names, nothing, nothing > 1.0, ()
    )


def test_motion_and_wrenches_are_the_true_ones() -> None:
    found, q = log(), captured().q[HALF]
    assert len(found) == len(q)
    assert not found.has_torques
    assert np.sqrt(np.mean((found.position - q[:, 7:]) ** 2)) < 0.02
    assert found.base_pose is not None
    assert np.sqrt(np.mean((found.base_pose[:, :3] - q[:, :3]) ** 2)) < 0.001
    assert angle_between(found.base_pose[:, 3:], q[:, 3:7]) < 0.03
    assert found.contacts is not None
    measured = sum(contact_torques(captured().robot, one, q)[:, :3] for one in found.contacts)
    weight = 62.0 * 9.81
    assert np.mean(np.linalg.norm(np.asarray(measured), axis=1)) == pytest.approx(weight, rel=0.01)


def test_a_foot_beside_the_plates_does_not_count() -> None:
    capture = captured().noisy()
    first, second = capture.plates
    lost = (second.time > 15.0) & (second.time < 19.0)
    without = replace(second, wrench=np.where(lost[:, None], 0.0, second.wrench))
    found = dynid.log_of_capture(captured().robot, replace(capture, plates=(first, without)), motion())
    (finding,) = [one for one in found.findings if one.code == "foot-beside-plates"]
    assert finding.values["at"] == pytest.approx(15.2, abs=0.8)
    carried = np.interp(capture.time, second.time, -second.wrench[:, 2])
    wrong = (capture.time > 15.0) & (capture.time < 19.0) & (carried > 0.45 * 62.0 * 9.81)
    assert not np.isin(np.round(found.time, 6), np.round(capture.time[wrong], 6)).any()
    assert len(found) > 2400
    good = dynid.log_of_capture(captured().robot, capture, motion())
    assert not [one for one in good.findings if one.code in ("foot-beside-plates", "capture-samples-unseen")]


def test_samples_that_markers_do_not_show_do_not_count() -> None:
    capture = captured().noisy()
    markers = capture.markers.copy()
    hand = [capture.names.index(name) for name in ("LFIN", "LWRA", "LWRB", "LFRM", "LELB")]
    markers[1000:1200, hand] = np.nan
    found = dynid.log_of_capture(captured().robot, replace(capture, markers=markers).at(slice(800, 1400, 2)))
    assert "capture-samples-unseen" in [one.code for one in found.findings]
    assert not ((found.time > 10.05) & (found.time < 11.95)).any()


def test_what_cannot_be_a_log_is_refused() -> None:
    fixed = dynid.load_robot("builtin:two_link")
    with pytest.raises(InvalidRequestError, match="floating_base"):
        dynid.log_of_capture(fixed, captured().capture)
    with pytest.raises(InvalidRequestError, match="no force plates"):
        dynid.log_of_capture(captured().robot, replace(captured().capture, plates=()), motion())


def test_a_person_is_identified_from_a_capture() -> None:
    result = dynid.identify(captured().robot, log(), physical={"fit": False})
    assert result.record.relative_error < 0.005
    mass = result.parameters.values[0]
    assert mass == pytest.approx(62.0, rel=0.005)
