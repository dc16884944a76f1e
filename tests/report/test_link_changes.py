"""The robot file against what was identified: intervals that hold the truth, and what the data determine."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dynid import DynamicModel, Log, Result, identify, load_robot
from dynid.model.terms import Coulomb, Viscous
from dynid.report.link_changes import Owner, change_figures, link_changes, of_link
from dynid.robot import inertia

ROBOT = load_robot("builtin:spatial_3r")
MODEL = DynamicModel(ROBOT, [Viscous(), Coulomb()])
HEAVIER = 1.3


def truth() -> np.ndarray:
    """The file's links, but for the last, which is heavier; and friction, of which the file says nothing."""
    p = np.nan_to_num(MODEL.reference).copy()
    p[inertia.SIZE * 2 : inertia.SIZE * 3] *= HEAVIER
    p[inertia.SIZE * 3 :] = 2.0
    return p


@cache
def result() -> Result:
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 15.0, 0.01)
    w, phase = 2 * np.pi * np.array([0.1, 0.3, 0.5]), rng.uniform(0, 6.28, (3, 3))
    size, angle = rng.uniform(0.3, 0.8, (3, 3)), np.multiply.outer(t, w)[:, None] + phase
    q, v, a = (size * np.sin(angle)).sum(2), (size * w * np.cos(angle)).sum(2), -(size * w**2 * np.sin(angle)).sum(2)
    torque = MODEL.inverse_dynamics(q, v, a, truth())
    torque += 0.01 * torque.std(axis=0) * rng.normal(size=q.shape)
    return identify(ROBOT, Log(time=t, position=q, torque=torque), ["viscous", "coulomb"])


@cache
def owners() -> tuple[Owner, ...]:
    return link_changes(result())


def test_every_link_is_compared_in_mass_centre_of_mass_and_principal_moments() -> None:
    links = [owner for owner in owners() if owner.is_link]
    assert [link.name for link in links] == [ROBOT.links[i].name for i in ROBOT.solid_links]
    for link, i in zip(links, ROBOT.solid_links, strict=True):
        assert [change.file for change in link.changes] == pytest.approx(of_link(ROBOT.links[i].parameters).tolist())
        for change in link.changes:
            assert change.uncertainty is not None
            assert change.uncertainty > 0.0
            assert change.by_data is not None
            assert 0.0 <= change.by_data <= 1.0


def test_intervals_of_what_the_data_determine_hold_the_truth() -> None:
    """On `dynid demo` of the UR5, 17 of the 18 such intervals do (and 34 of all 42: the file is wrong there)."""
    true, inside = truth(), []
    for k, link in enumerate(owner for owner in owners() if owner.is_link):
        values = of_link(true[inertia.SIZE * k : inertia.SIZE * (k + 1)])
        for change, value in zip(link.changes, values.tolist(), strict=True):
            if (change.by_data or 0.0) > 0.5:
                inside.append(abs(change.value - value) <= 1.5 * (change.uncertainty or 0.0))
    assert len(inside) >= 4
    assert all(inside)


def test_a_change_is_marked_where_the_data_show_it_and_only_there() -> None:
    links = [owner for owner in owners() if owner.is_link]
    assert any(change.beyond for change in links[2].changes)
    assert not any(change.beyond for change in links[0].changes)
    first = links[0].changes[0]  # the mass of a link that only turns about the vertical
    assert first.by_data == pytest.approx(0.0, abs=0.05)
    assert abs(first.change or 0.0) < 0.1 * (first.uncertainty or 0.0)


def test_joints_are_compared_where_the_file_states_friction() -> None:
    stated = {p.joint for p in MODEL.parameters if p.link is None and p.reference is not None}
    assert {owner.name for owner in owners() if not owner.is_link} == stated


def test_the_figure_has_a_mark_for_every_link_and_quantity() -> None:
    figures = change_figures("change", owners())
    assert [len(figure.data) for figure in figures] == [1, 3, 3]
    for figure in figures:
        for trace in figure.data:
            assert len(trace["x"]) <= len(ROBOT.solid_links)
            assert len(trace["x"]) == len(trace["error_x"]["array"]) == len(trace["marker"]["symbol"])
