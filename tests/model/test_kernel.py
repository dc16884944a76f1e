"""The compiled kernel: the same numbers, only sooner."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Observed, Robot, inertial_regressor, load_robot
from dynid.model.kernels import kernel
from dynid.model.kernels.kernel import WORTH_COMPILING, RegressorPlan, compiled_kernel
from dynid.model.kernels.vectorised import vectorised_regressor
from dynid.model.sampling import random_states
from dynid.model.terms import Coupling, Spring, Viscous
from tests.references import example_robot_file, pinocchio_regressor
from tests.strategies import robots

MANY = WORTH_COMPILING + 37


def states(robot: Robot, seed: int = 0, samples: int = MANY):
    return random_states(DynamicModel(robot), samples, np.random.default_rng(seed))


@given(robots(), st.integers(0, 1000))
@settings(max_examples=40)
def test_the_compiled_regressor_equals_pinocchios_and_numpys(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    W = inertial_regressor(robot, q, v, a)
    some = np.array([0, 1, MANY // 2, MANY - 1])  # of the first, a middle and the last piece
    expected = pinocchio_regressor(robot, q[some], v[some], a[some])
    assert np.abs(W[:, some] - expected).max() <= 1e-12 * np.abs(expected).max()
    slow = vectorised_regressor(robot, q, v, a)
    assert np.abs(W - slow).max() <= 1e-12 * np.abs(slow).max()


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ["tiago_no_hand.urdf", "talos_reduced.urdf", "panda.urdf"])
def test_the_compiled_regressor_equals_pinocchios_on_real_robots(name: str, floating: bool) -> None:
    robot = load_robot(example_robot_file(name), floating_base=floating)
    q, v, a = states(robot)
    W = inertial_regressor(robot, q, v, a)[:, :3]
    expected = pinocchio_regressor(robot, q[:3], v[:3], a[:3])
    assert np.abs(W - expected).max() <= 1e-12 * np.abs(expected).max()


def test_only_wanted_columns_are_computed_and_each_at_its_place() -> None:
    robot = load_robot("builtin:panda")
    q, v, a = states(robot)
    W = inertial_regressor(robot, q, v, a)
    rng = np.random.default_rng(1)
    columns = [rng.permutation(70)[: rng.integers(0, 30)] for _ in range(7)]
    places = []
    for wanted in columns:
        place = np.full(70, -1)
        place[wanted] = np.arange(len(wanted))
        places.append(place)
    rows = RegressorPlan(robot, tuple(map(len, columns)), tuple(places)).evaluate(q, v, a)
    for row, wanted in enumerate(columns):
        assert np.array_equal(rows[row], W[row][:, wanted])


def test_arrays_that_cannot_be_written_to_or_lie_otherwise_give_the_same() -> None:
    robot = load_robot("builtin:ur5")
    q, v, a = states(robot)
    W = inertial_regressor(robot, q, v, a)
    q.flags.writeable = False
    assert np.array_equal(inertial_regressor(robot, q, np.asfortranarray(v), a), W)
    compiled = compiled_kernel()
    assert compiled is not None
    of_torques = [signature for signature in compiled.fill.signatures if str(signature[22]) == "none"]
    assert len(of_torques) == 1  # and nothing is compiled again


def test_terms_and_observed_rows_stand_beside_the_links() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    terms = [Viscous(), Coupling(1, 2), Spring()]
    for observed in (Observed.TORQUES, Observed.WRENCH_MOVING):
        model = DynamicModel(robot, terms, observed)
        q, v, a = random_states(model, MANY, np.random.default_rng(0))
        links = inertial_regressor(robot, q, v, a)
        columns = [term.columns(robot, q, v, a) for term in terms]
        assert np.array_equal(model.regressor(q, v, a), np.concatenate([links, *columns], axis=2)[model.rows])


def test_results_do_not_depend_on_the_number_of_pieces(monkeypatch) -> None:
    robot = load_robot("builtin:panda")
    q, v, a = states(robot, samples=5000)
    W = inertial_regressor(robot, q, v, a)
    monkeypatch.setattr(kernel, "_pieces", lambda samples: [(0, samples)])
    assert np.array_equal(inertial_regressor(robot, q, v, a), W)


CODE = """
import logging, sys
import numpy as np
from dynid import DynamicModel, inertial_regressor, load_robot
from dynid.model.sampling import random_states
robot = load_robot("builtin:ur5")
W = inertial_regressor(robot, *random_states(DynamicModel(robot), 3000, np.random.default_rng(0)))
print(repr(float(np.abs(W).sum())), "numba" in sys.modules)
"""


def run(**environment: str) -> tuple[float, bool, str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    total, numba = done.stdout.split()
    return float(total), numba == "True", done.stderr


def test_the_first_run_says_that_it_compiles_and_the_next_does_not(tmp_path) -> None:
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    assert "compiling the regressor kernel" in first[2]
    assert second[2] == ""
    assert first[0] == second[0]


def test_without_compilation_the_results_are_the_same() -> None:
    compiled, plain = run(), run(DYNID_NO_COMPILE="1")
    assert (compiled[1], plain[1]) == (True, False)
    assert plain[0] == pytest.approx(compiled[0], rel=1e-13)


def test_small_tasks_do_not_wait_for_numba() -> None:
    code = "import dynid, sys; dynid.find_base_parameters(dynid.DynamicModel(dynid.load_robot('builtin:ur5')));"
    code += "print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
