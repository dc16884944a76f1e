"""The next movement: what it adds is exact, and following it determines robots faster than chance."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid.excitation import ExcitationSettings, collisions_of, joint_limits
from dynid.excitation.proposals.candidate_movements import CandidateMovements
from dynid.excitation.proposals.next_motion import (
    STATES,
    THRESHOLDS,
    NextMotion,
    condition_number_of,
    excited_directions,
)
from dynid.model import find_base_parameters

UR5 = dynid.load_robot("builtin:ur5")
BASE = find_base_parameters(dynid.DynamicModel(UR5, ["viscous", "coulomb"]))
HOME = np.array([0.0, -1.0, 1.2, -0.6, -1.0, 0.3])
RATE = 100.0


def test_information_is_that_of_the_regressor() -> None:
    movements = CandidateMovements(UR5, HOME).first()[:5]
    found = NextMotion(BASE).informations(movements, HOME, RATE)
    for movement, M in zip(movements, found, strict=True):
        W = BASE.regressor(*movement.states(UR5, HOME, THRESHOLDS.seconds, STATES)).reshape(-1, len(BASE))
        assert np.allclose(M, W.T @ W * (RATE * THRESHOLDS.seconds / STATES), rtol=1e-9, atol=1e-9 * M.max())


def test_only_observed_rows_count() -> None:
    person = dynid.human(sex="female", height=1.7, mass=62.0, markers=[])
    base = find_base_parameters(dynid.DynamicModel(person, observed="wrench_moving"))
    movement = CandidateMovements(person, person.neutral).first()[:1]
    M = NextMotion(base).informations(movement, person.neutral, RATE)[0]
    W = base.regressor(*movement[0].states(person, person.neutral, THRESHOLDS.seconds, STATES)).reshape(-1, len(base))
    assert np.allclose(M, W.T @ W * (RATE * THRESHOLDS.seconds / STATES), rtol=1e-9, atol=1e-9 * M.max())


def test_no_candidate_that_was_looked_at_first_promises_more() -> None:
    chooser = NextMotion(BASE)
    S = chooser.informations(CandidateMovements(UR5, HOME).first()[:4], HOME, RATE).sum(axis=0)
    found = chooser.propose(S, HOME, RATE)
    best = found.proposals[0]
    assert np.allclose(best.information, S + chooser.informations([best.movement], HOME, RATE)[0])
    floor = THRESHOLDS.floor**2 * np.linalg.eigvalsh(S)[-1] * np.eye(len(S))
    for movement in CandidateMovements(UR5, HOME).first():
        M = S + chooser.informations([movement], HOME, RATE)[0]
        assert best.value <= np.trace(np.linalg.inv(M + floor)) * (1 + 1e-9)
    assert best.factor > 1.0
    assert best.excited > found.excited == excited_directions(S)


def test_a_proposal_stays_until_another_is_much_better() -> None:
    chooser = NextMotion(BASE)
    S = chooser.informations(CandidateMovements(UR5, HOME).first()[:8], HOME, RATE).sum(axis=0)
    first = chooser.propose(S, HOME, RATE).proposals
    kept = chooser.propose(S, HOME, RATE, kept=first[1].movement).proposals[0].movement
    now = np.trace(np.linalg.inv(S + THRESHOLDS.floor**2 * np.linalg.eigvalsh(S)[-1] * np.eye(len(S))))
    gains = [now - one.value for one in first[:2]]
    assert (kept is first[1].movement) == (gains[0] < THRESHOLDS.better * gains[1])
    assert chooser.propose(S, HOME, RATE, kept=first[0].movement).proposals[0].movement is first[0].movement


def test_what_would_touch_the_floor_is_left_out() -> None:
    settings = ExcitationSettings.model_validate({"floor": -0.05})
    model = collisions_of(settings, UR5, joint_limits(settings, UR5)).model
    low = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # the arm lies flat, just above the floor
    free, checked = (NextMotion(BASE, one).propose(np.zeros((len(BASE),) * 2), low, RATE) for one in (None, model))
    assert (free.is_checked, free.touching) == (False, 0)
    assert checked.touching > 0
    for one in checked.proposals:
        q = one.movement.positions(UR5, low, np.linspace(0.0, one.movement.period, 50))
        assert model.clearances(q, 0.02).min() > -1e-3


def followed(robot: dynid.Robot, posture: np.ndarray, steps: int, choose) -> list[float]:
    """Condition numbers after each movement that was chosen."""
    base = find_base_parameters(dynid.DynamicModel(robot))
    chooser, S = NextMotion(base), np.zeros((len(base), len(base)))
    found = []
    for _ in range(steps):
        movement = choose(chooser, S, posture)
        S = S + chooser.informations([movement], posture, RATE)[0]
        posture = movement.positions(robot, posture, np.array([0.3 * movement.period]))[0]
        found.append(condition_number_of(S))
    return found


@pytest.mark.parametrize("name", ["ur5", "panda", "spatial_3r"])
def test_following_proposals_determines_a_robot_faster_than_chance(name: str) -> None:
    """`benchmarks/live.py` has more robots, and more draws."""
    robot, rng = dynid.load_robot(f"builtin:{name}"), np.random.default_rng(1)
    posture = np.array([np.clip(0.3, joint.limits.lower, joint.limits.upper) for joint in robot.axes])

    def proposed(chooser, S, now):
        return chooser.propose(S, now, RATE).proposals[0].movement

    def random(chooser, S, now):
        candidates = CandidateMovements(robot, now)
        every = [*candidates.first(), *candidates.around(int(rng.integers(len(robot.axes))))]
        return every[rng.integers(len(every))]

    steps = 6
    best = followed(robot, posture, steps, proposed)
    others = [followed(robot, posture, steps, random) for _ in range(5)]
    assert np.isfinite(best[-1])
    for other in others:
        assert best[-1] < other[-1]
