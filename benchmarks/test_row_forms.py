"""Rows of power, energy and momentum beside those of torques: 20 s of the TX40 at 1 kHz to factors."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, load_robot
from dynid.estimation.factors.row_forms import FormName, RowForm
from dynid.logs.settings import Processing
from dynid.model.chunks import Chunk
from dynid.model.sampling import random_states
from dynid.model.terms import parse_terms

ROBOT = load_robot("builtin:tx40")
MODEL = DynamicModel(ROBOT, parse_terms(("viscous", "coulomb", "offset", "armature", "coupling"), ROBOT))


@pytest.mark.parametrize("form", ["torque", "power", "energy", "momentum"])
def test_factors_of_a_log(benchmark, form: FormName) -> None:
    q, v, a = random_states(MODEL, 20_000, np.random.default_rng(0))
    chunk = Chunk(q, v, a, np.ones_like(v))
    way = RowForm(form)
    way.factors(MODEL, [chunk[:2000]], Processing(), 1000.0)  # compiles, and finds independent columns
    factors = benchmark(way.factors, MODEL, [chunk], Processing(), 1000.0)
    assert factors.rows > 0
