"""Nonlinear friction in whole identifications: found from files and arrays, saved, used again, and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid import Log, identify, load_result, load_robot, validate
from dynid.errors import DynidError
from tests.datasets import example, needs_logs
from tests.friction_logs import VALUES, friction_log, identified, true_value


def experiment(folder: Path, terms: list[str], log: Log, name: str, temperature: bool) -> Path:
    """Write a log and its experiment."""
    columns = log.to_frame().rename({"temperature_1": "T"})
    columns.write_csv(folder / f"{name}.csv")
    path, file = folder / f"{name}.toml", f'file = "{name}.csv"'
    heat = f'temperature = {{ {file}, columns = "T" }}\n' if temperature else ""
    path.write_text(
        f'robot = "builtin:two_link"\nterms = {json.dumps(terms)}\n\n[[log]]\n'
        f'position = {{ {file}, columns = "q_*" }}\nvelocity = {{ {file}, columns = "v_*" }}\n'
        f'torque = {{ {file}, columns = "tau_*" }}\ntime = {{ {file}, columns = "t" }}\n{heat}'
        "[processing]\nautomatic = false\n[estimation]\nbootstrap = false\n[physical]\nfit = false\n"
    )
    return path


@pytest.mark.parametrize("kind", ["stribeck", "sigmoid", "viscous_temperature"])
def test_nonlinear_parameters_go_through_files_results_and_predictions(tmp_path: Path, kind: str) -> None:
    terms = {"stribeck": ["viscous", "stribeck"], "sigmoid": ["viscous", "sigmoid", "offset"]}.get(
        kind, [kind, "coulomb"]
    )
    heat = kind == "viscous_temperature"
    first, other = (
        experiment(tmp_path, terms, friction_log(terms, seed=k), name, heat) for k, name in enumerate(("log", "other"))
    )
    found = identify(first)
    assert found.nonlinear
    for row in found.nonlinear:
        assert row.source == "data"
        assert row.value == pytest.approx(true_value(row.name), rel=0.03)
        assert row.lower is not None
        assert row.upper is not None
        assert row.lower < row.used < row.upper
    found.save(tmp_path / "result")
    result = load_result(tmp_path / "result")
    assert {s.name: s.value for s in result.model.nonlinear} == {row.name: row.used for row in found.nonlinear}
    assert all(joint.rmse < 0.012 for joint in validate(result, other).joints)
    added = identify(other, add_to=result)
    assert [(row.name, row.used, row.source) for row in added.nonlinear] == [
        (row.name, row.used, "known") for row in found.nonlinear
    ]


def test_known_nonlinear_parameters_are_held_and_robust_estimates_carry_the_others() -> None:
    terms = ["viscous", "stribeck"]
    log = friction_log(terms)
    torque = log.torque.copy()
    torque[::37] += 30.0
    first, second = identified(
        replace(log, torque=torque), terms, known={"vs1": 0.1}, estimation={"robust": "bisquare"}
    ).nonlinear
    assert (first.source, first.value, first.std) == ("known", 0.1, None)
    assert second.value == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize("form", ["power", "energy", "momentum"])
def test_rows_of_power_energy_and_momentum_carry_nonlinear_parameters(form: str) -> None:
    terms = ["viscous", "sigmoid"]
    found = identified(friction_log(terms), terms, estimation={"estimator": form})
    assert found.nonlinear
    for row in found.nonlinear:
        assert row.std is not None
        assert row.relative_std_percent is not None
        assert row.value == pytest.approx(true_value(row.name), abs=5 * row.std)
        assert row.relative_std_percent < 10.0
    assert found.relative_error < 0.01
    assert found.rows[0].form == form


@pytest.mark.parametrize("form", ["torque", "momentum"])
def test_a_stribeck_velocity_is_not_looked_for_below_the_slowest_row(form: str) -> None:
    # There its column is rounding, which any size of fst would suit: torques were off by thousands of times.
    found = identified(
        friction_log(["viscous", "coulomb"]),
        ["viscous", "stribeck"],
        processing={"velocity_threshold": 0.2},
        estimation={"estimator": form},
    )
    assert len(found.nonlinear) == 2
    assert all(row.source == "undetermined" and row.used >= 0.2 for row in found.nonlinear)
    assert found.relative_error < 0.01
    assert all(abs(row.value) < 0.2 for row in found.parameters if row.name.startswith("fst"))


@needs_logs
def test_sigmoids_predict_the_rest_of_the_panda_log_better_than_coulomb_friction(tmp_path: Path) -> None:
    text = example("panda").read_text()
    text = text.replace("[processing]", "[estimation]\nbootstrap = false\n[physical]\nfit = false\n[processing]")
    errors = []
    for terms in ('["viscous", "coulomb", "offset"]', '["sigmoid", "offset"]'):
        of_terms = text.replace('["viscous", "coulomb", "offset"]', terms)
        for name, seconds in (("first", "[-1, 14]"), ("rest", "[14, 1e6]")):
            (tmp_path / f"{name}.toml").write_text(of_terms.replace("[[log]]\n", f"[[log]]\nseconds = {seconds}\n"))
        errors.append(identify(tmp_path / "first.toml").validate(tmp_path / "rest.toml"))
    coulomb, sigmoid = errors
    assert sigmoid.relative_error < 0.99 * coulomb.relative_error  # 1.76 % beside 1.80 %
    for k in (3, 5, 6):  # joints 4, 6 and 7, of which friction is a large part
        assert sigmoid.joints[k].rmse < 0.95 * coulomb.joints[k].rmse


GANTRY = """<robot name="gantry"><link name="base"/>
<link name="car"><inertial><origin xyz="0.02 0.01 0.05"/><mass value="4"/>
  <inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="left"><inertial><origin xyz="0.2 0.01 0.03"/><mass value="0.3"/>
  <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="right"><inertial><origin xyz="0.2 -0.01 0.03"/><mass value="0.3"/>
  <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="car"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="1000" velocity="5"/></joint>
