"""A simulated robot that cannot follow is stopped with the reason, the joint and the time."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, DynidError, load_robot
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.model.terms import Armature
from dynid.simulation.closed_loop import LostError, SimulatedRobot, follow
from dynid.simulation.desired_motion import Repeated
from dynid.simulation.lost import without_inertia
from dynid.simulation.settings import ControlLaw, Controller
from tests.simulated import gentle

TWO = load_robot("builtin:two_link")
UR5 = load_robot("builtin:ur5")
ROBOT = SimulatedRobot.of(DynamicModel(TWO))
ARM = SimulatedRobot.of(DynamicModel(UR5, [Armature()]))


def test_a_robot_that_flies_off_is_lost_and_not_impossible() -> None:
    with pytest.raises(LostError, match=r"joint '\w+' no longer followed: the controller is unstable"):
        follow(ROBOT, gentle(TWO, period=5.0), Controller(rate=1.0))


@pytest.mark.parametrize("angle", [-1.5, -0.5])
def test_a_weak_controller_is_told_from_an_unstable_one(angle: float) -> None:
    stands = Trajectory(np.linspace(0.0, 5.0, 11), np.tile([angle, 0.0], (11, 1)))
    with pytest.raises(LostError, match="too weak; raise the bandwidth"):
        follow(ROBOT, stands, Controller(controller=ControlLaw.PD, bandwidth=0.02, saturates=False))


def test_gravity_beyond_the_effort_limit_is_named() -> None:
    heavy = SimulatedRobot.of(ARM.model, 20.0 * ARM.parameters)
    with pytest.raises(LostError, match=r"gravity alone takes \d+.* at joint 'shoulder_lift_joint', .* limit is 150"):
        follow(heavy, gentle(UR5, period=4.0), Controller(), nominal=heavy)


def test_times_in_the_lead_in_are_counted_from_its_beginning() -> None:
    with pytest.raises(LostError, match=r"stopped at \d\.\d+ s into the lead-in") as caught:
        follow(ROBOT, gentle(TWO), Controller(bandwidth=2000.0), start=np.array([0.5, 0.5]), lead_in=2.0)
    assert -2.0 <= caught.value.time < 0.0


@pytest.mark.parametrize("lead_in", [0.0, 1.0])
@pytest.mark.parametrize("length", [1, 3])
def test_a_start_for_another_robot_is_one_sentence(lead_in: float, length: int) -> None:
    with pytest.raises(DynidError, match=rf"the start must have the shape \(2,\).*\({length},\)"):
        follow(ROBOT, gentle(TWO), start=np.zeros(length), lead_in=lead_in)


def test_more_ticks_than_memory_holds_are_refused() -> None:
    with pytest.raises(DynidError, match=r"ticks of 2 joints, and at most .* lower the rate"):
        follow(ROBOT, gentle(TWO, period=5.0), Controller(rate=1e7))


def test_motion_without_inertia_is_found_whatever_its_scale() -> None:
    small = np.diag([1e-9, 10.0, 1e-6])
    assert without_inertia(small) is None
    pair = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1e-9]])
    assert without_inertia(pair) in (0, 1)
    assert without_inertia(np.diag([1.0, 1.0, -1e-12])) == 2


def test_a_robot_settles_before_its_periods_are_logged() -> None:
    t = np.linspace(0.0, 2.0005, 201)  # no whole number of ticks
    q = 0.3 * np.sin(2 * np.pi * t / t[-1])[:, None] ** 3 * np.array([1.0, -0.5])
    trajectory = Repeated(Trajectory(t, q), 2)
    controller = Controller(controller=ControlLaw.PD_GRAVITY, bandwidth=2.0)
    gaps = []
    for settling in (0.0, 2.0005):
        run = follow(ROBOT, trajectory, controller, settling=settling)
        again = np.column_stack([np.interp(run.time[:2000] + t[-1], run.time, column) for column in run.q.T])
        gaps.append(np.abs(again - run.q[:2000]).max())
    assert np.allclose(run.reference[0], trajectory.states(np.zeros(1))[0][0])
    assert gaps[1] < 1e-3 * gaps[0]
