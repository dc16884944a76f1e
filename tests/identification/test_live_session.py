"""What the live page shows is what the stream has determined."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.identification.live_samples import LiveSamples
from dynid.identification.live_session import LiveSession
from dynid.identification.live_state import MOST_POINTS, Course
from dynid.identification.stream import Stream
from dynid.logs import Contact, Drive, Stance
from dynid.logs.floating_body import contact_torques
from dynid.logs.streams.inbox import Counts
from dynid.logs.streams.samples import MalformedSampleError, Sample
from dynid.model import DynamicModel, Observed
from tests.changed_arms import parameters, recording, with_payload
from tests.verdict_cases import motion

UR5 = dynid.load_robot("builtin:ur5")
TERMS = ["viscous", "coulomb"]


def samples(seconds: float = 4.0, start: float = 0.0) -> list[Sample]:
    t, q, v, a = motion(seconds=seconds)
    tau = DynamicModel(UR5).inverse_dynamics(q, v, a) + v + np.sign(v)
    return [Sample(start + s, *row) for s, *row in zip(t.tolist(), q, tau, strict=True)]


def session(drive: Drive | None = None) -> LiveSession:
    stream = Stream(UR5, TERMS)
    return LiveSession(stream, LiveSamples(stream.model, drive=drive or Drive()), checks_collisions=False)


def test_the_state_is_that_of_the_stream() -> None:
    live, direct = session(), Stream(UR5, TERMS)
    sent = samples()
    live.include([(sample, k == 0) for k, sample in enumerate(sent)])
    for sample in sent:
        direct.update(sample.time, sample.position, sample.torque)
    state, expected = live.state(Counts()), direct.estimate
    assert state.samples == expected.samples == len(sent)
    assert state.rank == expected.rank
    assert state.segments == pytest.approx(expected.link_information)
    assert state.condition_number == pytest.approx(expected.condition_number, rel=1e-6)
    assert [row.rmse for row in state.rows] == pytest.approx(list(expected.joint_rmse.values()), rel=1e-6, abs=1e-9)
    S = live.information()[0]
    assert np.sqrt(np.linalg.cond(S)) == pytest.approx(expected.condition_number, rel=1e-3)
    measured = np.array([sample.torque for sample in sent])
    ratio = np.array([row.rmse / row.relative_error for row in state.rows])  # type: ignore[operator]
    assert np.allclose(ratio, np.sqrt(np.mean(measured**2, axis=0)), rtol=0.2)  # filtered, and without the beginning


def test_a_sender_that_starts_again_goes_on() -> None:
    live = session()
    live.include([(sample, k == 0) for k, sample in enumerate(samples(1.0, start=100.0))])
    live.include([(sample, k == 0) for k, sample in enumerate(samples(1.0))])
    state = live.state(Counts())
    assert state.samples == 2 * len(samples(1.0))
    assert state.seconds == pytest.approx(3.0, abs=0.1)
    assert live.stream.restarts >= 1


def test_drives_are_taken_to_the_joints() -> None:
    drive = Drive(positions="motor", torques="motor", ratios=(10.0,) * 6, torque_constants=(0.5,) * 6)
    live, direct = session(drive), session()
    sent = samples(2.0)
    for one, scaled in ((live, True), (direct, False)):
        given = [
            Sample(s.time, 10.0 * s.position, s.torque / 5.0) if scaled and s.torque is not None else s for s in sent
        ]
        one.include([(sample, k == 0) for k, sample in enumerate(given)])
    assert np.allclose(live.posture, direct.posture)
    assert np.allclose(live.estimate.values, direct.estimate.values, rtol=1e-6, atol=1e-6)


def test_proposals_follow_the_data() -> None:
    live = session()
    assert live.next_step().gain == ""
    first = live.propose()
    live.include([(sample, k == 0) for k, sample in enumerate(samples())])
    live.proposals = None
    found = live.propose()
    assert found.excited > first.excited
    best = found.proposals[0].movement
    assert live.movement is best
    assert live.next_step().text == best.text
    q, seconds = live.way_of(best, 20)
    assert q.shape == (20, 6)
    assert seconds > 0.0


PERSON = dynid.human(sex="female", height=1.7, mass=62.0, markers=[])


def test_a_body_on_a_force_plate_is_determined_by_its_wrench() -> None:
    """The wrench is that which balances Pinocchio's inverse dynamics of the free body."""
    import pinocchio as pin

    from dynid.robot.pinocchio import to_pinocchio

    model = DynamicModel(PERSON, observed=Observed.WRENCH_MOVING)
    stream = Stream(model)
    live = LiveSession(stream, LiveSamples(model, {"left_sole": np.eye(4)}))
    reference, t = to_pinocchio(PERSON), 0.01 * np.arange(400)
    data = reference.createData()
    q = np.repeat(PERSON.neutral[None], len(t), axis=0)
    names = [joint.name for joint in PERSON.axes]
    arm = PERSON.axes[names.index("shoulder_left_abduction")].q.start
    q[:, arm] = 0.8 - 0.8 * np.cos(3.0 * t)
    v, a = np.zeros((len(t), PERSON.nv)), np.zeros((len(t), PERSON.nv))
    v[:, arm - 1], a[:, arm - 1] = 2.4 * np.sin(3.0 * t), 7.2 * np.cos(3.0 * t)
    needed = np.array([pin.rnea(reference, data, *row)[:6] for row in zip(q, v, a, strict=True)])
    columns = [
        contact_torques(PERSON, Contact("left_sole", np.repeat(unit[None], len(t), axis=0), np.eye(4)), q)[:, :6]
        for unit in np.eye(6)
    ]
    wrench = np.linalg.solve(np.stack(columns, axis=2), needed[:, :, None])[:, :, 0]
    assert wrench[0, 2] == pytest.approx(62.0 * 9.81, rel=0.15)
    sent = [
        Sample(s, row[7:], None, None, row[:7], {"left_sole": force})
        for s, row, force in zip(t.tolist(), q, wrench, strict=True)
    ]
    live.include([(live.samples.form.checked(sample), k == 0) for k, sample in enumerate(sent)])
    state = live.state(Counts())
    assert state.segments["upper_arm_left"] > 0.2 > state.segments["upper_arm_right"]  # type: ignore[operator]
    assert max(row.relative_error or 0.0 for row in state.rows) < 0.05