<joint name="finger" type="revolute"><parent link="car"/><child link="left"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="1000" velocity="5"/></joint>
<joint name="mirror" type="revolute"><parent link="car"/><child link="right"/><axis xyz="0 -1 0"/>
  <limit lower="-6" upper="6" effort="1000" velocity="9"/><mimic joint="finger" multiplier="1.5"/></joint></robot>"""


@pytest.mark.parametrize("form", ["torque", "momentum"])
def test_nonlinear_parameters_of_a_prismatic_joint_and_beside_a_mimic_joint_are_found(
    tmp_path: Path, form: str
) -> None:
    (tmp_path / "gantry.urdf").write_text(GANTRY)
    robot, terms = load_robot(tmp_path / "gantry.urdf"), ["viscous", "stribeck"]
    found = identified(friction_log(terms, robot=robot), terms, robot=robot, estimation={"estimator": form})
    lift, finger = found.nonlinear
    assert (lift.name, lift.unit, finger.name, finger.unit) == ("vs1", "m/s", "vs2", "rad/s")
    for row in (lift, finger):
        assert row.source == "data"
        assert row.value == pytest.approx(VALUES["vs"], rel=0.03)


def test_a_known_stribeck_velocity_must_be_positive() -> None:
    terms = ["viscous", "stribeck"]
    with pytest.raises(DynidError, match=r"vs1 \[rad/s\] must be positive"):
        identified(friction_log(terms), terms, known={"vs1": 0.0})


def test_rows_of_momentum_refuse_terms_that_depend_on_loads() -> None:
    with pytest.raises(DynidError, match="load"):
        identified(
            friction_log(["viscous", "coulomb"]), ["viscous", "load_coulomb"], estimation={"estimator": "momentum"}
        )


def test_temperatures_are_asked_for() -> None:
    terms = ["viscous_temperature", "coulomb"]
    with pytest.raises(DynidError, match="needs temperatures"):
        identified(replace(friction_log(terms), temperature=None), terms)


def test_signs_of_nonlinear_friction_are_not_recovered() -> None:
    terms = ["viscous", "stribeck"]
    log = friction_log(terms)
    with pytest.raises(DynidError, match="nonlinear friction is not identifiable from torques without signs"):
        identified(replace(log, torque=np.abs(log.torque)), terms, torque="magnitude")
