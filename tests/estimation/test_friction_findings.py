"""Friction parameters that logs do not determine are named, with the evidence."""

from __future__ import annotations

import pytest

from dynid.estimation.least_squares import NotIdentifiableError
from dynid.findings import Finding
from tests.friction_logs import VALUES, friction_log, identified


def of_code(findings: tuple[Finding, ...], code: str) -> list[Finding]:
    return [finding for finding in findings if finding.code.startswith(code)]


def test_a_joint_that_never_changes_direction_is_named_with_parameters_that_are_indistinguishable() -> None:
    terms = ["viscous", "coulomb", "offset"]
    with pytest.raises(NotIdentifiableError) as caught:
        identified(friction_log(terms, one_way=True), terms)
    assert {"fs1", "off1"} & set(caught.value.names)
    cause = Finding.of(
        "direction-single",
        "joint 'joint_1'",
        direction="forwards",
        rows=2000,
        alike=["fs1", "off1"],
        silent=[],
    )
    assert cause.text in str(caught.value)


def test_one_direction_leaves_the_friction_of_the_other_without_effect() -> None:
    terms = ["viscous", "asymmetric_coulomb"]
    with pytest.raises(NotIdentifiableError) as caught:
        identified(friction_log(["viscous", "coulomb"], one_way=True), terms)
    assert {"fsn1", "fsn2"} <= set(caught.value.names)


def test_a_stribeck_velocity_outside_the_data_is_said_with_evidence() -> None:
    terms = ["viscous", "stribeck"]
    found = identified(friction_log(terms), terms, processing={"velocity_threshold": 0.4})
    first = of_code(found.findings, "nonlinear-undetermined")[0]
    assert (first.code, first.subject) == ("nonlinear-undetermined-threshold", "joint 'joint_1'")
    assert (first.values["parameter"], first.values["threshold"]) == ("vs1", 0.4)
    assert first.values["slowest"] >= 0.4


def test_rows_of_energy_are_not_said_to_be_dropped() -> None:
    found = identified(
        friction_log(["viscous", "coulomb"]),
        ["viscous", "stribeck"],
        processing={"velocity_threshold": 0.2},
        estimation={"estimator": "energy"},
    )
    said = of_code(found.findings, "nonlinear-undetermined")
    assert "vs1" in [finding.values["parameter"] for finding in said]
    assert {finding.code for finding in said} == {"nonlinear-undetermined"}  # and not for a threshold
    assert all(finding.values["threshold"] == 0.0 for finding in said)


def test_stribeck_friction_that_would_drive_its_joint_is_said() -> None:
    terms = ["viscous", "stribeck"]
    said = of_code(identified(friction_log(terms, values=VALUES | {"fst": -1.5}), terms).findings, "friction-drives")
    assert [finding.subject for finding in said] == ["joint 'joint_1'", "joint 'joint_2'"]
    assert all(finding.values["level"] < 0.0 for finding in said)
    assert [finding.values["velocity"] for finding in said] == [["vs1"], ["vs2"]]
    assert not of_code(identified(friction_log(terms), terms).findings, "friction-drives")