def test_the_base_follows_from_the_body_that_rests() -> None:
    model = DynamicModel(PERSON, observed=Observed(("wrench",), stands_on=("left_sole",)))
    taken = LiveSamples(model, {"left_sole": None}, Stance("left_sole"))
    assert not taken.form.needs_pose
    low = taken.posture(Sample(0.0, PERSON.neutral[7:]))
    bent = PERSON.neutral[7:]
    names = [joint.name for joint in PERSON.axes]
    bent[names.index("knee_left_flexion")] = 1.0
    assert taken.posture(Sample(0.0, bent))[2] < low[2] - 0.05


def test_what_holds_a_free_base_must_be_said() -> None:
    model = DynamicModel(PERSON, observed=Observed.WRENCH_MOVING)
    with pytest.raises(InvalidRequestError, match="--plate"):
        LiveSamples(model)
    with pytest.raises(UnknownNameError):
        LiveSamples(model, {"left_hoof": None})
    with pytest.raises(InvalidRequestError, match="--floating"):
        LiveSamples(DynamicModel(UR5), {"forearm_link": None})


def test_changes_are_shown_with_their_evidence() -> None:
    arm = DynamicModel("builtin:spatial_3r", ["viscous", "coulomb", "offset"])
    t, q, _, _, tau = recording(arm, [(32.0, parameters(arm)), (6.0, with_payload(arm, 1.0))])
    stream = Stream(arm, changes=dynid.ChangeThresholds(learning=10.0))
    live = LiveSession(stream, LiveSamples(arm), checks_collisions=False)
    assert live.state(Counts()).changes.learned == 0.0
    seen = []
    for k in range(0, len(t), 50):
        part = [Sample(*row) for row in zip(t[k : k + 50].tolist(), q[k : k + 50], tau[k : k + 50], strict=True)]
        live.include([(sample, False) for sample in part])
        seen.append(live.state(Counts()).changes)
    last = seen[-1]
    assert [one.learned for one in seen] == sorted(one.learned for one in seen)  # type: ignore[type-var]
    assert last.learned == 1.0
    assert [(alarm.cause, alarm.place) for alarm in last.alarms] == [("payload", arm.robot.links[-1].name)]
    before = [level for time, level in last.course if time < 32.0]
    assert len(before) > 5
    assert max(before) < 1.0 < max(level for _, level in last.course)  # type: ignore[type-var]
    assert last.to_dict()["alarms"][0]["cause"] == "payload"
    assert LiveSession(Stream(arm, changes=None), live.samples).state(Counts()).changes.learned is None


def test_courses_of_peaks_keep_them() -> None:
    course = Course(keeps_peaks=True)
    for k in range(10_000):
        course.add(0.25 * k, 100.0 if k == 5001 else 1.0)
    assert len(course.points) <= MOST_POINTS
    assert [value for _, value in course.points].count(100.0) == 1


def test_the_course_has_its_ends_and_never_many_points() -> None:
    course = Course()
    for k in range(10_000):
        course.add(0.25 * k, 1000.0 / (1 + k) if k > 100 else np.inf)
    assert len(course.points) <= MOST_POINTS
    assert course.points[0] == (0.0, None)
    assert course.points[-1][0] > 0.98 * 2499.75


def test_rows_that_are_not_measured_are_left_out() -> None:
    """A model of some joints' torques takes samples of all, of which the others may have none."""
    wrist = [joint.name for joint in UR5.axes[3:]]
    model = DynamicModel(UR5, TERMS, Observed(tuple(wrist)))
    live, direct = LiveSession(Stream(model), LiveSamples(model), checks_collisions=False), Stream(model)
    form, sent = live.samples.form, samples(3.0)
    assert form.silent == (0, 1, 2)
    blank = [Sample(s.time, s.position, np.concatenate([np.full(3, np.nan), s.torque[3:]])) for s in sent]  # type: ignore[index]
    live.include([(form.checked(sample), k == 0) for k, sample in enumerate(blank)])
    for sample in sent:
        direct.update(sample.time, sample.position, sample.torque[3:])  # type: ignore[index]
    assert np.allclose(live.estimate.values, direct.estimate.values, rtol=1e-6, atol=1e-6)
    assert [row.name for row in live.state(Counts()).rows] == wrist
    with pytest.raises(MalformedSampleError):
        form.checked(Sample(0.0, sent[0].position, np.full(6, np.nan)))
