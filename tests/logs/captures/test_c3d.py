"""C3D files: what is read is what was written, plates agree with ezc3d's own, and what is wrong is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
import pytest

import dynid
from dynid import Capture, DynidError
from dynid.findings import Severity
from dynid.logs.captures.c3d_file import written_c3d
from dynid.logs.captures.plate_mending import pressure
from dynid.logs.readers.source import RecordingError
from tests.c3d_files import write_c3d
from tests.captured_bodies import captured

SHORT = slice(700, 1100)
"""Samples in which the right foot leaves its plate."""


def short(seed: int | None = 0) -> Capture:
    """Four seconds of a capture, with noise, that begin at zero."""
    whole = captured().capture if seed is None else captured().noisy(seed)
    cut, begin = whole.at(SHORT), whole.time[SHORT][0]
    plates = []
    for plate in whole.plates:
        rows = (plate.time >= begin - 1e-9) & (plate.time < begin + 4.0 - 1e-9)
        parts = {"time": plate.time[rows] - plate.time[rows][0], "wrench": plate.wrench[rows]}
        plates.append(dynid.ForcePlate(plate.name, pose=plate.pose, corners=plate.corners, **parts))
    return Capture(cut.time - begin, cut.markers, cut.names, tuple(plates))


def codes(capture: Capture) -> list[str]:
    return [finding.code for finding in capture.findings]


def in_world(plate: dynid.ForcePlate) -> np.ndarray:
    """Force and moment about the middle of a plate, along the axes of the world."""
    return np.hstack([part @ plate.pose[:3, :3].T for part in np.split(plate.wrench, 2, axis=1)])


@pytest.mark.parametrize("unit", ["m", "mm"])
@pytest.mark.parametrize("kind", [2, 4])
def test_what_is_read_is_what_was_written(tmp_path: Path, kind: int, unit: str) -> None:
    truth = short()
    found = dynid.read_capture(write_c3d(tmp_path / "w.c3d", truth, kind=kind, unit=unit), mend=False)
    assert found.names == truth.names
    assert np.allclose(found.time, truth.time, atol=1e-6)
    assert np.allclose(found.markers, truth.markers, atol=1e-6)  # single precision
    for plate, true in zip(found.plates, truth.plates, strict=True):
        assert np.allclose(plate.pose, true.pose, atol=1e-6)
        assert np.allclose(plate.wrench, true.wrench, atol=2e-3)
        assert np.allclose(plate.time, true.time, atol=1e-6)
    assert codes(found) == []


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_plates_agree_with_the_platform_filter_of_ezc3d(tmp_path: Path, kind: int) -> None:
    none = {"FORCE_PLATFORM:CAL_MATRIX": np.zeros((6, 6, 2))} if kind in (1, 3) else {}
    path = write_c3d(tmp_path / "w.c3d", short(), kind=kind, extra=none)
    found = dynid.read_capture(path, mend=False)
    theirs: Any = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"]
    for plate, other in zip(found.plates, theirs, strict=True):
        ours = in_world(plate)
        loaded = np.abs(ours[:, 2]) > 20.0
        assert np.allclose(ours[:, :3], other["force"].T, atol=1e-6)
        # Of type 1, ezc3d gives the moment of the opposite force; its own centre of pressure says so, below.
        sign = -1.0 if kind == 1 else 1.0
        assert np.allclose(ours[loaded, 3:], sign * other["moment"].T[loaded] / 1000.0, atol=1e-5)
        at = np.column_stack([pressure(plate, loaded), np.zeros(loaded.sum())]) @ plate.pose[:3, :3].T
        assert np.allclose(at + plate.pose[:3, 3], other["center_of_pressure"].T[loaded] / 1000.0, atol=1e-6)
        assert plate.corners is not None
        assert np.allclose(plate.corners.T, other["corners"] / 1000.0, atol=1e-6)


def test_a_laboratory_whose_y_axis_points_upward_is_turned(tmp_path: Path) -> None:
    truth = short()
    stated = dynid.read_capture(write_c3d(tmp_path / "a.c3d", truth, up="y"))
    for extra in ({"POINT:Y_SCREEN": None}, {"POINT:Y_SCREEN": ["+Z"]}):  # not stated, and stated wrongly
        path = write_c3d(tmp_path / "b.c3d", truth, up="y", extra=extra)
        found = dynid.read_capture(path)
        assert np.allclose(found.markers, truth.markers, atol=1e-6)
        assert np.allclose([plate.pose for plate in found.plates], [plate.pose for plate in truth.plates], atol=1e-6)
        named = "capture-axes-disagree" if extra["POINT:Y_SCREEN"] else "capture-up-guessed"
        assert codes(found)[:2] == [named, "capture-turned"]
        assert dynid.read_capture(path, up="y", mend=False).findings[0].code == "capture-turned"
    assert codes(stated)[0] == "capture-turned"
    assert np.allclose(stated.markers, truth.markers, atol=1e-6)


def test_a_unit_that_is_stated_wrongly_is_named_and_put_right(tmp_path: Path) -> None:
    truth = short()
    for unit, written in (("mm", "m"), ("m", "mm")):
        found = dynid.read_capture(write_c3d(tmp_path / "w.c3d", truth, unit=unit, written_unit=written))
        assert np.allclose(found.markers, truth.markers, atol=1e-6)
        assert [f.severity for f in found.findings if f.code == "capture-unit-wrong"] == [Severity.WARNING]
        ours, true = found.plates[0].corners, truth.plates[0].corners
        assert ours is not None
        assert true is not None
        assert np.allclose(ours, true, atol=1e-6)
        error = found.plates[0].wrench - truth.plates[0].wrench
        assert np.abs(error[:, 3:]).max() < 0.5  # moments were in the same unit
    found = dynid.read_capture(tmp_path / "w.c3d", unit="m")
    assert "capture-unit-wrong" not in codes(found)
    with pytest.raises(DynidError, match="choose from m, dm"):
        dynid.read_capture(tmp_path / "w.c3d", unit="furlong")


def test_what_the_body_exerts_is_turned_round(tmp_path: Path) -> None:
    truth = short()
    found = dynid.read_capture(write_c3d(tmp_path / "w.c3d", truth, reaction=False))
    assert "plate-wrench-turned-round" in codes(found)
    for plate, true in zip(found.plates, truth.plates, strict=True):
        assert np.abs(plate.wrench - true.wrench).mean() < 0.1


def test_an_origin_above_the_surface_is_turned_round(tmp_path: Path) -> None:
    truth = short()
    origin = 1000.0 * np.array([[-0.003, 0.002, 0.041]] * 2).T
    found = dynid.read_capture(
        write_c3d(tmp_path / "w.c3d", truth, extra={"FORCE_PLATFORM:ORIGIN": origin}), mend=False
    )
    assert codes(found) == ["plate-origin-turned-round"] * 2
    assert np.allclose(found.plates[0].wrench, truth.plates[0].wrench, atol=2e-3)


def test_subjects_and_points_that_are_no_markers(tmp_path: Path) -> None:
    truth = short()
    found = dynid.read_capture(write_c3d(tmp_path / "a.c3d", truth, prefix="Anna:"), mend=False)
    assert found.names == truth.names
    half = len(truth.names) // 2
    names = [*(f"Anna:{name}" for name in truth.names[:half]), *(f"Ben:{name}" for name in truth.names[:half])]
    names += ["*17", "LKneeAngles"]
    both = Capture(truth.time, truth.markers[:, [*range(half), *range(half), 0, 1]], tuple(names))
    path = write_c3d(tmp_path / "b.c3d", both, extra={"POINT:ANGLES": ["LKneeAngles"]})
    with pytest.raises(RecordingError, match="'Anna', 'Ben'"):
        dynid.read_capture(path)
    found = dynid.read_capture(path, subject="Ben")
    assert found.names == truth.names[:half]
    assert "markers-without-label" in codes(found)
    with pytest.raises(DynidError, match="did you mean 'Anna'"):
        dynid.read_capture(path, subject="Ana")


def test_plates_that_cannot_be_used_are_left_out_and_named(tmp_path: Path) -> None:
    wrong = [
        {"FORCE_PLATFORM:TYPE": [2, 12]},
        {"FORCE_PLATFORM:CHANNEL": np.array([[1.0, 2, 3, 4, 5, 6], [7.0, 8, 9, 10, 11, 99]]).T},
        {"FORCE_PLATFORM:CORNERS": np.concatenate([np.ones((3, 4, 1)), np.zeros((3, 4, 1))], axis=2)},
    ]
    for extra in wrong:
        found = dynid.read_capture(write_c3d(tmp_path / "w.c3d", short(), extra=extra))
        assert codes(found).count("plate-left-out") == 2 - len(found.plates)
        assert "plate-left-out" in codes(found)


def test_a_file_that_is_damaged_or_empty_is_refused_in_one_sentence(tmp_path: Path) -> None:
    whole = write_c3d(tmp_path / "w.c3d", short()).read_bytes()
    for k, content in enumerate((b"", b"abc" * 1000, whole[:600], whole[:5000])):
        (tmp_path / f"{k}.c3d").write_bytes(content)
        with pytest.raises(RecordingError, match=r"no C3D file|cut off|damaged so badly|is empty"):
            dynid.read_capture(tmp_path / f"{k}.c3d")
    with pytest.raises(RecordingError, match="no such file"):
        dynid.read_capture(tmp_path / "none.c3d")


def test_a_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ezc3d", None)
    with pytest.raises(RecordingError, match=r"pip install 'dynid\[mocap\]'"):
        written_c3d(tmp_path / "w.c3d", tmp_path)
