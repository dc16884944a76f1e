"""Friction and motor inertia that come out negative."""

from __future__ import annotations

import numpy as np

from dynid import DynamicModel, load_robot
from dynid.estimation.estimate import Estimate
from dynid.estimation.estimate_findings import findings_on_estimate
from dynid.findings import Severity
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


def on_joints(found: Estimate) -> list[tuple[Severity, str, str]]:
    findings = findings_on_estimate(found, MODEL)
    return [(one.severity, one.subject, one.text) for one in findings if one.subject.startswith("joint")]


def test_where_all_friction_is_negative_the_torque_has_the_wrong_sign() -> None:
    ((severity, subject, text),) = on_joints(estimate(fv1=0.5, fs1=0.5, fv2=-0.5, fs2=-1.0))
    assert severity is Severity.ERROR
    assert subject == "joint 'joint_2'"
    assert "fv2 = -0.5 and fs2 = -1 cannot be negative: is the sign of its torque flipped?" in text


def test_where_some_is_positive_terms_stand_in_for_each_other() -> None:
    ((severity, subject, text),) = on_joints(estimate(fv1=-0.5, fsig1=2.0, fv2=0.5, fs2=1.0))
    assert severity is Severity.WARNING
    assert subject == "joint 'joint_1'"
    assert "flipped" not in text
    assert "fv1 = -0.5 cannot be negative, while fsig1 = 2: these terms stand in for each other" in text


def test_what_may_as_well_be_positive_is_not_impossible() -> None:
    assert not on_joints(estimate(fv1=-0.02, fs1=0.5))
