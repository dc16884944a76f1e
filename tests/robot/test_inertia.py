"""Ten inertial parameters in three forms."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.robot import inertia
from dynid.robot.frames import inverse
from tests.strategies import random_inertia, random_pose

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_all_three_forms_convert_into_each_other(seed: int) -> None:
    p = random_inertia(np.random.default_rng(seed))
    assert np.allclose(inertia.from_mass_com_inertia(*inertia.to_mass_com_inertia(p)), p, rtol=1e-13, atol=1e-15)
    assert np.allclose(inertia.from_pseudo_inertia(inertia.to_pseudo_inertia(p)), p, rtol=1e-13, atol=1e-15)


@given(seeds)
def test_the_order_of_elements_is_pinocchios(seed: int) -> None:
    p = random_inertia(np.random.default_rng(seed))
    theirs = pin.Inertia(*inertia.to_mass_com_inertia(p)).toDynamicParameters()
    assert np.allclose(theirs, p, rtol=1e-12, atol=1e-14)


@given(seeds)
def test_moving_a_body_agrees_with_pinocchio_and_back_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, T = random_inertia(rng), random_pose(rng, False)
    moved = inertia.moved(p, T)
    theirs = pin.SE3(T).act(pin.Inertia(*inertia.to_mass_com_inertia(p)))
    assert np.allclose(moved, theirs.toDynamicParameters(), rtol=1e-11, atol=1e-13)
    assert np.allclose(inertia.moved(moved, inverse(T)), p, rtol=1e-10, atol=1e-12)


def test_a_payload_adds_its_moved_parameters() -> None:
    rng = np.random.default_rng(1)
    link, payload, T = random_inertia(rng), random_inertia(rng), random_pose(rng, False)
    loaded = inertia.with_payload(link, payload, T)
    theirs = pin.Inertia(*inertia.to_mass_com_inertia(link)) + pin.SE3(T).act(
        pin.Inertia(*inertia.to_mass_com_inertia(payload))
    )
    assert np.allclose(loaded, theirs.toDynamicParameters(), rtol=1e-12, atol=1e-14)
    assert np.allclose(inertia.with_payload(link, payload), link + payload)


@given(seeds)
def test_a_body_is_possible_exactly_when_its_pseudo_inertia_is_positive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    about_com = np.diag(rng.uniform(-0.2, 1.0, 3))
    p = inertia.from_mass_com_inertia(rng.uniform(-0.2, 2.0), rng.uniform(-1, 1, 3), about_com)
    assert inertia.is_physical(p) == bool(np.linalg.eigvalsh(inertia.to_pseudo_inertia(p))[0] >= 0)


@pytest.mark.parametrize(
    ("moments", "law", "amount"),
    [((1.0, 1.0, 2.5), "triangle", 0.5), ((-0.25, 1.0, 1.0), "principal moments", 0.25)],
)
def test_a_violation_names_its_law_and_amount(moments: tuple[float, ...], law: str, amount: float) -> None:
    p = inertia.from_mass_com_inertia(1.0, np.array([0.1, 0.2, 0.3]), np.diag(moments))
    first = inertia.violations(p)[0]
    assert law in first.law
    assert first.amount == pytest.approx(amount)


def test_negative_mass_and_inertia_without_mass_are_violations() -> None:
    negative = inertia.from_mass_com_inertia(-2.0, np.zeros(3), np.eye(3))
    assert inertia.violations(negative)[0].amount == 2.0
    assert "without mass" in inertia.violations(inertia.from_moments(0.0, np.zeros(3), np.eye(3)))[0].law
    assert not inertia.violations(np.zeros(10))


@pytest.mark.parametrize("moments", [(0, 0, 0), (0, 1, 1), (1, 1, 2)], ids=["point", "rod", "plate"])
def test_bodies_on_the_boundary_are_possible(moments: tuple[float, ...]) -> None:
    p = inertia.from_mass_com_inertia(3.0, np.array([5.0, -2.0, 1.0]), np.diag(moments).astype(float))
    assert inertia.is_physical(p)
