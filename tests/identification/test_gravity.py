"""Gravity parameters from rests, slow motion and controllers; two stages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, settings
from typer.testing import CliRunner

import dynid
from dynid import DynamicModel, Log, Observed, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.cli import app
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.model.sampling import random_states
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.pinocchio import to_pinocchio
from tests.lecture_arm import COEFFICIENTS, Lecture, coverage, draw
from tests.strategies import SINGLE, descriptions

LECTURE = Lecture.load()
TWO_LINK = load_robot("builtin:two_link")


def test_thirty_noisy_postures_give_the_lectures_coefficients() -> None:
    """The four large coefficients of De Luca's lecture are significant, and intervals hold the truth as they say."""
    large = np.abs(list(COEFFICIENTS.values())) > 0.02
    estimate, C = draw(LECTURE, 0)
    values, stds = C @ estimate.values, np.sqrt(np.diag(C @ estimate.covariance @ C.T))
    errors = values - np.array(list(COEFFICIENTS.values()))
    assert (np.abs(errors)[large] < 2.0 * stds[large]).all()
    assert (np.abs(values)[large] > 2.0 * stds[large]).all()
    assert len(estimate.insignificant) >= 5
    found = coverage(LECTURE, 40, seed=100)
    assert 0.925 < found.covered.mean() < 0.975
    assert found.significant[large].all()
    assert found.significant[~large].mean() < 0.2


def test_given_gravity_torques_give_all_twelve_exactly() -> None:
    estimate, C = draw(LECTURE, 2, noise=0.0)
    np.testing.assert_allclose(C @ estimate.values, list(COEFFICIENTS.values()), atol=1e-9)
    assert len(estimate.base) == 12
    assert estimate.stds.max() == 0.0


def test_mass_matrices_give_every_parameter_that_they_determine() -> None:
    model, rng = DynamicModel(LECTURE.robot), np.random.default_rng(0)
    q = rng.uniform(-2.0, 2.0, (30, 7))
    M, g = model.mass_matrices(q, LECTURE.parameters), (model.regressor(q) @ LECTURE.parameters).T
    alone = dynid.identify_from_matrices(LECTURE.robot, q, mass_matrix=M)
    both = dynid.identify_from_matrices(LECTURE.robot, q, mass_matrix=M, gravity=g)
    assert (len(alone.base), len(both.base)) == (39, 43)  # 43: the full model of the lecture's arm
    for found in (alone, both):
        np.testing.assert_allclose(found.values, found.base.to_base(LECTURE.parameters), atol=1e-9)


@given(descriptions((*SINGLE,), max_joints=4))
@settings(max_examples=6)
def test_pinocchios_matrices_of_random_robots_give_their_parameters(description: Description) -> None:
    """Prismatic joints, branches and massless links; mass matrices and gravity torques are Pinocchio's own."""
    robot = assemble(description)
    assume(len(robot.independent_joints) == len(robot.joints))
    model, reference = DynamicModel(robot), to_pinocchio(robot)
    base = find_base_parameters(model)
    assume(len(base) > 0)
    q = random_states(model, 60, np.random.default_rng(1))[0]
    data = reference.createData()
    order = [reference.joints[reference.getJointId(joint.name)].idx_v for joint in robot.independent_joints]
    M, g = np.zeros((60, robot.nv, robot.nv)), np.zeros((60, robot.nv))
    for k, one in enumerate(q):
        at = np.zeros(robot.nv)
        at[order] = one
        whole = pin.crba(reference, data, at)
        whole = np.triu(whole) + np.triu(whole, 1).T
        M[k], g[k] = whole[np.ix_(order, order)], pin.computeGeneralizedGravity(reference, data, at)[order]
    found = dynid.identify_from_matrices(robot, q, mass_matrix=M, gravity=g)
    np.testing.assert_allclose(found.values, base.to_base(robot.parameters), atol=1e-7)


def rests(postures: Array, noise: float = 0.0, friction: float = 0.0) -> Log:
    """A log of the two-link arm that holds each posture for 0.6 s, twice, from below and from above."""
    rng, rate = np.random.default_rng(0), 100.0
    parts, signs = [], []
    for posture in postures:
        for side in (-1.0, 1.0):
            way = posture + side * 0.05 * np.linspace(1.0, 0.0, 20)[:, None] ** 2
            parts += [way, np.repeat(posture[None], 60, axis=0)]
            signs += [np.full((80, 2), -side)]
        parts.append(np.linspace(posture, posture + 0.3, 30))
        signs.append(np.ones((30, 2)))
    q, sign = np.concatenate(parts), np.concatenate(signs)
    tau = DynamicModel(TWO_LINK).inverse_dynamics(q) + friction * sign + noise * rng.normal(size=q.shape)
    return Log(time=np.arange(len(q)) / rate, position=q, torque=tau)


