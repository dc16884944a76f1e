"""Tables of captures: markers and plates are those that were written, whatever program exported them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import Capture
from dynid.errors import DynidError
from dynid.logs import RecordingError
from dynid.logs.captures import is_capture
from dynid.logs.captures.capture_columns import capture_columns
from tests.capture_tables import MARKERS, csv, mot, plate_columns, trc
from tests.captured_bodies import captured, world_wrench


@cache
def short() -> Capture:
    """Two seconds of a person on two plates, without noise."""
    return captured().capture.at(slice(300, 500))


def codes(capture: Capture) -> set[str]:
    return {finding.code for finding in capture.findings}


@pytest.mark.parametrize(("name", "write"), MARKERS)
def test_markers_are_those_that_were_written(name: str, write: Callable[[Path, Capture], Path], tmp_path: Path) -> None:
    whole = captured().capture
    gone = whole.markers.copy()
    gone[350:355, 3] = np.nan
    capture = Capture(whole.time, gone, whole.names).at(slice(300, 500))
    path = write(tmp_path / name, capture)
    assert is_capture(path)
    found = dynid.read_capture(path, mend=False)
    assert found.names == capture.names
    np.testing.assert_allclose(np.diff(found.time), 0.01, rtol=1e-6)
    np.testing.assert_array_equal(found.is_seen, capture.is_seen)
    if name.endswith("trc"):  # y is upward there: about x
        assert codes(found) == {"capture-up-guessed", "capture-turned"}
    np.testing.assert_allclose(found.markers, capture.markers, atol=1e-8)


def test_wrenches_in_the_table_of_the_markers(tmp_path: Path) -> None:
    found = dynid.read_capture(csv(tmp_path / "walk.csv", short()), mend=False)
    assert [plate.name for plate in found.plates] == ["plate1", "plate2"]
    for plate, (force, at, free) in zip(found.plates, plate_columns(short(), short().time), strict=True):
        np.testing.assert_allclose(plate.wrench, np.hstack([force, free + np.cross(at, force)]), atol=1e-5)


def test_forces_in_a_file_of_their_own_with_another_axis_upward(tmp_path: Path) -> None:
    path, forces = trc(tmp_path / "walk.trc", short()), mot(tmp_path / "forces.mot", captured().capture)
    assert is_capture(path)
    assert not is_capture(forces)
    found = dynid.read_capture(path, plates=forces, mend=False)
    assert [plate.name for plate in found.plates] == ["1", "2"]
    wanted = world_wrench(captured().capture.plates)
    np.testing.assert_allclose(world_wrench(found.plates), wanted, atol=2e-2)
    logs = [dynid.log_of_capture(captured().robot, one) for one in (found, short())]
    bodies = [{contact.body for contact in log.contacts or ()} for log in logs]
    assert bodies[0] == bodies[1] == {"foot_left", "foot_right"}


def test_a_table_of_joints_is_no_capture(tmp_path: Path) -> None:
    names = ["t", *(f"q{k}" for k in range(6)), *(f"tau{k}" for k in range(6)), "acc_x", "acc_y", "acc_z"]
    rows = "\n".join(",".join(["0.5"] * len(names)) for _ in range(3))
    path = tmp_path / "run.csv"
    path.write_text(f"{','.join(names)}\n{rows}\n")
    assert not is_capture(path)
    assert not is_capture(tmp_path / "nowhere.csv")


def test_units_are_those_of_the_names_or_of_what_is_stated_or_guessed_by_size(tmp_path: Path) -> None:
    stated = dynid.read_capture(csv(tmp_path / "a.csv", short(), "mm"), mend=False)
    guessed = dynid.read_capture(csv(tmp_path / "b.csv", short(), "mm", ""), mend=False)
    told = dynid.read_capture(tmp_path / "b.csv", unit="mm", mend=False)
    assert (codes(stated), codes(told)) == (set(), set())
    assert codes(guessed) == {"capture-unit-guessed"}
    for found in (stated, guessed, told):
        np.testing.assert_allclose(found.markers, short().markers, atol=1e-8)
    wrong = dynid.read_capture(csv(tmp_path / "c.csv", short(), "mm", " [m]"), mend=False)
    assert codes(wrong) == {"capture-unit-wrong"}
    for mark in ";\t":
        other = dynid.read_capture(csv(tmp_path / "d.csv", short(), mark=mark), mend=False)
        np.testing.assert_allclose(other.markers, short().markers, atol=1e-8)


def test_names_of_columns() -> None:
    names = ["Time", "Anna:LKNE X", "Anna:LKNE Y", "Anna:LKNE Z", "F.x", "F.y", "F.z", "T.x", "T.y", "T.z", "V_x"]
    names += ["COPx (mm)", "COPy (mm)", "M_x", "FP1.Fx", "FP1.Fy", "FP1.Fz", "FP1.Mx"]
    found = capture_columns(names)
    assert found.markers == {"Anna:LKNE": (1, 2, 3)}
    assert [(plate.name, plate.is_whole) for plate in found.plates] == [("", True), ("FP1", False)]
    assert found.units == {11: "mm", 12: "mm"}
    axes = capture_columns([f"{name}{axis}" for name in ("LASI", "f", "m_") for axis in "xyz"])
    assert (list(axes.markers), [plate.name for plate in axes.plates]) == (["LASI"], [""])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("time,LASI_x,LASI_y,LASI_z\n", "no lines of numbers"),
        ("t,q1,q2,q3\n0,1,2,3\n0.1,1,2,3\n", "no columns of markers"),
        ("LASI_x,LASI_y,LASI_z,RASI_x,RASI_y,RASI_z\n1,2,3,4,5,6\n1,2,3,4,5,6\n", "neither a column of time"),
        ("time,A_x [lm],A_y [lm],A_z [lm]\n0,1,2,3\n0.1,1,2,3\n", "unit 'lm'"),
        ("time,A_x,A_y,A_z\n0,1,2,3\n0.1,one,2,3\n0.2,1,2,3\n", "holds 'one'"),
        ("time,A_x,A_y,A_z\n0,1,2,3\n0,1,2,3\n", "does not increase"),
    ],
)
def test_tables_that_are_no_captures_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text(text)
    with pytest.raises(DynidError, match=problem):
        dynid.read_capture(path)


def test_what_lacks_forces_is_refused_or_left_out(tmp_path: Path) -> None:
    path = csv(tmp_path / "walk.csv", short())
    text = path.read_text().replace("plate1_Mz", "other")
    path.write_text(text)
    found = dynid.read_capture(path, mend=False)
    assert ([plate.name for plate in found.plates], codes(found)) == (["plate2"], {"plate-left-out"})
    with pytest.raises(RecordingError, match="no columns of a force plate"):
        dynid.read_capture(path, plates=trc(tmp_path / "walk.trc", short()))
    with pytest.raises(RecordingError, match="no such file"):
        dynid.read_capture(tmp_path / "none.trc")
    with pytest.raises(RecordingError, match="ends in"):
        dynid.read_capture(tmp_path / "walk.npy" if (tmp_path / "walk.npy").touch() is None else "")
