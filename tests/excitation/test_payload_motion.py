"""Motions for a load that a known robot carries."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid.errors import DynidError
from dynid.robot import Load, inertia, place_of_body


def test_the_standard_deviations_of_a_load_are_those_of_least_squares_over_draws() -> None:
    noise = (2.0, 2.0, 1.0, 0.5, 0.5, 0.2)
    motion = dynid.excite(
        "builtin:ur5",
        payload="last",
        payload_mass=3.0,
        time_limit=2,
        harmonics=2,
        samples=30,
        noise=noise,
        collisions=False,
    )
    assert motion.duration == pytest.approx(5.0)
    assert not motion.broken
    robot = dynid.load_robot("builtin:ur5")
    load = Load(3.0, np.array([0.02, -0.03, 0.08]), np.diag([0.012, 0.014, 0.01]))
    link, placement = place_of_body(robot)
    T = np.column_stack([inertia.moved(unit, placement) for unit in np.eye(10)])
    model = dynid.DynamicModel(robot)
    columns = slice(10 * link, 10 * link + 10)
    W = model.regressor(motion.q, motion.v, motion.a)[..., columns] @ T / np.array(noise)[:, None, None]
    rows = W.reshape(-1, 10)
    y = rows @ load.parameters + np.random.default_rng(0).standard_normal((400, len(rows)))
    found = np.linalg.lstsq(rows, y.T, rcond=None)[0].T
    expected = {one.name: one for one in motion.expectations}
    stds = np.array([one.std for name, one in expected.items() if name not in ("cx", "cy", "cz")])
    assert list(expected)[:5] == ["mass", "mx", "my", "mz", "cx"]
    assert np.allclose(found.std(axis=0) / stds, 1.0, atol=0.15)
    assert expected["cx"].std == pytest.approx(expected["mx"].std / 3.0)
    assert 100 * found[:, 0].std() / 3.0 == pytest.approx(expected["mass"].relative_percent, rel=0.15)
    assert np.abs(found[:, 0] / 3.0 - 1.0).max() < 0.02  # 5 s suffice for 2 % of the mass


BAD = {
    "no body": ({"payload": "hand"}, "hand"),
    "does not move": ({"payload": "base"}, "does not move"),
    "mass alone": ({"payload_mass": 2.0}, "name the body"),
    "postures": ({"payload": "last", "postures": 5}, "none of"),
    "segments": ({"payload": "last", "segments": 2}, "one trajectory"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_a_motion_for_a_load_cannot_be_is_refused(case: str) -> None:
    options, words = BAD[case]
    with pytest.raises(DynidError, match=words):
        dynid.excite("builtin:ur5", **options)


def test_a_load_that_an_arm_cannot_determine_has_the_combinations_that_it_can() -> None:
    motion = dynid.excite("builtin:two_link", payload="last", time_limit=1, collisions=False)
    assert len(motion.expectations) < 10
    assert [one.name for one in motion.expectations] == list(motion.designs[0].problem.information.base.names)