def test_static_friction_cancels_out_where_postures_are_approached_from_both_sides() -> None:
    log = rests(np.random.default_rng(3).uniform(-1.5, 1.5, (8, 2)), friction=2.0)
    found = dynid.identify_gravity(TWO_LINK, log)
    assert "8 static postures, 8 of them from both sides" in found.source
    assert not found.findings
    once = dynid.identify_gravity(TWO_LINK, [log[:80], log[190:270], log[380:460]])
    assert [finding.code for finding in once.findings] == ["rests-from-one-side"]
    np.testing.assert_allclose(found.values, found.base.to_base(TWO_LINK.parameters), atol=1e-6)


def slow(noise: float, seed: int, friction: tuple[float, float] = (1.0, 0.5)) -> Log:
    """A log of slow motion to and fro with Coulomb friction."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 120.0, 0.1)
    q = np.stack([1.5 * np.sin(0.11 * t), 1.2 * np.sin(0.17 * t + 1.0)], axis=1)
    v = np.stack([0.165 * np.cos(0.11 * t), 0.204 * np.cos(0.17 * t + 1.0)], axis=1)
    tau = DynamicModel(TWO_LINK).inverse_dynamics(q) + np.sign(v) * friction
    white = np.cumsum(rng.normal(size=(len(t) + 10, 2)), axis=0)
    drift = (white[10:] - white[:-10]) / np.sqrt(10.0)
    return Log(time=t, position=q, velocity=v, torque=tau + noise * drift)


def test_slow_motion_gives_gravity_and_friction_with_intervals_for_autocorrelated_errors() -> None:
    found = [dynid.identify_gravity(TWO_LINK, slow(0.2, k), terms=["coulomb"], slow=True) for k in range(20)]
    truth = np.concatenate([found[0].base.to_base(np.concatenate([TWO_LINK.parameters, [0, 0]])), [1.0, 0.5]])
    assert found[0].nuisance == ("fs1", "fs2")
    held = [np.abs(one.values - truth) <= one.half_widths for one in found]
    assert np.mean(held) > 0.88  # 120 intervals of 95 %; white errors would give 0.6
    assert np.abs(found[0].values - truth).max() < 0.1


def motion(noise: float = 0.1, bias: float = 0.0) -> Log:
    """A log of motion with Coulomb friction; the bias is a torque that no model has."""
    t = np.arange(0.0, 10.0, 0.02)
    q = np.stack([0.8 * np.sin(1.1 * t) + 0.3 * np.sin(3 * t), np.cos(1.7 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    model = DynamicModel(TWO_LINK, ["coulomb"])
    p = np.concatenate([TWO_LINK.parameters, [1.0, 0.5]])
    tau = model.inverse_dynamics(q, v, np.gradient(v, t, axis=0), p)
    tau = tau + noise * np.random.default_rng(1).normal(size=tau.shape) + bias * np.cos(q)
    return Log(time=t, position=q, torque=tau, name="motion")


def test_static_logs_count_in_identify_and_are_saved(tmp_path: Path) -> None:
    static = replace(rests(np.random.default_rng(3).uniform(-1.5, 1.5, (8, 2)), noise=0.05), static=True, name="rests")
    alone = dynid.identify(TWO_LINK, motion(), ["coulomb"], physical={"fit": False}, estimation={"bootstrap": False})
    both = dynid.identify(
        TWO_LINK, [motion(), static], ["coulomb"], physical={"fit": False}, estimation={"bootstrap": False}
    )
    of_both = {row.name: row for row in both.record.parameters}
    of_alone = {row.name: row for row in alone.record.parameters}
    assert of_both["mz1"].std < 0.8 * of_alone["mz1"].std
    assert abs(of_both["mz1"].value - 0.375) < 4.0 * of_both["mz1"].std
    both.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    assert again.relative_error == pytest.approx(both.relative_error)
    with pytest.raises(DynidError, match="static postures"):
        dynid.validate(both, static)
    gravity = dynid.identify_gravity(TWO_LINK, static, terms=["coulomb"])
    merged = dynid.identify_in_stages(gravity, alone, hold=False)
    of_merged = dict(zip(merged.names, merged.values, strict=True))
    for name, row in of_both.items():  # two ways to the same optimum, up to how noise is estimated
        assert abs(of_merged[name] - row.value) < of_alone[name].std


def test_held_static_values_are_kept_and_their_covariance_is_carried_over() -> None:
    """Where the model of the motion lacks a torque, held values stay right, and merged ones do not."""
    q = np.random.default_rng(5).uniform(-1.5, 1.5, (30, 2))
    tau = DynamicModel(TWO_LINK).inverse_dynamics(q) + 0.05 * np.random.default_rng(6).normal(size=q.shape)
    gravity = dynid.identify_gravity(TWO_LINK, q, tau, terms=["coulomb"])
    poor = dynid.identify(
        TWO_LINK, motion(bias=1.0), ["coulomb"], physical={"fit": False}, estimation={"bootstrap": False}
    )
    held, merged = (dynid.identify_in_stages(gravity, poor, hold=hold) for hold in (True, False))
    own = [held.names.index(name) for name in gravity.names]
    np.testing.assert_allclose(held.values[own], gravity.values, atol=1e-9)
    np.testing.assert_allclose(held.stds[own], gravity.stds, rtol=1e-6)
    truth = poor.base.to_base(np.concatenate([TWO_LINK.parameters, [1.0, 0.5]]))
    assert np.abs(held.values - truth)[own].max() < 0.3 * np.abs(merged.values - truth)[own].max()
    assert (held.stds >= merged.stds - 1e-12).all()
    exact = replace(gravity, covariance=0.0 * gravity.covariance)
    others = [k for k in range(len(held.names)) if k not in own]
    assert (dynid.identify_in_stages(exact, poor).stds[others] < held.stds[others]).any()


def test_the_command_reads_postures_row_by_row(tmp_path: Path) -> None:
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 2))
    table = np.column_stack([np.arange(20.0), q, DynamicModel(TWO_LINK).inverse_dynamics(q)])
    header = "t,q_joint_1,q_joint_2,tau_joint_1,tau_joint_2"
    np.savetxt(tmp_path / "p.csv", table, delimiter=",", header=header, comments="")
    ran = CliRunner().invoke(app, ["gravity", "builtin:two_link", str(tmp_path / "p.csv"), "--rows", "--json"])
    assert ran.exit_code == 0, ran.output
    found = {row["name"]: row["value"] for row in json.loads(ran.stdout)["parameters"]}
    assert found["mx1"] == pytest.approx(0.75, abs=1e-9)
    shown = CliRunner().invoke(app, ["gravity", "builtin:two_link", str(tmp_path / "p.csv"), "--rows"])
    assert "mx1 + 0.5*m2" in shown.output
    untimed = header.removeprefix("t,")
    np.savetxt(tmp_path / "u.csv", table[:7, 1:], delimiter=",", header=untimed, comments="")
    ran = CliRunner().invoke(app, ["gravity", "builtin:two_link", str(tmp_path / "u.csv"), "--rows", "--json"])
    assert ran.exit_code == 0, ran.output
    assert {row["name"]: row["value"] for row in json.loads(ran.stdout)["parameters"]} == pytest.approx(found, abs=1e-9)
    ran = CliRunner().invoke(app, ["gravity", "builtin:two_link", str(tmp_path / "u.csv"), "--rows", "--slow"])
    assert ran.exit_code == 2
    text = """robot = "builtin:two_link"
