"""Findings on an estimate: too few rows, poor excitation, poorly determined parameters, impossible values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynamicModel, load_robot
from dynid.estimation.estimate_findings import findings_on_estimate
from dynid.estimation.factors.row_forms import TORQUES, FormName, RowForm
from dynid.estimation.least_squares import Estimate, JointFit
from dynid.findings import Finding, Severity
from dynid.model.terms import Armature, Coulomb, Sigmoid, Viscous

MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb(), Sigmoid(), Armature()])


def estimate(**values: float) -> Estimate:
    return Estimate(
        names=tuple(values),
        values=np.array(list(values.values())),
        covariance=1e-4 * np.eye(len(values)),
        freedom=1000,
        joints={},
        relative_error=0.01,
        condition_number=10.0,
    )


def on_joints(found: Estimate) -> list[Finding]:
    findings = findings_on_estimate(found, MODEL, TORQUES)
    return [one for one in findings if one.subject.startswith("joint")]


def test_where_all_friction_is_negative_the_torque_has_the_wrong_sign() -> None:
    (finding,) = on_joints(estimate(fv1=0.5, fs1=0.5, fv2=-0.5, fs2=-1.0))
    assert (finding.code, finding.severity) == ("parameter-negative", Severity.ERROR)
    assert finding.subject == "joint 'joint_2'"
    assert finding.values["negative"] == ["fv2 = -0.5", "fs2 = -1"]


def test_where_some_is_positive_terms_compensate_each_other() -> None:
    (finding,) = on_joints(estimate(fv1=-0.5, fsig1=2.0, fv2=0.5, fs2=1.0))
    assert (finding.code, finding.severity) == ("parameter-negative-beside-positive", Severity.WARNING)
    assert finding.subject == "joint 'joint_1'"
    assert (finding.values["negative"], finding.values["positive"]) == (["fv1 = -0.5"], ["fsig1 = 2"])


def test_what_may_as_well_be_positive_is_not_impossible() -> None:
    assert not on_joints(estimate(fv1=-0.02, fs1=0.5))


def test_a_good_estimate_has_no_findings() -> None:
    assert findings_on_estimate(estimate(fv1=0.5, fs1=0.5), MODEL, TORQUES) == ()


def test_too_few_rows_are_counted() -> None:
    (finding,) = findings_on_estimate(replace(estimate(fv1=0.5, fs1=0.5), freedom=10), MODEL, TORQUES)
    assert finding.code == "rows-too-few"
    assert finding.values == {"rows": 12, "parameters": 2, "fewest": 10}


def test_poorly_determined_parameters_are_listed_the_worst_first() -> None:
    (finding,) = findings_on_estimate(estimate(fv1=0.05, fs1=0.5, fs2=0.02), MODEL, TORQUES)
    assert finding.code == "parameters-poorly-determined"
    assert list(finding.values["parameters"].items()) == [("fs2", pytest.approx(0.5)), ("fv1", pytest.approx(0.2))]
    assert (finding.values["count"], finding.values["total"]) == (2, 3)


@pytest.mark.parametrize(("form", "code"), [("torque", "excitation-poor"), ("energy", "excitation-poor-of-all-joints")])
def test_poor_excitation_names_the_combination_that_is_determined_least(form: FormName, code: str) -> None:
    correlated = 1e-4 * np.array([[1.0, 0.999, 0.0], [0.999, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = replace(estimate(fv1=0.5, fs1=0.5, fv2=0.5), covariance=correlated, condition_number=1e5)
    (finding,) = findings_on_estimate(found, MODEL, RowForm(form))
    assert finding.code == code
    assert set(finding.values["parameters"]) == {"fv1", "fs1"}


def test_joints_whose_torque_is_not_explained_are_named() -> None:
    fits = {"joint_1": JointFit(100, 1.0, 0.9), "joint_2": JointFit(100, 1.0, 0.01)}
    (finding,) = findings_on_estimate(replace(estimate(fv1=0.5), joints=fits), MODEL, TORQUES)
    assert (finding.code, finding.values) == ("fit-poor", {"joints": {"joint_1": 0.9}})


def with_torque_share(value: float, share: float) -> Estimate:
    """An estimate of a joint's friction that makes up a share of its torque: 50 standard deviations, 2500 rows."""
    found = estimate(fv1=value)
    return replace(found, joints={"joint_1": JointFit(rows=2500, rmse=share, relative_error=share)})


@pytest.mark.parametrize(("share", "severity"), [(0.001, None), (0.02, Severity.WARNING), (0.1, Severity.ERROR)])
def test_negative_friction_counts_where_it_makes_up_torque(share: float, severity: Severity | None) -> None:
    """A joint without friction has a tiny value of either sign, however exact the data: no sign is flipped."""
    found = on_joints(with_torque_share(-0.5, share))
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
