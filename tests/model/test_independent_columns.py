"""Elimination along the staircase against one factorisation of all rows; large robots, and those that are too large."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, excite, find_base_parameters, inspect, load_robot
from dynid.errors import TooLargeError
from dynid.machine import _of_container, available_bytes
from dynid.model import sampling
from dynid.model.independent_columns import columns_in_order, largest_by_unit, norms_of, pivoted_columns
from dynid.model.kernels import kernel
from dynid.model.row_bases import row_bases
from dynid.model.sampling import random_states, sampled_rows
from tests.strategies import robots

TERMS = ["viscous", "coulomb", "armature"]


def chain(count: int, folder, seed: int = 0) -> Robot:
    """A chain of revolute and prismatic joints in all directions, with branches, welds and mimic joints."""
    rng = np.random.default_rng(seed)
    text, leader = ["<robot name='chain'><link name='l0'/>"], ""
    for i in range(1, count + 1):
        kind = "fixed" if i % 17 == 3 else "prismatic" if i % 5 == 2 else "revolute"
        mimic = f"<mimic joint='{leader}' multiplier='-0.5'/>" if leader and i % 11 == 7 and kind != "fixed" else ""
        leader = leader if mimic or kind == "fixed" else f"j{i}"
        xyz, axis = rng.uniform(-0.2, 0.2, 3).round(2), np.eye(3, dtype=int)[rng.integers(3)]
        below = i - 3 if i % 13 == 5 else i - 1
        text.append(
            f"<link name='l{i}'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' "
            f"iyz='0'/></inertial></link><joint name='j{i}' type='{kind}'><parent link='l{below}'"
            f"/><child link='l{i}'/><origin xyz='{' '.join(map(str, xyz))}'/><axis xyz='{' '.join(map(str, axis))}'/>"
            f"<limit lower='-2' upper='2' effort='9' velocity='3'/>{mimic}</joint>"
        )
    path = folder / f"chain{count}.urdf"
    path.write_text("".join([*text, "</robot>"]))
    return load_robot(path)


def of_all_rows(model: DynamicModel, sequence: Sequence[int], tolerance: float = 1e-10):
    """Chosen columns, own parts and regrouping by orthogonalising all columns of all rows, one after the other."""
    rows = sampled_rows(model, np.random.default_rng(0))
    W = np.zeros((sum(len(matrix) for _, matrix in rows), len(model.names)))
    first = 0
    for columns, matrix in rows:
        W[first : first + len(matrix), columns] = matrix
        first += len(matrix)
    scale = largest_by_unit(model.parameters, np.linalg.norm(W, axis=0))
    R = np.asarray(np.linalg.qr(W / scale, mode="r"))
    chosen, own_parts, Q = [], np.zeros(len(model.names)), np.zeros((len(R), 0))
    for k in sequence:
        left = R[:, k]
        for _ in range(2):
            left = left - Q @ (Q.T @ left)
        own_parts[k] = np.linalg.norm(left)
        if own_parts[k] > tolerance:
            chosen.append(k)
            Q = np.column_stack([Q, left / own_parts[k]])
    chosen.sort()
    K = np.linalg.lstsq(R[:, chosen], R, rcond=None)[0] * scale / scale[chosen, None]
    return chosen, own_parts, K


def assert_same(model: DynamicModel, **request) -> None:
    base = find_base_parameters(model, **request)
    known = {model.names.index(name) for name in base.known}
    first = [model.names.index(name) for name in request.get("order", ())]
    sequence = [*first, *(k for k in range(len(model.names)) if k not in known and k not in first)]
    chosen, own_parts, K = of_all_rows(model.typical, sequence)
    assert list(base.columns) == chosen
    assert np.allclose(base.own_parts[chosen], own_parts[chosen], rtol=1e-6, atol=1e-13)
    silent = [k for k, name in enumerate(model.names) if name in base.no_effect]
    K[:, [*known, *silent]] = 0.0
    assert np.abs(base.regrouping - K).max(initial=0.0) <= 1e-9 * np.abs(K).max(initial=1.0)


@given(robots(max_joints=30), st.sampled_from([[], TERMS]), st.sampled_from(["torques", "gravity", "wrench_moving"]))
@settings(max_examples=25)
def test_columns_own_parts_and_coefficients_are_those_of_all_rows(robot: Robot, terms, observed: str) -> None:
    if robot.has_floating_base or observed != "wrench_moving":
        assert_same(DynamicModel(robot, terms, observed))


@given(robots(max_joints=8))
@settings(max_examples=15)
def test_known_parameters_and_another_order_are_those_of_all_rows(robot: Robot) -> None:
    model = DynamicModel(robot, ["viscous"])
    names = model.names
    assert_same(model, known=dict.fromkeys(names[2::7], 1.0))
    assert_same(model, order=names[::-3])


@pytest.mark.parametrize("terms", [[], TERMS])
def test_a_chain_of_sixty_joints_has_the_base_parameters_of_all_rows(terms, tmp_path) -> None:
    assert_same(DynamicModel(chain(60, tmp_path), terms))


def test_few_states_determine_the_base_parameters_of_large_robots(tmp_path, monkeypatch) -> None:
    # Large robots are sampled with few rows more than columns; a hand of one motor has most of its links on one row.
    for model in (DynamicModel(chain(60, tmp_path), TERMS), DynamicModel(_hand(tmp_path))):
        many = find_base_parameters(model)
        monkeypatch.setattr(sampling, "_MANY_COLUMNS", 0)
        few = find_base_parameters(model)
        monkeypatch.undo()
        assert few.columns == many.columns
        assert np.allclose(few.regrouping, many.regrouping, atol=1e-8)


def _hand(folder) -> Robot:
    """An arm of three joints, with five fingers that follow its last one."""
    joints = [("a1", "l0", "0 0 1", ""), ("a2", "a1", "0 1 0", ""), ("a3", "a2", "1 0 0", "")]
    joints += [
        (f"f{k}", "a3", "0 1 0", f"<mimic joint='a3' multiplier='{ratio}'/>")
        for k, ratio in enumerate((-1, 2, 0.5, -2, 3))
    ]
    text = "".join(
        f"<link name='{name}'/><joint name='{name}' type='revolute'><parent link='{parent}'/><child link='{name}'/>"
        f"<origin xyz='0.1 0.{n} 0.2'/><axis xyz='{axis}'/><limit lower='-2' upper='2' effort='9' velocity='3'/>{mimic}"
        "</joint>"
        for n, (name, parent, axis, mimic) in enumerate(joints)
    )
    (folder / "hand.urdf").write_text(f"<robot name='hand'><link name='l0'/>{text}</robot>")
    return load_robot(folder / "hand.urdf")


def test_equations_of_single_joints_are_sums_of_their_independent_columns(tmp_path) -> None:
    model = DynamicModel(chain(25, tmp_path), TERMS)
    W = model.regressor(*random_states(model, 50, np.random.default_rng(3)))
    for matrix, basis in zip(W, row_bases(model), strict=True):
        acting = [model.names.index(name) for name in basis.names]
        assert np.abs(matrix[:, acting] - matrix[:, basis.columns] @ basis.regrouping).max() <= 1e-9 * np.abs(W).max()
        assert not np.delete(matrix, acting, axis=1).any()


def test_of_columns_that_are_equally_large_pivoting_takes_the_first() -> None:
    rng = np.random.default_rng(0)
    W = rng.normal(size=(30, 3))[:, [0, 0, 1, 2, 2]] * [1.0, 1.0 + 1e-15, 0.5, 0.7, -0.7 - 1e-15]
    found = pivoted_columns([(np.arange(5), W)], range(5), 1e-10)
    assert sorted(found.chosen) == [0, 2, 3]
    assert np.allclose(W[:, found.chosen] @ found.coefficients, W[:, found.others])


def test_matrices_without_rows_or_columns_have_no_independent_columns() -> None:
    nothing = (np.arange(2), np.zeros((0, 2)))
    for choose in (columns_in_order, pivoted_columns):
        assert choose([nothing], [0, 1], 1e-10).chosen == []
        assert choose([], [], 1e-10).chosen == []
        assert choose([(np.arange(2), np.zeros((3, 2)))], [1, 0], 1e-10).chosen == []
    assert norms_of([nothing], 2).tolist() == [0.0, 0.0]


def test_what_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch) -> None:
    model = DynamicModel(chain(20, tmp_path))
    states = random_states(model, 50, np.random.default_rng(0))
    monkeypatch.setattr(kernel, "_SURELY_FREE", 0)
    monkeypatch.setattr(kernel, "available_bytes", lambda: 100_000)
    for work in (
        lambda: inspect(model.robot),
        lambda: excite(model.robot, time_limit=1),
        lambda: row_bases(model),
        lambda: model.regressor(*states),
    ):
        with pytest.raises(TooLargeError, match=r"'chain' .* GB of memory.*lock joints") as caught:
            work()
        assert caught.value.needed > caught.value.available == 100_000


def test_free_memory_is_also_that_of_the_container(tmp_path) -> None:
    assert available_bytes() > 0
    for name, text in (("max", "4000"), ("current", "3000"), ("stat", "anon 5\ninactive_file 500\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert _of_container(tmp_path) == 1500
    (tmp_path / "memory.max").write_text("max\n")
    assert _of_container(tmp_path) > 1 << 60
