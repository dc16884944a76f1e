"""Physical links from real logs."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.estimation.physical.physical_links import definite_share
from dynid.findings import has
from dynid.identification.pipeline import identify
from dynid.identification.result import Result
from tests.datasets import example, needs_logs
from tests.references import is_possible_body


@pytest.fixture(scope="module")
def panda() -> Result:
    return identify(example("panda"))


@pytest.fixture(scope="module")
def tx40() -> Result:
    return identify(example("tx40"))


@needs_logs
@pytest.mark.parametrize(("log", "ratio"), [("panda", 1.05), ("tx40", 1.05)])
def test_possible_links_cost_little(log: str, ratio: float, request: pytest.FixtureRequest) -> None:
    found: Result = request.getfixturevalue(log)
    assert found.physical is not None
    assert found.physical.relative_error <= ratio * found.relative_error
    links = len(found.base.model.robot.solid_links)
    p = found.standard_parameters(physical=True)
    assert all(is_possible_body(p[10 * k : 10 * k + 10]) for k in range(links))
    assert definite_share(found.base, p, 10_000) == 1.0


@needs_logs
def test_coupled_motors_of_the_tx40_are_possible(tx40: Result) -> None:
    assert tx40.physical is not None
    value = tx40.physical.values
    assert all(value[f"{symbol}{k}"] >= 0.0 for symbol in ("fv", "fs", "Ia") for k in range(1, 7))
    for diagonal, beside in (("Ia", "Iam6"), ("fv", "fvm6")):
        matrix = [[value[f"{diagonal}5"], value[beside]], [value[beside], value[f"{diagonal}6"]]]
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-7


@needs_logs
def test_unconstrained_base_parameters_of_the_panda_have_no_definite_mass_matrix(panda: Result) -> None:
    assert definite_share(panda.base, panda.standard_parameters(), 10_000) < 0.5
    assert has(panda.findings, "mass-matrix-indefinite")
