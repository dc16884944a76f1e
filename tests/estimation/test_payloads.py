"""Loads on factors and wrenches: the algebra against other writings of it, and intervals that hold what they say."""

import cvxpy as cp
import mujoco
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dynid
from dynid import DynamicModel, Load, Robot, find_base_parameters, load_robot, with_load
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.payloads.load_body import LoadBody, body_numbers, compared, consistent, slopes_of_numbers
from dynid.estimation.payloads.load_problem import LOAD, SIZES, LoadFit, LoadPlace, LoadProblem, Session
from dynid.estimation.payloads.wrist_rows import WrenchLog, body_motion, wrench_columns, wrist_fit
from dynid.logs.processing.carried_loads import LoadColumns
from dynid.model import Chunk, joint_torques
from dynid.robot import inertia, place_of_body
from tests.payload_study import BIAS, TRUTH, motion, wrenches
from tests.payload_study import LOAD as TOOL
from tests.strategies import ARMS


@settings(max_examples=10, deadline=None)
@given(robot=ARMS, seed=st.integers(0, 1000))
def test_torques_of_a_load_are_those_of_its_wrench_and_of_the_loaded_robot(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 5, robot.nv))
    link, placement = place_of_body(robot, None)
    load = Load.of_numbers(2.0, rng.normal(size=3), (0.2, 0.01, 0.3, -0.02, 0.03, 0.25))
    chunk = Chunk(q, v, a, np.zeros((5, robot.nv)))
    found = LoadColumns(DynamicModel(robot), link).torques(chunk, load.of_link(robot)[1])
    loaded, bare = (DynamicModel(each).inverse_dynamics(q, v, a) for each in (with_load(robot, load), robot))
    wrench = wrench_columns(body_motion(robot, link, placement, q, v, a)) @ load.parameters
    size = np.abs(loaded).max() + np.abs(found).max() + 1.0
    np.testing.assert_allclose(found, loaded - bare, atol=1e-10 * size)
    np.testing.assert_allclose(found, joint_torques(robot, link, placement, q, wrench), atol=1e-10 * size)


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos="0 0 .3"><joint name="j1" axis="0 0 1"/><inertial pos="0 0 .1" mass="2" diaginertia=".1 .1 .1"/>
<body name="b" pos=".3 0 .1" euler=".3 .2 .1"><joint name="j2" axis="0 1 0"/>
<inertial pos=".1 0 0" mass="1" diaginertia=".1 .1 .1"/>
<body name="c" pos=".2 .1 0"><joint name="j3" type="slide" axis="1 0 0"/>
<inertial pos=".1 0 0" mass="1" diaginertia=".1 .1 .1"/>
<body name="tool" pos=".05 .02 .1" euler=".5 -.2 .7"><site name="s"/>
<inertial pos=".02 -.03 .1" mass="3" fullinertia=".02 .025 .015 .001 -.002 .003"/></body>
</body></body></body></worldbody><sensor><force site="s"/><torque site="s"/></sensor></mujoco>"""


def test_wrenches_are_what_the_sensors_of_mujoco_measure(tmp_path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    robot = load_robot(path)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4, 3))
    link, placement = place_of_body(robot, "tool")
    ours = wrench_columns(body_motion(robot, link, placement, q, v, a)) @ TOOL.parameters
    for k in range(4):
        data.qpos, data.qvel, data.qacc = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.sensordata, ours[k], rtol=1e-9, atol=1e-9)


def test_numbers_of_a_load_and_their_slopes() -> None:
    np.testing.assert_allclose(body_numbers(TOOL.parameters), TRUTH, atol=1e-15)
    p, step = TOOL.parameters, 1e-6
    differences = [(body_numbers(p + step * unit) - body_numbers(p - step * unit)) / (2 * step) for unit in np.eye(10)]
    np.testing.assert_allclose(slopes_of_numbers(p), np.stack(differences, axis=1), rtol=1e-6, atol=1e-6)


def test_the_nearest_body_is_that_of_another_solver() -> None:
    rng = np.random.default_rng(0)
    R = np.triu(rng.normal(size=(10, 10)) + 3.0 * np.eye(10)) / SIZES * 20.0
    p = inertia.from_mass_com_inertia(1.0, np.array([0.05, 0.0, 0.1]), np.diag([0.01, 0.02, 0.001]))
    fit = LoadFit(R, R @ p, 0.0, 100, {}, (), ())
    assert not inertia.is_physical(fit.parameters)
    found = consistent(fit)
    x = cp.Variable(10)
    J = sum(x[k] * basis for k, basis in enumerate(inertia.pseudo_inertia_basis()))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(R @ x - R @ p)), [J >> 0])  # pyright: ignore[reportArgumentType]
    problem.solve(solver=cp.CLARABEL)
    assert np.sum((R @ (found - p)) ** 2) <= float(str(problem.value)) * (1.0 + 1e-3) + 1e-3
    assert inertia.is_physical(found, 1e-4)
    assert LoadBody.of(fit).is_moved


def _sessions(seed: int, load: Load, noise: float = 0.02) -> tuple[LoadProblem, list[tuple[list, list]]]:
    """A spatial arm, and orthogonal factors of its rows, from which draws of noise cost little."""
    robot = load_robot("builtin:spatial_3r")
    model = DynamicModel(robot, ["viscous", "coulomb"])
    base, place, parts = find_base_parameters(model), LoadPlace.of(robot), []
    for is_loaded in (False, True):
        states = motion(robot.nv, seed, seconds=4.0, rate=50.0)
        p = np.concatenate([(with_load(robot, load) if is_loaded else robot).parameters, np.full(6, 0.5)])
        W = model.regressor(states.q, states.v, states.a)
        rows = []
        for joint, matrix in enumerate(W):
            Q, R = np.linalg.qr(matrix)
            rows.append((model.row_names[joint], Q, R, matrix @ p))
        parts.append((is_loaded, rows))
    return LoadProblem(base, place, ()), parts


def test_intervals_of_a_load_hold_the_truth_as_often_as_they_promise() -> None:
    load = Load.of_numbers(1.0, (0.05, -0.03, 0.1), (0.02, 0.001, 0.025, -0.002, 0.003, 0.015))
    problem, parts = _sessions(1, load)
    rng, names, held, scores = np.random.default_rng(0), problem.base.model.names, [], []
    for _ in range(80):
        sessions = []
        for is_loaded, rows in parts:
            joints = {}
            for joint, Q, R, exact in rows:
                y = exact + 0.05 * rng.normal(size=len(exact))
                z = Q.T @ y
                joints[joint] = Factor(names, R, z, float(y @ y - z @ z), len(y))
            sessions.append(Session(Factors(names, joints), bool(is_loaded)))
        body = LoadBody.of(LoadProblem(problem.base, problem.place, tuple(sessions)).fit())
        sure = np.isfinite(body.parameter_stds)
        truth = load.parameters
        held.append((np.abs(body.by_data - truth) <= 1.984 * body.parameter_stds)[sure])
        scores.append(compared(body, [1.0, *[None] * 9]).distance)
    assert 0.92 < np.mean(held) < 0.98
    assert 0.7 < np.mean(scores) < 1.4


def test_a_planar_arm_determines_only_what_moves_in_its_plane() -> None:
    robot = load_robot("builtin:two_link")
    model = DynamicModel(robot)
    states = motion(2, 1, seconds=5.0)
    names, sessions = model.names, []
    for is_loaded in (False, True):
        p = (with_load(robot, TOOL) if is_loaded else robot).parameters
        W = model.regressor(states.q, states.v, states.a)
        joints = {name: Factor.of(names, W[k], W[k] @ p) for k, name in enumerate(model.row_names)}
        sessions.append(Session(Factors(names, joints), bool(is_loaded)))
    fit = LoadProblem(find_base_parameters(model), LoadPlace.of(robot), tuple(sessions)).fit()
    sure = {name for name, known in zip(LOAD, fit.determined, strict=True) if known}
    effective = {name.rstrip("2") for name in names[10:] if name not in find_base_parameters(model).no_effect}
    assert sure == effective
    for k, name in enumerate(LOAD):
        if name in sure:
            np.testing.assert_allclose(fit.parameters[k], TOOL.parameters[k], atol=1e-7)


def test_a_sensor_gives_the_load_its_bias_and_its_drift() -> None:
    robot = load_robot("builtin:ur5")
    states = motion(6, 1, seconds=10.0, rate=50.0)
    link, placement = place_of_body(robot, None)
    Y = wrench_columns(body_motion(robot, link, placement, states.q, states.v, states.a))
    rng, exact = np.random.default_rng(1), wrenches(robot, states, TOOL)
    time = states.time - states.time.mean()
    drift = np.outer(time, [0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    w = exact + BIAS + drift + 0.02 * rng.normal(size=exact.shape)
    found = wrist_fit([WrenchLog(Y, w, time, True)])
    assert found.drifts == (("Fz",),)
    body = LoadBody.of(found.fit)
    assert (np.abs(body.numbers - TRUTH) < 4.0 * body.stds).all()
    for channel, bias in zip(("Fx", "Fy", "Fz", "Tx", "Ty", "Tz"), BIAS, strict=True):
        value, std = found.values[f"bias {channel} 0"]
        assert abs(value - bias) < 4.0 * std
    assert dynid.Load is Load
