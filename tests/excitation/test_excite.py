"""`excite` in Python: from a robot and terms to a trajectory to look at, to follow and to save."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dynid import DynidError, load_robot
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.recipe import excite
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectory_files import as_motion, read_table
from dynid.model.terms import Viscous

LIMITS = {"velocity": 2.0, "acceleration": 6.0, "position": (-2.0, 2.0), "effort": 500.0, "harmonics": 3, "period": 4.0}
LIMITS |= {"noise": 1.0, "collisions": False}


@pytest.fixture(scope="module")
def found() -> Excitation:
    return excite("builtin:two_link", ["viscous"], time_limit=60, starts=1, rate=50.0, **LIMITS)


def test_samples_are_those_of_the_trajectory(found: Excitation) -> None:
    assert found.t[-1] == pytest.approx(4.0)
    assert len(found.t) == len(found.q) == len(found.v) == len(found.a) == 201
    assert np.allclose(found.q, found.states(found.t)[0])
    assert found.condition_number < 50
    assert re.fullmatch(r"Excitation\(two_link: 4 s, condition number \S+, within all limits\)", repr(found))
    assert "<table>" in found._repr_html_()


def test_a_loaded_robot_terms_as_objects_and_settings_as_a_table_are_the_same(found: Excitation) -> None:
    robot = load_robot("builtin:two_link")
    same = excite(robot, [Viscous()], settings=LIMITS | {"rate": 50.0}, time_limit=60, starts=1)
    assert np.array_equal(same.q, found.q)
    assert same.to_dict() | {"seconds": 0} == found.to_dict() | {"seconds": 0}


def test_saved_samples_are_read_back(found: Excitation, tmp_path: Path) -> None:
    data = found.save(tmp_path / "motion", formats=("csv",))
    assert sorted(Path(name).name for name in data["files"]) == sorted(
        path.name for path in (tmp_path / "motion").iterdir()
    )
    table = read_table(data["trajectory"], found.robot)
    assert np.allclose(table.q, found.q, atol=1e-11)
    with pytest.raises(DynidError, match="--force"):
        found.save(tmp_path / "motion")
    found.save(tmp_path / "motion", overwrite=True)


def test_the_page_is_drawn_on_request(found: Excitation, tmp_path: Path) -> None:
    page = found.plot(tmp_path / "limits.html").read_text()
    assert page.count('class="plot"') == 9
    assert 'role="alert"' not in page


def test_wrong_settings_are_named() -> None:
    with pytest.raises(DynidError, match="no key 'harmonic'; did you mean 'harmonics'"):
        excite("builtin:two_link", harmonic=3)
    with pytest.raises(DynidError, match="'velocity"):
        excite("builtin:two_link", velocity=-1.0)
    with pytest.raises(DynidError, match="no term 'viscos'"):
        excite("builtin:two_link", ["viscos"], **LIMITS)


def test_several_trajectories_are_taken_one_by_one() -> None:
    several = excite("builtin:two_link", time_limit=60, starts=1, block_triangular=True, **LIMITS)
    assert len(several.designs) == 2
    with pytest.raises(DynidError, match="these are 2 trajectories"):
        _ = several.t
    assert "2 trajectories" in repr(several)


def test_motions_are_objects_files_or_arrays(found: Excitation, tmp_path: Path) -> None:
    robot = found.robot
    data = found.save(tmp_path / "motion")
    times = np.linspace(0.0, 4.0, 37)
    q = found.states(times)[0]
    for motion in (found, found.trajectory, data["trajectory"], tmp_path / "motion" / "trajectory.json"):
        assert np.allclose(as_motion(motion, robot).states(times)[0], q, atol=1e-6)
    assert np.allclose(as_motion((found.t, found.q), robot).states(times)[0], q, atol=1e-6)
    assert np.allclose(as_motion((found.t, found.q, found.v, found.a), robot).states(times)[0], q, atol=1e-8)
    with pytest.raises(DynidError, match="is no trajectory"):
        as_motion(3.0, robot)  # type: ignore[arg-type]


def test_a_warning_is_one_line_whatever_joints_are_called(found: Excitation) -> None:
    """Names come from untrusted robot files, and the warning stands in comments and programs."""
    from dataclasses import replace

    from dynid.excitation.limits.limit import Check
    from dynid.excitation.trajectory_formats import FORMATS, Written

    check = Check('velocity of a"\nmovej([0], a=9)\n#', (-1.0, 1.0), (-2.0, 2.0), "rad/s")
    bad = replace(found, designs=(replace(found.designs[0], checks=(check,)),))
    assert [finding.code for finding in bad.findings] == ["limits-violated"]
    assert bad.findings[0].values["limits"] == [check.name]
    assert "VIOLATES 1 LIMITS" in repr(bad)
    assert len(bad.warning.splitlines()) == 1
    joints = tuple("abcdef")
    assert isinstance(bad.trajectory, ParametricTrajectory)
    six = replace(bad.trajectory, coefficients=np.tile(bad.trajectory.coefficients, 3))
    for name, form in FORMATS.items():
        if form.text is None:
            continue
        text = form.text(Written(six, joints, 10.0, bad.warning))
        plain = form.text(Written(six, joints, 10.0))
        assert "VIOLATES LIMITS" in text, name
        assert not any(line.strip().startswith("movej([0]") for line in text.splitlines())
        assert all(line.count('"') == 4 for line in text.splitlines() if line.startswith("  popup("))
        assert len(text.splitlines()) <= len(plain.splitlines()) + 3


def test_values_are_not_taken_for_factors_of_logs() -> None:
    with pytest.raises(DynidError, match="as known_values="):
        excite("builtin:two_link", known={"fs*": 0.1}, **LIMITS)  # type: ignore[arg-type]
