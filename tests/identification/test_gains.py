"""`dynid.identify_gains`: from logs in memory or an experiment file to gains with their intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import DynidError, Gains, Log
from dynid.findings import has
from tests.commands import run
from tests.datasets import example, needs_logs
from tests.gain_logs import LOAD, CurrentCase, current_case

TERMS = ["viscous", "coulomb", "offset"]
MASS = {"load": {"mass": LOAD.mass}}
STATED = f"mass = {LOAD.mass}\ncenter_of_mass = {LOAD.center_of_mass.tolist()}"


@pytest.fixture(scope="module")
def case() -> CurrentCase:
    return current_case("spatial_3r")


@pytest.fixture(scope="module")
def logs(case: CurrentCase) -> tuple[Log, Log]:
    return case.logs(0)


@pytest.fixture(scope="module")
def gains(case: CurrentCase, logs: tuple[Log, Log]) -> Gains:
    drive = {"torque_constants": [*(1.3 * case.gains[:1]), *case.gains[1:]]}
    return dynid.identify_gains(case.truth.robot, logs, TERMS, loads={"load": LOAD}, drive=drive)


def test_logs_in_memory_give_gains_beside_stated_constants(case: CurrentCase, gains: Gains) -> None:
    assert gains.values == pytest.approx(case.gains, rel=0.01)
    assert gains.determined.all()
    assert ((gains.lower < gains.values) & (gains.values < gains.upper)).all()
    assert gains.physical == pytest.approx(case.gains, rel=0.02)
    assert len(gains.pairs) == 1
    assert has(gains.findings, "gain-unlike-stated")
    assert has(gains.findings, "gain-friction-separate")


def test_gains_are_plain_data(gains: Gains) -> None:
    data = json.loads(json.dumps(gains.to_dict(), allow_nan=False))
    assert [row["joint"] for row in data["gains"]] == list(gains.joints)
    assert data["torque_constants"] == pytest.approx(gains.values.tolist(), rel=1e-4)
    assert gains.to_frame().height == 3
    assert repr(gains).startswith("Gains(")


def test_negative_gains_say_that_signs_of_currents_are_opposite(case: CurrentCase, logs: tuple[Log, Log]) -> None:
    flipped = [replace(log, torque=log.torque * np.array([1.0, -1.0, 1.0])) for log in logs]
    found = dynid.identify_gains(case.truth.robot, flipped, TERMS, loads={"load": LOAD}, physical={"fit": False})
    assert found.values == pytest.approx(case.gains * np.array([1.0, -1.0, 1.0]), rel=0.02)
    assert has(found.findings, "gain-negative")


def test_a_load_that_states_its_mass_alone_has_a_free_centre(case: CurrentCase, logs: tuple[Log, Log]) -> None:
    by_mass, by_load = (
        dynid.identify_gains(case.truth.robot, logs, TERMS, loads={"load": load}, physical={"fit": False})
        for load in (MASS["load"], dynid.Load(LOAD.mass))
    )
    np.testing.assert_array_equal(by_load.values, by_mass.values)
    assert "mx" in by_load.loads["load"]


def test_without_a_mass_or_a_load_the_error_says_what_to_state(case: CurrentCase, logs: tuple[Log, Log]) -> None:
    robot = case.truth.robot
    with pytest.raises(DynidError, match="load 'load'"):
        dynid.identify_gains(robot, logs, TERMS)
    with pytest.raises(DynidError, match="mass of load 'load' is not known"):
        dynid.identify_gains(robot, logs, TERMS, loads={"load": {}})
    with pytest.raises(DynidError, match="no log carries a load"):
        dynid.identify_gains(robot, logs[0], TERMS)
    with pytest.raises(DynidError, match="all logs carry"):
        dynid.identify_gains(robot, logs[1], TERMS, loads=MASS)
    with pytest.raises(DynidError, match="hold postures"):
        dynid.identify_gains(robot, [replace(logs[0], static=True), logs[1]], TERMS, loads=MASS)
    with pytest.raises(DynidError, match="method is one of"):
        dynid.identify_gains(robot, logs, TERMS, loads=MASS, method="best")  # type: ignore[arg-type]


def experiment(folder: Path, logs: tuple[Log, Log], load: str) -> Path:
    names = []
    for k, log in enumerate(logs):
        names.append(folder / f"log{k}.csv")
        np.savetxt(names[-1], np.column_stack([log.time, log.position, log.torque]), delimiter=",")
    tables = "".join(
        f'[[log]]\ntime = {{ file = "{name}", columns = 0 }}\nposition = {{ file = "{name}", columns = [1, 2, 3] }}\n'
        f'torque = {{ file = "{name}", columns = [4, 5, 6], unit = "A" }}\n' + ('load = "weight"\n' if k else "")
        for k, name in enumerate(names)
    )
    path = folder / "arm.toml"
    head = f'robot = "builtin:spatial_3r"\nterms = {json.dumps(TERMS)}\n[[load]]\nname = "weight"\n{load}\n'
    path.write_text(head + tables)
    return path


def test_the_command_prints_gains_and_the_line_for_the_experiment(
    tmp_path: Path, case: CurrentCase, logs: tuple[Log, Log]
) -> None:
    path = experiment(tmp_path, logs, STATED)
    status, shown, _ = run("gains", path)
    assert status == 0
    assert "torque_constants = [" in shown
    data = json.loads(run("gains", path, "--method", "total", "--json")[1])
    assert [row["value"] for row in data["gains"]] == pytest.approx(case.gains.tolist(), rel=0.02)
    path.write_text(path.read_text().replace('unit = "A"', 'unit = "N m"'))
    status, _, problem = run("gains", path)
    assert status == 2
    assert "columns of currents" in problem
    path = experiment(tmp_path, logs, "")
    status, _, problem = run("gains", path)
    assert status == 2
    assert "weigh the load" in problem


@needs_logs
def test_ur10e_as_its_authors_identify_it() -> None:
    """The authors' gains by ordinary least squares with the known mass on the right (about, README of the data set)."""
    found = dynid.identify_gains(example("ur10e_gains"), method="linear")
    assert found.determined.tolist() == [False] + [True] * 5
    assert found.values[1:] == pytest.approx([10.7, 8.5, 9.0, 9.5, 10.1], rel=0.12)
    assert has(found.findings, "gain-undetermined")
