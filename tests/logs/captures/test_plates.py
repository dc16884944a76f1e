"""Force plates: offsets, drift, saturation, signs and units are found, and good plates are left as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import ForcePlate
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs.captures.plate_contacts import resampled
from dynid.logs.captures.plate_mending import mended_plates
from tests.c3d_files import write_c3d
from tests.captured_bodies import captured, world_wrench


def plates(change: Array | float = 0.0, scale: Array | float = 1.0) -> tuple[ForcePlate, ...]:
    """The noisy plates, with something added to the wrench of the first, and with it scaled."""
    first, second = captured().noisy().plates
    return replace(first, wrench=first.wrench * scale + change), second


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_good_plates_are_left_as_they_are() -> None:
    found, findings = mended_plates(plates())
    assert findings == []
    for plate, true in zip(found, captured().capture.plates, strict=True):
        assert np.abs((plate.wrench - true.wrench).mean(axis=0)).max() < 0.05


def test_offsets_are_estimated_while_nobody_stands_on_a_plate() -> None:
    offset = np.array([4.0, -7.0, 15.0, 2.0, -1.0, 0.5])
    found, findings = mended_plates(plates(offset))
    assert codes(findings) == ["plate-offset"]
    assert np.allclose([float(x) for x in findings[0].values["offset"]], offset, atol=0.15)
    error = found[0].wrench - captured().capture.plates[0].wrench
    assert np.abs(error.mean(axis=0)).max() < 0.1


def test_a_stretch_that_the_file_says_to_be_unloaded_is_not_believed_where_it_is_loaded() -> None:
    found, _ = mended_plates(plates(), zero=(0.0, 1.0))
    error = found[0].wrench - captured().capture.plates[0].wrench
    assert np.abs(error.mean(axis=0)).max() < 0.1


def test_a_plate_that_is_always_loaded_has_no_known_offset() -> None:
    standing = captured().noisy().plates[0]
    rows = standing.time < 16.0
    always = replace(standing, time=standing.time[rows], wrench=standing.wrench[rows])
    found, findings = mended_plates([always])
    assert codes(findings) == ["plate-never-unloaded"]
    assert np.array_equal(found[0].wrench, always.wrench)


def test_drift_is_named_and_followed() -> None:
    first, _ = captured().noisy().plates
    empty = np.concatenate([np.zeros((3000, 6)), first.wrench, np.zeros((3000, 6))])
    time = np.arange(len(empty)) / 1000.0
    empty[:3000] += np.random.default_rng(0).standard_normal((3000, 6))
    empty[-3000:] += np.random.default_rng(1).standard_normal((3000, 6))
    drift = np.outer(time / time[-1], [0.0, 0.0, -9.0, 0.5, 0.0, 0.0])
    found, findings = mended_plates([replace(first, time=time, wrench=empty + drift)])
    assert codes(findings) == ["plate-drifts"]
    assert findings[0].values["drift"] == pytest.approx(-9.0, abs=0.5)
    assert np.abs((found[0].wrench - empty)[:, 2]).max() < 0.6


def test_a_touch_of_an_unloaded_plate_is_neither_drift_nor_offset() -> None:
    first, _ = captured().noisy().plates
    empty = np.concatenate([np.random.default_rng(0).standard_normal((8000, 6)), first.wrench])
    empty[7400:7500, 2] += 30.0
    time = np.arange(len(empty)) / 1000.0
    found, findings = mended_plates([replace(first, time=time, wrench=empty)])
    assert findings == []
    assert np.abs((found[0].wrench - empty)[:, 2]).max() < 0.1


def test_a_single_plate_whose_sign_differs_is_turned_with_a_warning() -> None:
    found, findings = mended_plates(plates(scale=-1.0))
    assert [(one.code, one.severity.value) for one in findings] == [("plate-wrench-turned-round", "warning")]
    truth = world_wrench(captured().capture.plates)
    assert np.abs((world_wrench(found) - truth).mean(axis=0)).max() < 0.1


def test_moments_in_another_unit_are_found_by_the_centre_of_pressure() -> None:
    for factor in (1e3, 1e-3):
        found, findings = mended_plates(plates(scale=np.array([1.0, 1.0, 1.0, factor, factor, factor])))
        assert codes(findings) == ["plate-moment-unit"]
        assert findings[0].values["factor"] == pytest.approx(1.0 / factor)
        assert np.abs((found[0].wrench - captured().capture.plates[0].wrench)[:, 3:]).mean() < 0.5


def test_pressure_beside_a_plate_is_named() -> None:
    first, _ = captured().noisy().plates
    assert first.corners is not None
    far = first.corners.mean(axis=0) + 0.2 * (first.corners - first.corners.mean(axis=0))
    _, findings = mended_plates([replace(first, corners=far)])
    assert codes(findings) == ["plate-pressure-beside"]


def test_a_plate_on_which_nobody_stands_is_said_so_and_makes_no_contact() -> None:
    first, second = captured().noisy().plates
    nobody = replace(second, name="plate 3", wrench=np.random.default_rng(0).standard_normal(second.wrench.shape))
    found, findings = mended_plates([first, second, nobody])
    assert codes(findings) == ["plate-not-used"]
    capture = replace(captured().noisy(), plates=found)
    contacts, notes = dynid.contacts_of_plates(captured().robot, captured().q, capture)
    assert [one.body for one in contacts] == ["foot_left", "foot_right"]
    assert codes(list(notes)) == ["plate-carries", "plate-carries"]
    with pytest.raises(InvalidRequestError, match="nobody stands"):
        dynid.contacts_of_plates(captured().robot, captured().q, replace(capture, plates=found[2:]))
    with pytest.raises(InvalidRequestError, match="no force plates"):
        dynid.contacts_of_plates(captured().robot, captured().q, replace(capture, plates=()))


def test_saturated_channels_are_named(tmp_path: Path) -> None:
    capture = captured().capture
    first, second = capture.plates
    limited = np.maximum(first.wrench, [-np.inf, -np.inf, -450.0, -np.inf, -np.inf, -np.inf])
    path = write_c3d(tmp_path / "w.c3d", replace(capture, plates=(replace(first, wrench=limited), second)))
    found = dynid.read_capture(path)
    (finding,) = [one for one in found.findings if one.code == "plate-saturated"]
    assert (finding.subject, finding.values["channel"]) == ("plate 1", "Fz1")
    assert finding.values["samples"] == pytest.approx(np.sum(limited[:, 2] == -450.0), rel=0.02)


def test_signals_above_half_the_rate_of_markers_are_not_folded_down() -> None:
    capture = captured().capture
    plate = capture.plates[0]
    hum = 50.0 * np.sin(2.0 * np.pi * 110.0 * plate.time)  # would be 10 Hz at 100 Hz
    noisy = replace(plate, wrench=plate.wrench + hum[:, None])
    inside = slice(100, -100)
    apart = resampled(noisy, capture.time)[inside] - resampled(plate, capture.time)[inside]
    assert np.abs(apart).max() < 0.05
    slow = np.column_stack([np.interp(capture.time, plate.time, column) for column in plate.wrench.T])[inside]
    assert np.abs(resampled(plate, capture.time)[inside] - slow)[:, :3].mean() < 0.5
    late = capture.time + plate.time[-1]
    assert np.isnan(resampled(plate, late)[10:]).all()


def test_several_feet_on_one_plate_need_only_their_sum() -> None:
    first, second = captured().capture.plates
    total = world_wrench((first, second))
    square = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    one = ForcePlate("plate", first.time, total, np.eye(4), square)
    robot, q = captured().robot, captured().q
    whole, notes = dynid.contacts_of_plates(robot, q, replace(captured().capture, plates=(one,)))
    apart, _ = dynid.contacts_of_plates(robot, q, captured().capture)
    assert len(notes[0].values["bodies"]) == 2
    from dynid.logs.floating_body import contact_torques

    rows = [sum(contact_torques(robot, each, q)[:, :6] for each in contacts) for contacts in (whole, apart)]
    assert np.allclose(rows[0], rows[1], atol=1e-6)
