"""Identification of objects in memory: every setting of an experiment file is reachable, and means the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import EstimationSettings, Result
from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.identification.task import Task
from dynid.model.terms import Coulomb, JointTerm, Viscous
from dynid.robot.formats.urdf_writer import urdf_text
from tests.practice_logs import EXPERIMENT, MODEL, PROCESSING, TRUTH, in_memory, log, magnitudes, motion

TERMS = ["viscous", "coulomb"]
ROBOT = dynid.load_robot("builtin:two_link")


def identified(columns: dict[str, np.ndarray] | None = None, **settings: object) -> Result:
    more: dict = {"terms": TERMS, "processing": PROCESSING} | settings
    return dynid.identify(ROBOT, in_memory(columns or log()), **more)


def errors(result: Result) -> Array:
    return np.array([result.values[name] - TRUTH[name] for name in TRUTH])


def test_a_log_in_memory_gives_what_its_file_gives(write) -> None:
    of_file, of_arrays = dynid.identify(write()), identified()
    assert of_arrays.parameters == of_file.parameters
    assert of_arrays.essential == of_file.essential
    assert of_arrays.record.physical is not None
    assert of_file.record.physical is not None
    assert of_arrays.record.physical.links == of_file.record.physical.links
    assert [one.code for one in of_arrays.findings] == [one.code for one in of_file.findings]


def test_the_robot_may_be_a_path_and_terms_names_or_objects() -> None:
    plain = identified()
    assert dynid.identify("builtin:two_link", [in_memory(log())], TERMS, processing=PROCESSING).values == plain.values
    assert identified(terms=[Viscous(), Coulomb()]).values == plain.values
    assert identified(terms=[Viscous(), "coulomb"]).values == plain.values


def test_settings_may_be_objects_or_mappings_and_are_checked() -> None:
    settings = {"method": "ols", "bootstrap": False}
    by_mapping, by_object = (identified(estimation=s) for s in (settings, EstimationSettings.model_validate(settings)))
    assert by_mapping.values == by_object.values
    with pytest.raises(DynidError, match="no key 'robost'"):
        identified(estimation={"robost": "huber"})
    with pytest.raises(InvalidRequestError, match=r"dynid\.Log"):
        dynid.identify(ROBOT, ["log.csv"], TERMS)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "settings",
    [
        {"torque": "magnitud"},
        {"discard_sign": True},
        {"torque": "magnitude", "estimation": {"estimator": "power"}},
        {"processing": {"unmeasured": ["joint_1"]}},
    ],
)
def test_settings_in_memory_are_refused_as_those_of_a_file(settings: dict) -> None:
    with pytest.raises(InvalidRequestError):
        identified(**settings)


def test_no_log_and_the_same_log_twice_are_refused() -> None:
    once = in_memory(log())
    for logs in ([], [once, once]):
        with pytest.raises(InvalidRequestError):
            dynid.identify(ROBOT, logs, TERMS)


def test_robust_losses_bear_outliers() -> None:
    columns = log()
    columns["tau_1"][::97] += 30.0
    plain = identified(columns, estimation={"bootstrap": False})
    for loss in ("huber", "bisquare"):
        robust = identified(columns, estimation={"bootstrap": False, "robust": loss})
        assert np.linalg.norm(errors(robust)) < 0.2 * np.linalg.norm(errors(plain))
        weighted = robust.record.weighted_relative_error
        assert weighted is not None
        assert weighted < 0.5 * robust.relative_error  # which is that of all rows alike
        assert robust.relative_error >= plain.relative_error
        (finding,) = [one for one in robust.findings if one.code == "rows-downweighted"]
        assert 0.005 < finding.values["joints"]["joint_1"] < 0.1


def test_the_bootstrap_can_be_left_out() -> None:
    with_blocks, without = identified(), identified(estimation={"bootstrap": False})
    assert with_blocks.record.bootstrap is not None
    assert all(row.bootstrap_std is not None for row in with_blocks.parameters)
    assert without.record.bootstrap is None
    assert all(row.bootstrap_std is None and row.honest_std == row.std for row in without.parameters)
    assert without.values == with_blocks.values


@pytest.mark.parametrize("estimator", ["power", "energy", "momentum"])
def test_rows_of_every_form_are_estimated_from(estimator: str) -> None:
    found = identified(estimation={"estimator": estimator, "bootstrap": False})
    assert found.record.estimator == estimator
    assert found.rows[0].form == estimator
    assert np.linalg.norm(errors(found)) < 0.05 * np.linalg.norm(list(TRUTH.values()))


def test_torques_without_signs_are_recovered() -> None:
    found = identified(magnitudes(log()), torque="magnitude")
    assert found.record.sign_recovery is not None
    assert found.record.sign_recovery.proven
    gap = np.abs(found.parameters.values - identified().parameters.values)
    assert (gap < 0.5 * found.parameters.stds).all()


def test_known_parameters_are_not_estimated() -> None:
    true = dict(zip(MODEL.names, np.nan_to_num(MODEL.reference).tolist(), strict=True))
    found = identified(known={"fv*": true["fv1"]})
    assert not {"fv1", "fv2"} & set(found.parameters.names)
    assert found.record.known == {"fv1": true["fv1"], "fv2": true["fv1"]}
    assert found.relative_error < 0.02


def test_a_prior_narrows_uncertainties() -> None:
    noisy = log(seconds=1.0, noise=1.0)
    free, held = (identified(noisy, estimation={"bootstrap": False, **more}) for more in ({}, {"prior": 0.05}))
    assert (held.parameters.stds < free.parameters.stds).all()


@pytest.mark.parametrize("drive", ["ratios", "matrix", "signs"])
def test_drives_turn_what_was_logged_into_joints(drive: str) -> None:
    N = {"ratios": np.diag([100.0, -50.0]), "matrix": np.array([[100.0, 0.0], [20.0, 50.0]])}.get(drive)
    columns, settings = log(), {"signs": "auto"}
    q, tau = (np.column_stack([columns[f"{of}_{k}"] for k in (1, 2)]) for of in ("q", "tau"))
    if N is None:
        q_motor, tau_motor = q, tau * [1.0, -1.0]
    else:
        q_motor, tau_motor = q @ N.T, np.linalg.solve(N.T, tau.T).T
        settings = {"positions": "motor", "torques": "motor"}
        settings |= {"ratios": np.diag(N).tolist()} if drive == "ratios" else {"matrix": N.tolist()}
    logged = dynid.Log(time=columns["t"], position=q_motor, torque=tau_motor)
    found = dynid.identify(ROBOT, logged, TERMS, drive=settings, processing=PROCESSING)
    assert np.allclose(found.parameters.values, identified().parameters.values, rtol=1e-9)
    assert found.record.drive_signs == ((1, -1) if drive == "signs" else None)


def test_a_physical_fit_can_be_left_out_or_constrained() -> None:
    assert identified(physical={"fit": False}).physical is None
    constrained = identified(physical={"total_mass": 2.0}).physical
    assert constrained is not None
    assert constrained.total_mass == pytest.approx(2.0, abs=1e-4)


def test_the_reference_of_the_physical_fit_is_that_of_an_experiment_file(write, tmp_path: Path) -> None:
    heavy = tmp_path / "heavy.urdf"
    heavy.write_text(urdf_text(ROBOT).replace('<mass value="', '<mass value="1'))
    noisy = log(seconds=2.0, noise=0.5)
    of_file = dynid.identify(write(noisy, EXPERIMENT + '[physical]\nreference = "heavy.urdf"\n')).physical_values
    of_arrays = identified(noisy, physical={"reference": str(heavy)}).physical_values
    assert of_arrays == of_file != identified(noisy).physical_values


class Ripple(JointTerm):
    """A torque that depends on position, as no built-in term has it."""

    symbols = ("ripple",)
    units = ("N m",)
    needs = frozenset("q")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return (np.sin(9.0 * q),)


def test_a_term_of_the_users_own_is_identified_and_predicted() -> None:
    columns = log()
    for k in (1, 2):
        columns[f"tau_{k}"] = columns[f"tau_{k}"] + 0.5 * k * np.sin(9.0 * columns[f"q_{k}"])
    found = identified(columns, terms=[*TERMS, Ripple()])
    assert found.values["ripple1"] == pytest.approx(0.5, rel=0.02)
    assert found.values["ripple2"] == pytest.approx(1.0, rel=0.02)
    assert found.relative_error < 0.1 * identified(columns).relative_error
    assert found.physical_values is not None
    assert found.physical_values["ripple1"] == pytest.approx(0.5, rel=0.02)
    _, q, v, a, torque = motion()
    expected = torque + [0.5, 1.0] * np.sin(9.0 * q)
    for physical in (False, True):
        assert np.abs(found.predict(q, v, a, physical=physical) - expected).max() < 0.02 * np.abs(expected).max()


def test_difference_names_the_first_respect_in_which_models_differ(tmp_path: Path) -> None:
    logs = in_memory(log())
    task = Task.of(ROBOT, logs, TERMS)
    longer = tmp_path / "longer.urdf"
    text = urdf_text(ROBOT)
    longer.write_text(text.replace('xyz="0.5 0 0.25"', 'xyz="0.7 0 0.25"'))
    assert longer.read_text() != text
    others = {
        "": Task.of(dynid.load_robot("builtin:two_link"), in_memory(log(seed=1)), [Viscous(), Coulomb()]),
        "robot": Task.of("builtin:ur5", logs, TERMS),
        "gravity": Task.of(dynid.load_robot("builtin:two_link", gravity=(0.0, 0.0, 9.81)), logs, TERMS),
        "terms": Task.of(ROBOT, logs, ["viscous"]),
        "known": Task.of(ROBOT, logs, TERMS, {"fv1": 0.5}),
    }
    for key, other in others.items():
        assert task.difference(other) == key
        assert other.difference(task) == key
    assert Task.of(longer, logs, TERMS).difference(task) == "robot"


def test_difference_compares_nonlinear_parameters() -> None:
    logs = in_memory(log())
    plain, nonlinear = (Task.of(ROBOT, logs, terms) for terms in (["viscous", "coulomb"], ["viscous", "stribeck"]))
    assert plain.difference(nonlinear) == "terms"


def test_logs_add_to_a_result_in_memory_and_the_same_log_does_not_count_twice() -> None:
    first, second = in_memory(log()), in_memory(log(seed=3))
    one = dynid.identify(ROBOT, first, TERMS, processing=PROCESSING)
    added = dynid.identify(ROBOT, second, TERMS, processing=PROCESSING, add_to=one)
    both = dynid.identify(ROBOT, [first, second], TERMS, processing=PROCESSING)
    assert added.record.logs == both.record.logs == 2
    assert np.allclose(added.parameters.values, both.parameters.values, rtol=1e-9, atol=1e-12)
    with pytest.raises(DynidError, match="count twice"):
        dynid.identify(ROBOT, first, TERMS, processing=PROCESSING, add_to=one)


def test_weights_of_logs_count() -> None:
    good, bad = in_memory(log()), in_memory(log(seed=3, noise=1.0))
    settings: dict = {"processing": PROCESSING, "estimation": {"method": "ols", "bootstrap": False}}
    alike = dynid.identify(ROBOT, [good, bad], TERMS, **settings)
    weighed = dynid.identify(ROBOT, [good, replace(bad, weight=1e-3)], TERMS, **settings)
    assert np.linalg.norm(errors(weighed)) < np.linalg.norm(errors(alike))
