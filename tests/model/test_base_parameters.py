"""Base parameters: selection, regrouping, maps, rank."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Observed, Robot, find_base_parameters, load_robot
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.model.base_parameters import Gap, _as_text
from dynid.model.parameters import matching
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, Coulomb, Offset, Viscous
from tests.strategies import robots


def stacked(model: DynamicModel, samples: int = 60, seed: int = 5) -> np.ndarray:
    W = model.regressor(*random_states(model, samples, np.random.default_rng(seed)))
    return W.reshape(-1, W.shape[-1])


@given(robots(max_joints=4), st.sampled_from(["natural", "pivoted"]))
def test_the_count_is_the_rank_and_all_torques_are_kept(robot: Robot, selection) -> None:
    model = DynamicModel(robot, [Viscous(), Armature()])
    base = find_base_parameters(model, selection=selection)
    W = stacked(model)
    norms = np.linalg.norm(W, axis=0)
    scaled = W / np.where(norms > 1e-12 * norms.max(), norms, np.inf)
    assert len(base) == np.linalg.matrix_rank(scaled, tol=1e-9 * np.sqrt(len(W)))
    left = W - W[:, list(base.columns)] @ base.regrouping
    assert np.abs(left).max() <= 1e-9 * np.abs(W).max()


@pytest.mark.parametrize("terms", [[], [Viscous(), Offset()]])
def test_natural_order_keeps_the_first_independent_columns(terms) -> None:
    # Brute force on a small robot: a column is kept exactly when it raises the rank of those before it.
    model = DynamicModel(load_robot("builtin:spatial_3r"), terms)
    W = stacked(model)
    ranks = [np.linalg.matrix_rank(W[:, :k], tol=1e-8) for k in range(W.shape[1] + 1)]
    expected = tuple(k for k in range(W.shape[1]) if ranks[k + 1] > ranks[k])
    assert find_base_parameters(model).columns == expected


def test_pivoting_keeps_columns_that_span_a_larger_volume() -> None:
    model = DynamicModel(load_robot("builtin:ur5"))
    natural, pivoted = (find_base_parameters(model, selection=way) for way in ("natural", "pivoted"))
    volume = [np.log(base.own_parts[list(base.columns)]).sum() for base in (natural, pivoted)]
    assert pivoted.columns != natural.columns
    assert volume[1] > volume[0]


def test_every_choice_of_columns_spans_the_same() -> None:
    # Pendulum with motor inertia: Iyy1 and Ia1 cannot be told apart; any one of them may stand for the sum.
    model = DynamicModel(load_robot("builtin:pendulum"), [Armature()])
    W = stacked(model)
    rank = np.linalg.matrix_rank(W, tol=1e-9)
    effective = [k for k in range(W.shape[1]) if np.linalg.norm(W[:, k]) > 1e-9]
    full = [c for c in combinations(effective, rank) if np.linalg.matrix_rank(W[:, list(c)], tol=1e-9) == rank]
    assert find_base_parameters(model).columns in full
    assert find_base_parameters(model, order=["Ia1"]).columns in full
    assert find_base_parameters(model).expressions == ("mx1", "mz1", "Iyy1 + Ia1")
    assert find_base_parameters(model, order=["Ia1"]).expressions[-1] == "Ia1 + Iyy1"


@given(robots(max_joints=4), st.integers(0, 1000))
def test_maps_to_standard_parameters_and_back_are_inverse(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = find_base_parameters(DynamicModel(robot, [Coulomb()]))
    b, near = rng.normal(size=len(base)), rng.normal(size=len(base.model.names))
    assert np.allclose(base.to_base(base.to_standard(b)), b, atol=1e-9)
    assert np.allclose(base.to_base(base.to_standard(b, near)), b, atol=1e-9)
    assert np.allclose(base.to_standard(base.to_base(near), near), near, atol=1e-9)


def test_known_parameters_are_taken_out_and_their_torques_given() -> None:
    robot = load_robot("builtin:ur5")
    model = DynamicModel(robot)
    base = find_base_parameters(model, known=["m*1", "m2", "I*3"])
    assert base.known["m2"] == robot.links[1].parameters[0]
    assert {"m1", "mx1", "Ixx3", "Izz3"} <= set(base.known)
    q, v, a = random_states(model, 7, np.random.default_rng(0))
    expected = model.regressor(q, v, a) @ robot.parameters
    found = base.regressor(q, v, a) @ base.to_base(robot.parameters) + base.known_torques(q, v, a)
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert base.to_standard(np.zeros(len(base)))[model.names.index("m2")] == base.known["m2"]


def test_every_parameter_is_in_exactly_one_class() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:ur5"), [Viscous()]), known=["Izz6"])
    alone = [next(iter(group)) for group in base.groups if len(group) == 1]
    classes = [*alone, *base.only_in_groups, *base.no_effect, *base.known]
    assert sorted(classes) == sorted(base.model.names)


def test_counts_do_not_depend_on_the_seed_and_results_repeat() -> None:
    model = DynamicModel(load_robot("builtin:panda"))
    assert {len(find_base_parameters(model, rng=np.random.default_rng(s))) for s in range(20)} == {43}
    first, second = find_base_parameters(model), find_base_parameters(model)
    assert np.array_equal(first.regrouping, second.regrouping)


def test_small_and_large_robots_have_the_same_base_parameters(tmp_path) -> None:
    # Every length a hundredth or a hundred times: only the coefficients change.
    names = set()
    for scale in (0.01, 1.0, 100.0):
        path = tmp_path / f"{scale}.toml"
        rows = "".join(
            f'[[joint]]\nname = "j{k}"\nalpha = {90 if k % 2 else 0}\na = {0.3 * scale}\nd = {0.1 * scale}\n'
            for k in range(4)
        )
        path.write_text(f'name = "t"\nconvention = "standard"\nangles = "deg"\n{rows}')
        base = find_base_parameters(DynamicModel(load_robot(path)))
        assert not base.gap.is_doubtful
        names.add(base.names)
    assert len(names) == 1


def test_columns_that_are_only_rounding_have_no_effect(tmp_path) -> None:
    # The mass is on the axis of a tilted joint: its column is the only one in kg, and 1e-16 instead of zero.
    path = tmp_path / "robot.toml"
    path.write_text(
        'name = "t"\nconvention = "frames"\njoint = [{ name = "a", xyz = [0.3, 0.1, 0.7], rpy = [0.4, 1.1, 2.3] }]'
    )
    base = find_base_parameters(DynamicModel(load_robot(path, gravity=(3.0, -4.0, -8.0))))
    assert "m1" in base.no_effect
    assert base.names == ("mx1", "my1", "Izz1")


def test_expressions_read_as_people_write_them() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:tx40")))
    expressions = dict(zip(base.names, base.expressions, strict=True))
    assert expressions["mx3"] == "mx3"
    assert expressions["my5"] == "my5 - mz6"
    assert expressions["Ixx4"] == "Ixx4 - Iyy4 + Iyy5"
    assert expressions["mx2"] == "mx2 + 0.225*m3 + 0.225*m4 + 0.225*m5 + 0.225*m6"


def test_wrong_requests_are_refused() -> None:
    model = DynamicModel(load_robot("builtin:tx40"))
    with pytest.raises(UnknownNameError, match="no parameter 'mq1'"):
        find_base_parameters(model, known=["mq1"])
    with pytest.raises(InvalidRequestError, match="no value for the known parameter 'm1'; write m1=VALUE"):
        find_base_parameters(model, known=["m1"])
    with pytest.raises(InvalidRequestError, match="pivoted selection chooses its own order"):
        find_base_parameters(model, selection="pivoted", order=["m1"])
    with pytest.raises(ShapeError, match="base parameters"):
        find_base_parameters(model).to_standard(np.zeros(3))


def test_patterns_end_in_the_very_number() -> None:
    names = ("m1", "mx1", "Ixx1", "Ia1", "m11", "Ixx11", "fv1")
    assert matching(["I??1"], names) == ["Ixx1"]
    assert matching(["m*1"], names) == ["m1", "mx1"]
    assert matching(["m*"], names) == ["m1", "mx1", "m11"]
    assert matching(["fv1", "m1"], names) == ["fv1", "m1"]
    with pytest.raises(UnknownNameError):
        matching(["m"], names)


def test_an_exact_name_counts_more_than_a_pattern() -> None:
    model = DynamicModel(load_robot("builtin:ur5"))
    for known in ({"m2": 7.0, "m?2": None, "m*2": None}, {"m*2": None, "m2": 7.0}):
        assert find_base_parameters(model, known=known).known["m2"] == 7.0


def test_unknown_references_spoil_only_their_own_groups() -> None:
    model = DynamicModel(load_robot("builtin:ur5"), [Viscous()])
    base = find_base_parameters(model)
    unknown = np.isnan(base.to_base(model.reference))
    assert [name for name, nan in zip(base.names, unknown, strict=True) if nan] == [f"fv{k}" for k in range(1, 7)]


def test_a_robot_that_feels_nothing_has_no_base_parameters_and_no_doubt() -> None:
    robot = load_robot("builtin:ur5", gravity=(0, 0, 0))
    base = find_base_parameters(DynamicModel(robot, (), Observed.GRAVITY))
    assert len(base) == 0
    assert base.findings() == ()
    assert set(base.no_effect) == set(base.model.names)
    known_all = find_base_parameters(DynamicModel(robot), known=["*"], selection="pivoted")
    assert len(known_all) == 0


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, np.nan, np.inf])
def test_tolerances_that_make_no_sense_are_refused(tolerance: float) -> None:
    with pytest.raises(InvalidRequestError, match="between 0 and 1"):
        find_base_parameters(DynamicModel(load_robot("builtin:ur5")), tolerance=tolerance)


def test_doubt_is_a_small_kept_column_or_a_small_gap() -> None:
    assert not Gap(1e-2, 1e-15).is_doubtful
    assert Gap(1e-6, 1e-15).is_doubtful
    assert Gap(1e-2, 1e-4).is_doubtful
    assert not Gap(1e-2, 1e-6).is_doubtful


def test_coefficients_too_small_to_read_are_left_out_of_the_text() -> None:
    assert _as_text({"a": 1.0, "b": 1e-8, "c": -0.5, "d": 2.0}) == "a - 0.5*c + 2*d"


def test_a_model_of_gravity_refuses_motion() -> None:
    model = DynamicModel(load_robot("builtin:ur5"), (), Observed.GRAVITY)
    with pytest.raises(InvalidRequestError, match="states at rest"):
        model.regressor(np.zeros((1, 6)), np.ones((1, 6)))
