"""Physical links from real logs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dynid.estimation.physical.physical_links import definite_share
from dynid.experiment.reading import read_experiment
from dynid.identification.pipeline import Identification, identify
from tests.estimation.test_semidefinite import is_possible

ROOT = Path(__file__).parents[2]
needs_logs = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="real logs are not part of the project; set DYNID_DATASETS"
)


@pytest.fixture(scope="module")
def panda() -> Identification:
    return identify(read_experiment(ROOT / "examples/panda.toml"))


@pytest.fixture(scope="module")
def tx40() -> Identification:
    return identify(read_experiment(ROOT / "examples/tx40.toml"))


@needs_logs
@pytest.mark.parametrize(("log", "ratio"), [("panda", 1.03), ("tx40", 1.05)])
def test_possible_links_cost_little(log: str, ratio: float, request: pytest.FixtureRequest) -> None:
    found: Identification = request.getfixturevalue(log)
    assert found.physical is not None
    assert found.physical.relative_error <= ratio * found.estimate.relative_error
    links = len(found.base.model.robot.solid_links)
    assert all(is_possible(found.physical.parameters[10 * k : 10 * k + 10]) for k in range(links))
    assert definite_share(found.base, found.physical.parameters, 10_000) == 1.0


@needs_logs
def test_coupled_motors_of_the_tx40_are_possible(tx40: Identification) -> None:
    assert tx40.physical is not None
    value = tx40.physical.values
    assert all(value[f"{symbol}{k}"] >= 0.0 for symbol in ("fv", "fs", "Ia") for k in range(1, 7))
    for diagonal, beside in (("Ia", "Iam6"), ("fv", "fvm6")):
        matrix = [[value[f"{diagonal}5"], value[beside]], [value[beside], value[f"{diagonal}6"]]]
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-7


@needs_logs
def test_unconstrained_base_parameters_of_the_panda_have_no_definite_mass_matrix(panda: Identification) -> None:
    share = definite_share(panda.base, panda.base.to_standard(panda.estimate.values), 10_000)
    assert share < 0.5
    assert any("mass matrix" in finding.text for finding in panda.findings)