[[log]]
position = { file = "u.csv", columns = "q_*" }
torque = { file = "u.csv", columns = "tau_*" }
static = "rows"
"""
    (tmp_path / "e.toml").write_text(text)
    assert dynid.identify_gravity(tmp_path / "e.toml").values[0] == pytest.approx(0.75, abs=1e-9)
    (tmp_path / "e.toml").write_text(text + "[drive]\ntorque_constants = 'unknown'\n")
    with pytest.raises(DynidError, match="torque_constants"):
        dynid.identify_gravity(tmp_path / "e.toml")


Q = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: dynid.identify_gravity(TWO_LINK, Q, np.zeros((3, 1))), InvalidRequestError),
        (lambda: dynid.identify_gravity(TWO_LINK, Q, np.zeros((3, 2))), NotIdentifiableError),
        (lambda: dynid.identify_gravity(TWO_LINK, motion()), InvalidRequestError),
        (lambda: dynid.identify_gravity(TWO_LINK, []), InvalidRequestError),
        (lambda: dynid.identify_from_matrices(TWO_LINK, Q), InvalidRequestError),
        (lambda: dynid.identify_from_matrices(TWO_LINK, Q, mass_matrix=np.zeros((3, 2))), InvalidRequestError),
        (
            lambda: dynid.identify_from_matrices(TWO_LINK, Q, mass_matrix=np.zeros((3, 2, 2)), terms=["viscous"]),
            InvalidRequestError,
        ),
        (lambda: dynid.identify(TWO_LINK, [replace(motion(), static=True)]), InvalidRequestError),
    ],
)
def test_what_cannot_be_is_refused(call: object, error: type[DynidError]) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]


def test_gravity_parameters_are_those_of_inspect() -> None:
    base = dynid.identify_gravity(TWO_LINK, np.random.default_rng(0).normal(size=(9, 2)), np.zeros((9, 2))).base
    assert base.names == find_base_parameters(DynamicModel(TWO_LINK, (), Observed.GRAVITY)).names
    assert "Iyy1" in base.no_effect


def test_the_weight_of_a_known_load_is_taken_out_and_an_unknown_one_refused() -> None:
    robot = dynid.load_robot("builtin:two_link")
    load = dynid.Load.of_numbers(2.0, (0.1, 0.0, 0.05))
    q = np.random.default_rng(3).uniform(-2.0, 2.0, (30, robot.nv))
    free, carrying = (dynid.DynamicModel(each).inverse_dynamics(q) for each in (robot, dynid.with_load(robot, load)))
    log = dynid.Log(time=np.arange(30.0), position=q, torque=carrying, static="rows", load=load)
    found, expected = dynid.identify_gravity(robot, log), dynid.identify_gravity(robot, q, free)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    with pytest.raises(dynid.DynidError, match="'tool', which is not known"):
        dynid.identify_gravity(robot, replace(log, load="tool"))
