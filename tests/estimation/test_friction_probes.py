"""Friction that is missing from a model is found, and only then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.reduced_logs import findings_on_friction, probed
from dynid.findings import Finding
from dynid.identification.pipeline import identify
from dynid.model.chunks import Chunk
from dynid.model.terms import AsymmetricCoulomb, Coulomb, Term, Viscous
from tests.datasets import example, needs_logs
from tests.simulated import gentle

ROBOT = load_robot("builtin:ur5")


def samples(friction: list[Term], values: float, noise: float = 0.05) -> Chunk:
    q, v, a = gentle(ROBOT, seed=3, period=5.0).states(np.arange(2000) / 400)
    truth = DynamicModel(ROBOT, friction)
    p = np.nan_to_num(truth.reference)
    p[60:] = values
    torque = truth.inverse_dynamics(q, v, a, p)
    return Chunk(q, v, a, torque + noise * np.random.default_rng(0).normal(size=torque.shape))


def found(chunk: Chunk, terms: list[Term]) -> tuple[Finding, ...]:
    model = DynamicModel(ROBOT, terms)
    factors = factorise(probed(model), [chunk])
    assert factors.restricted(model.names).names == model.names
    return findings_on_friction([factors], find_base_parameters(model))


def test_joints_without_friction_in_the_model_are_named() -> None:
    (finding,) = found(samples([Viscous([2]), Coulomb([2, 5])], 4.0), [])
    assert (finding.code, finding.subject) == ("friction-missing", "friction")
    assert {"shoulder_lift_joint", "wrist_2_joint"} <= set(finding.values["joints"])
    assert "elbow_joint" not in finding.values["joints"]
    assert all(0.3 <= share <= 1.0 for share in finding.values["joints"].values())
    assert finding.values["terms"] == ["viscous", "coulomb"]


@pytest.mark.parametrize("terms", [[Viscous(), Coulomb()], [Viscous(), AsymmetricCoulomb()]], ids=["one", "two"])
def test_nothing_is_found_where_friction_is_in_the_model(terms: list[Term]) -> None:
    assert not found(samples([Viscous(), Coulomb()], 2.0), terms)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.05, 5.0])
def test_nothing_is_found_where_there_is_no_friction(noise: float) -> None:
    assert not found(samples([], 0.0, noise), [])


def test_what_drives_instead_of_braking_is_no_friction() -> None:
    assert not found(samples([Viscous(), Coulomb()], -1.0), [])


@needs_logs
@pytest.mark.parametrize(("robot", "joints"), [("tx40", range(1, 7)), ("panda", (5, 6, 7))], ids=["tx40", "panda"])
def test_real_logs_show_that_friction_is_missing(tmp_path: Path, robot: str, joints) -> None:
    text = example(robot).read_text()
    for terms, expected in ((None, False), ("[]", True)):
        path = tmp_path / "experiment.toml"
        lines = [f"terms = {terms}" if terms and line.startswith("terms") else line for line in text.splitlines()]
        path.write_text("\n".join(lines))
        codes = ("friction-missing", "friction-missing-by-residual")
        findings = [finding for finding in identify(path).findings if finding.code in codes]
        assert len(findings) == expected
        for joint in joints if expected else ():
            assert f"joint_{joint}" in str(findings[0].values)
