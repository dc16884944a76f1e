"""People on force plates and balance boards: loads on segments, and the planar body, from Pinocchio's wrenches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import dynid
from dynid import Contact, DynamicModel, Load, Log, Result, Robot, Stance, identify
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.logs.floating_body import FloatingBody
from dynid.logs.processing.signals import eighth_order
from dynid.robot import SIZE, as_robot
from dynid.robot.pinocchio import to_pinocchio
from tests.captured_bodies import captured
from tests.floating_truth import off, true_parameters, with_parameters
from tests.marker_truth import waves
from tests.standing_person import PLATE, plate_wrench, rms


def identified(result: Result) -> Array:
    """Physically consistent links, shape (10 * solid links,)."""
    assert result.physical is not None
    return np.array([result.physical.values[name] for name in DynamicModel(result.robot).names])


LOADS = (
    None,
    Load(2.5, np.array([0.03, 0.06, -0.2]), np.diag([4e-3, 4e-3, 1e-3]), "thigh_left"),
    Load(1.0, np.array([0.0, 0.0, -0.2]), body="forearm_right"),
)
"""Nothing, and known masses that are strapped to segments."""


def loaded_logs(robot: Robot, links: Array) -> list[Log]:
    """A motion without and with each load, the wrench on a force plate, all exactly measured."""
    t, q = waves(robot, 12.0, seed=1, share=0.3)
    rate = np.gradient(q, t, axis=0)
    q, v, a = robot.motion_of(q, rate, np.gradient(rate, t, axis=0))
    logs = []
    for load in LOADS:
        own = links.reshape(-1, SIZE).copy()
        if load is not None:
            link, added = load.of_link(robot)
            own[robot.solid_links.index(link)] += added
        wrench = plate_wrench(with_parameters(robot, own.ravel()), q, v, a)
        contacts = [Contact("foot_left", wrench, PLATE)]
        logs.append(Log(time=t, position=q[:, 7:], base_pose=q[:, :7], contacts=contacts, load=load))
    return logs


def test_known_masses_on_segments_are_taken_out_of_the_wrench_of_a_force_plate() -> None:
    robot = dynid.human(sex="female", height=1.75, mass=70.0, markers=[])
    links = true_parameters(robot, 1)
    logs = loaded_logs(robot, links)
    plain = {"estimation": {"bootstrap": 0}, "physical": {"weight": 10.0}}
    found = identified(identify(robot, logs, **plain))
    undeclared = identified(identify(robot, [replace(log, load=None) for log in logs], **plain))
    _, q = waves(robot, 4.0, seed=2, share=0.4)
    still = np.zeros((len(q[::20]), robot.nv))
    true = plate_wrench(with_parameters(robot, links), q[::20], still, still)

    def errors(parameters: Array) -> tuple[float, float]:
        return rms(plate_wrench(with_parameters(robot, parameters), q[::20], still, still) - true)

    table = errors(robot.parameters)
    assert errors(found)[0] < 0.02 * table[0]
    assert errors(found)[1] < 0.02 * table[1]
    assert found[::SIZE].sum() == pytest.approx(links[::SIZE].sum(), abs=1e-3)
    assert undeclared[::SIZE].sum() > links[::SIZE].sum() + 0.5


def test_markers_and_plates_identify_a_person_whose_segments_are_off_the_table() -> None:
    """Noise of 1 mm and 1 N; the table is of another mass, too."""
    table = dynid.human(sex="female", height=1.68, mass=62.0)
    seen = captured(1, segments=4)
    log = dynid.log_of_capture(table, seen.noisy(1).at(slice(None, None, 2)))
    result = identify(table, log, estimation={"bootstrap": 0})
    found, true = identified(result), true_parameters(table, 4)
    assert abs(table.parameters[::SIZE].sum() / true[::SIZE].sum() - 1.0) > 0.01
    assert found[::SIZE].sum() == pytest.approx(true[::SIZE].sum(), rel=0.005)
    q = captured(2, segments=4).q  # unseen motion, exactly known
    states = table.motion_of(q, eighth_order(q, 100.0), eighth_order(q, 100.0, 2))
    model = DynamicModel(table, observed="wrench_moving")
    wanted = model.inverse_dynamics(*states, true)
    before, after = (rms(model.inverse_dynamics(*states, p) - wanted) for p in (table.parameters, found))
    assert after[0] < before[0] / 2
    assert after[1] < before[1] / 2


def squats(robot: Robot) -> tuple[Array, Array, Array, Array]:
    """Times and states of a planar body in which ankles, knees and hips swing together."""
    t, swings = waves(robot, 40.0, seed=4, share=1.0)
    q = np.tile(robot.neutral, (len(t), 1))
    size = np.array([0.1, 0.3, 0.4])
    q[:, 7:] = np.array([0.1, 0.5, 0.8]) + size * (swings[:, 7:] - swings[:, 7:].mean(axis=0)) / np.ptp(
        swings[:, 7:], axis=0
    )
    v = np.zeros((len(t), robot.nv))
    v[:, 6:] = np.gradient(q[:, 7:], t, axis=0)
    return t, q, v, np.asarray(np.gradient(v, t, axis=0))


SIDEWAYS = dict.fromkeys([f"{symbol}{i}" for i in range(4) for symbol in ("my", "Ixy", "Iyz")], 0.0)
"""Parameters that are zero because both sides are alike."""


def test_a_balance_board_identifies_the_planar_body() -> None:
    rng = np.random.default_rng(2)
    robot = as_robot(dynid.human(sex="male", height=1.80, mass=80.0, planar=True), floating_base=True)
    links = np.array([off(link, rng) for link in robot.parameters.reshape(-1, SIZE)])
    links *= 80.0 / links[:, 0].sum()
    links[:, [2, 5, 8]] = 0.0  # symmetric
    t, q, v, a = squats(robot)
    model = to_pinocchio(with_parameters(robot, links.ravel()))
    data = model.createData()
    wrench = np.array([pin.rnea(model, data, *state)[:6] for state in zip(q, v, a, strict=True)])
    force = wrench[:, 2] + rng.normal(size=len(t))
    centre = np.stack([-wrench[:, 4], wrench[:, 3]], axis=1) / wrench[:, 2:3] + 5e-4 * rng.normal(size=(len(t), 2))
    angles = q[:, 7:] + 1e-3 * rng.normal(size=(len(t), 3))
    board = Contact.of_pressure("feet", force, centre)
    log = Log(time=t, position=angles, stance=Stance("feet", np.eye(4)), contacts=[board])
    counted = FloatingBody(DynamicModel(robot)).measured(log)
    assert counted is not None
    assert np.any(counted, axis=0).tolist()[:6] == [False, False, True, True, True, False]
    result = identify(robot, log, known=SIDEWAYS)
    assert len(result.parameters) == 11
    found = identified(result).reshape(-1, SIZE)
    assert found[:, 0].sum() == pytest.approx(80.0, rel=5e-4)
    W = DynamicModel(robot, (), dynid.Observed.WRENCH_MOVING).regressor(q[::20], v[::20], a[::20])

    def error(parameters: Array) -> Array:
        return np.sqrt(np.mean((W @ (parameters - links).ravel()) ** 2, axis=1))

    table, own = error(robot.parameters.reshape(-1, SIZE)), error(found)
    for channel in (0, 2, 4):  # the forward force, too, which no board measures
        assert own[channel] < 0.15 * table[channel]


def test_rows_do_not_count_on_which_a_channel_acts_that_was_not_measured() -> None:
    robot = as_robot(dynid.human(sex="male", height=1.80, mass=80.0, planar=True), floating_base=True)
    t, q, *_ = squats(robot)
    some, high = slice(0, 200), np.eye(4)
    high[2, 3] = 0.3

    def rows(channels: tuple[str, ...], pose: Array) -> list[bool]:
        contact = Contact("feet", np.ones((200, 6)), pose, channels)
        log = Log(time=t[some], position=q[some, 7:], stance=Stance("feet", np.eye(4)), contacts=[contact])
        mask = FloatingBody(DynamicModel(robot)).measured(log)
        assert mask is not None
        return np.all(mask, axis=0).tolist()[:6]

    assert rows(("Fz", "Tx", "Ty"), np.eye(4)) == [False, False, True, True, True, False]
    assert rows(("Fz", "Tx", "Ty"), high) == [False, False, True, False, False, False]  # levers of Fx and Fy
    assert rows(("Fx", "Fy", "Fz", "Tx", "Ty"), np.eye(4)) == [True, True, True, True, True, False]


def test_channels_of_a_contact_are_named_once_and_its_wrench_may_have_them_alone() -> None:
    short = Contact("feet", np.array([[1.0, 2.0]]), channels=("Tz", "Fx"))
    assert short.wrench is not None
    assert short.wrench.tolist() == [[2.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    assert short.is_in_part
    assert not Contact("feet", np.zeros((1, 6)), channels=("Tz", "Ty", "Tx", "Fz", "Fy", "Fx")).is_in_part
    with pytest.raises(UnknownNameError):
        Contact("feet", None, channels=("Fz", "Mx"))
    for wrong in ((), ("Fz", "Fz"), "Fz", 3):
        with pytest.raises(InvalidRequestError):
            Contact("feet", None, channels=wrong)  # type: ignore[arg-type]
    for force, centre in (([700.0], [[0.1, 0.0], [0.1, 0.0]]), ([[700.0]], [[0.1, 0.0]])):
        with pytest.raises(ShapeError):
            Contact.of_pressure("feet", force, centre)
