"""Motors behind a transmission, friction and springs between joints, and springs between links."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.least_squares import weighted_least_squares
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.logs import Transmission
from dynid.model.chunks import Chunk
from dynid.model.terms import Armature, Coupling, Term, parse_terms, specification
from dynid.robot import JointKind, Motor, with_matrix, with_motors
from dynid.robot.joints import JointDynamics
from dynid.simulation.engine import mass_and_bias, start
from dynid.simulation.simulated_robot import SimulatedRobot
from tests.strategies import robots
from tests.transmission_study import AT_MOTORS, TERMS, N, arm, motor_torques, true_robot

SIMPLE = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)


def random_states(robot: Robot, seed: int, samples: int = 7) -> Array:
    """Positions, velocities and accelerations, shape (3, samples, nv)."""
    return np.random.default_rng(seed).normal(size=(3, samples, robot.nv))


@settings(max_examples=15, deadline=None)
@given(robots(SIMPLE, max_joints=5), st.integers(0, 10**6))
def test_motors_behind_any_transmission_act_at_the_motors(robot: Robot, seed: int) -> None:
    assume(robot.nq == robot.nv)
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(robot.nv, robot.nv)) * rng.choice([0.0, 1.0, 30.0], (robot.nv, robot.nv))
    matrix += np.diag(rng.choice([-50.0, 80.0], robot.nv))
    robot = with_matrix(robot, matrix)
    q, v, a = random_states(robot, seed)
    ratios = np.abs(matrix).max(axis=1)
    inertia, viscous, coulomb = rng.uniform(0.1, 1.0, (3, robot.nv))
    at_motors = inertia * (a @ matrix.T) + viscous * (v @ matrix.T) + coulomb * np.sign(v @ matrix.T)
    model = DynamicModel(robot, ["motor_inertia", "motor_viscous", "motor_coulomb"])
    p = np.zeros(len(model.names))
    p[-3 * robot.nv :] = np.concatenate([inertia * ratios**2, viscous * ratios**2, coulomb * ratios])
    torque = model.inverse_dynamics(q, v, a, p)
    assert np.allclose(torque, at_motors @ matrix, rtol=1e-9, atol=1e-9 * np.abs(torque).max())
    base = find_base_parameters(model)
    assert np.allclose(base.regressor(q, v, a) @ base.to_base(p), torque.T, rtol=0, atol=1e-7 * np.abs(torque).max())


def test_a_motor_of_one_joint_has_that_joint_s_parameters_and_coupled_ones_their_own() -> None:
    model = DynamicModel(arm(), ["viscous:1", *TERMS])
    own = ["Ia1", "Ia2", "Ia_motor3", "Ia4", "Ia_motor5", "Ia_motor6"]
    assert list(model.names[60:]) == ["fv1", *own] + [
        name.replace("Ia", symbol) for symbol in ("fv", "fs", "off") for name in own if (symbol, name) != ("fv", "Ia1")
    ]
    assert len(find_base_parameters(DynamicModel(arm(), TERMS)).names) == 57  # docs/transmissions.md explains it


def test_the_coupling_of_the_tx40_is_a_motor_that_turns_with_both_joints() -> None:
    robot = load_robot("builtin:tx40")
    q, v, a = random_states(robot, 3)
    J = 0.3
    motor = DynamicModel(robot, ["motor_inertia:6=45*joint_5+45*joint_6"])
    assert motor.names[-1] == "Ia_motor6"
    coupled = Armature([5, 6]).columns(robot, q, v, a) @ [J, J] + Coupling(5, 6).columns(robot, q, v, a) @ [J, 0, 0]
    assert np.allclose(motor.terms[0].columns(robot, q, v, a) @ [J], coupled, rtol=0, atol=1e-14)


SPECIFIED = (
    "motor_viscous:2=30*joint_1-20.5*joint_2:1=joint_1",
    "viscous:1+2",
    "coulomb:joint_1-joint_2",
    "asymmetric_coulomb:1-2",
    "spring:1-0.5*2@0.25",
    "link_spring:balancer:world@0.0;0.1;0.5:link_2@0.1;0.0;0.2:0.15",
)


@pytest.mark.parametrize("text", SPECIFIED)
def test_terms_come_back_from_their_own_names_and_their_slopes_are_finite_differences(text: str) -> None:
    robot = load_robot("builtin:two_link")
    (term,) = parse_terms([text], robot)
    (again,) = parse_terms([specification(term)], robot)
    q, v, a = random_states(robot, 1)
    term = term.smoothed(0.1)
    assert again.parameters(robot) == term.parameters(robot)
    assert np.array_equal(again.smoothed(0.1).columns(robot, q, v, a), term.columns(robot, q, v, a))
    states = {"q": q, "v": v, "a": a}
    slopes = {}
    for over in "qva":
        found = np.zeros((robot.nv, robot.nv, len(q), len(term.parameters(robot))))
        for row, column, which, coordinate, values in term.slopes(robot, q, v, a):
            if which == over:
                found[coordinate, row, :, column] += values
        slopes[over] = found
    for over, found in slopes.items():
        for k, step in enumerate(1e-6 * np.eye(robot.nv)):
            high, low = (term.columns(robot, **(states | {over: states[over] + sign * step})) for sign in (1.0, -1.0))
            assert np.allclose(found[k], (high - low) / 2e-6, rtol=1e-5, atol=1e-6)


BAD = {
    "nothing states motors": ("motor_inertia", "nothing states the motors"),
    "no motor": ("motor_inertia:3", "no motor"),
    "unknown joint": ("viscous:1-9", "'9'"),
    "no joints": ("viscous:1-", "no combination"),
    "no number": ("spring:1-2@x", "no combination"),
    "cancelled": ("viscous:1-1", "zero"),
    "of single joints": ("stribeck:1-2", "single joints only"),
    "no spring": ("link_spring:a:world@0;0:link_2@0;0;0", "no spring"),
    "no body": ("link_spring:a:world@0;0;0:hand@0;0;0", "hand"),
    "one body": ("link_spring:a:link_2@0;0;1:link_2@0;0;0", "both ends"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_named(case: str) -> None:
    text, words = BAD[case]
    with pytest.raises(DynidError, match=words):
        DynamicModel("builtin:two_link", [text])


TENDONS = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body><joint name="a" axis="0 0 1"/><geom size=".1"/>
<body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".1"/>
<body pos=".3 .1 0"><joint name="c" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/></body></body></body></worldbody>
<tendon><fixed name="t1" armature=".7" damping=".2"><joint joint="b" coef="1"/><joint joint="c" coef=".5"/></fixed>
<fixed name="t2" armature=".4" stiffness="3"><joint joint="b" coef="1"/><joint joint="c" coef="-.5"/></fixed></tendon>
<actuator><motor joint="a" gear="30"/><motor tendon="t1" gear="50"/><motor tendon="t2" gear="40"/></actuator>
</mujoco>"""


def test_motors_on_fixed_tendons_are_mujoco_s(tmp_path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(TENDONS)
    robot = load_robot(path)
    model = DynamicModel(robot, ["motor_inertia", "motor_viscous", "spring:b-0.5*c"])
    p = np.nan_to_num(model.reference)
    assert model.names[-1] == "k_diff2_3"
    p[-1] = 3.0
    m = mujoco.MjModel.from_xml_string(TENDONS)
    data = mujoco.MjData(m)
    for q, v, a in np.random.default_rng(0).normal(size=(3, 3, 3)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(m, data)
        assert np.allclose(model.inverse_dynamics(q, v, a, p)[0], data.qfrc_inverse, rtol=1e-9, atol=1e-9)


def test_an_explicit_rotor_behind_a_gear_is_motor_inertia() -> None:
    # A rotor on the base, on an axis of its own, turns 20 q1 - 30 q2: its kinetic energy is J (20 v1 - 30 v2)^2 / 2.
    robot = with_motors(load_robot("builtin:two_link"), [Motor("joint_2", (("joint_1", 20.0), ("joint_2", -30.0)))])
    model = DynamicModel(robot, ["motor_inertia"])
    q, v, a = random_states(robot, 5)
    n = np.array([20.0, -30.0])
    J = 2e-4
    lagrange = J * np.outer(a @ n, n)
    index = [parameter.name for parameter in model.terms[0].parameters(robot)].index("Ia_motor2")
    assert np.allclose(model.terms[0].columns(robot, q, v, a)[..., index].T * J * 900.0, lagrange)


def test_springs_between_links_are_mujoco_s_tendons_and_simulated_terms_are_the_model_s() -> None:
    robot = arm()
    names = [link.name for link in robot.links]
    terms = ["motor_inertia", "motor_viscous", "motor_offset", "spring:2-0.5*3@0.3", "viscous:5-6"]
    terms += [
        f"link_spring:a:world@0;0;1:{names[2]}@0.1;0.2;0.3:0.15",
        f"link_spring:b:{names[1]}@0;0;0.1:{names[4]}@0.1;0;0",
    ]
    model = DynamicModel(robot, terms)
    p = np.nan_to_num(model.reference)
    p[60:] = np.random.default_rng(0).uniform(0.5, 2.0, len(p) - 60)
    p[-2:] = 300.0, 200.0
    true = SimulatedRobot.of(model, p)
    instance, forces = start(true.plant), true.forces
    for q, v, a in np.random.default_rng(1).normal(size=(3, 3, 6)):
        M, c = np.zeros((6, 6)), np.zeros(6)
        mass_and_bias(instance.engine, q, v, M, c)
        torque = (M + forces.inertia) @ a + c + forces.viscous @ v + forces.stiffness @ q + forces.offset
        assert np.allclose(torque, model.inverse_dynamics(q, v, a, p)[0], rtol=0, atol=1e-10)


def test_motor_side_logs_of_a_differential_wrist_and_a_belt_determine_every_parameter() -> None:
    robot = arm()
    rng = np.random.default_rng(4)
    sine, cosine = 0.7 * rng.normal(size=(2, 6, 5)) / np.arange(1, 6)
    motion = fourier_motion(5.0, np.array([0, -1.2, 1, 0.3, 0.5, 0]), -cosine, sine)
    q, v, a = motion.states(np.arange(0.0, 5.0, 0.001))
    logged = np.tile(motor_torques(robot, q, v, a), (8, 1))
    logged += 10 ** (-50 / 20) * np.sqrt((logged**2).mean(axis=0)) * rng.standard_normal(logged.shape)
    torque = Transmission.of(N.tolist()).joint_torques(logged)
    true = true_robot(robot)
    base = find_base_parameters(true.model)
    states = [np.tile(each, (8, 1)) for each in (q, v, a)]
    found = weighted_least_squares(factorise(true.model, [Chunk(states[0], states[1], states[2], torque)]), base).values
    truth = base.to_base(true.parameters)
    assert np.abs(found / truth - 1.0).max() < 0.01
    assert AT_MOTORS.keys() == set(TERMS)


def test_physical_signs_hold_for_each_motor() -> None:
    robot = arm()
    for term in parse_terms(["motor_inertia", "motor_offset", "viscous:5-6"], robot):
        forms = list(term.quadratic_forms(robot))
        assert isinstance(term, Term)
        assert {name for *_, name in forms} == {
            parameter.name for parameter in term.parameters(robot) if parameter.sign == "nonnegative"
        }


LOOP = """<mujoco><option gravity="0 0 -9.81"><flag equality="disable"/></option><worldbody>
<body name="upper_arm"><joint axis="0 1 0"/><inertial pos=".4 0 .02" mass="8" fullinertia=".01 .02 .03 0 0 0"/>
<body name="forearm" pos=".8 0 0"><joint axis="0 1 0"/>
<inertial pos=".3 0 .02" mass="5" fullinertia=".01 .02 .03 0 0 0"/>
<site name="forearm" pos="-.2 0 0"/></body></body>
<body name="crank"><joint axis="0 1 0"/><inertial pos="-.1 0 .02" mass="2" fullinertia=".01 .02 .03 0 0 0"/>
<body name="rod" pos="-.2 0 0"><joint axis="0 1 0"/><inertial pos=".4 0 .02" mass="1" fullinertia=".01 .02 .03 0 0 0"/>
<site name="rod" pos=".8 0 0"/></body></body></worldbody></mujoco>"""


def test_the_parallelogram_of_the_documentation_is_mujoco_s_loop_cut_open_elsewhere(tmp_path, monkeypatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "transmissions.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[-1], {})
    model = DynamicModel("palletiser.urdf")
    m = mujoco.MjModel.from_xml_string(LOOP)  # the crank on the world: angles q1, q2, q1 + q2 and -q2
    data, G = mujoco.MjData(m), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, -1.0]])
    for q, v, a in np.random.default_rng(0).normal(size=(5, 3, 2)):
        data.qpos[:], data.qvel[:], data.qacc[:] = G @ q, G @ v, G @ a
        mujoco.mj_inverse(m, data)
        assert np.allclose(data.site("forearm").xpos, data.site("rod").xpos, rtol=0, atol=1e-12)
        assert np.allclose(model.inverse_dynamics(q, v, a)[0], G.T @ data.qfrc_inverse, rtol=1e-10, atol=1e-10)


def test_two_motors_on_one_joint_share_one_parameter_which_is_their_sum() -> None:
    robot = load_robot("builtin:two_link")
    first, second = (joint.name for joint in robot.joints)
    rotors = [JointDynamics(armature=each) for each in (1e-4, 3e-4, 2e-4, 1e-4)]
    ratios = [((first, 100.0),), ((first, 50.0),), ((first, 30.0), (second, 60.0)), ((second, 80.0), (first, 10.0))]
    places = (first, first, second, second)
    motors = [Motor(at, own, dynamics=rotor) for at, own, rotor in zip(places, ratios, rotors, strict=True)]
    model = DynamicModel(with_motors(robot, motors), ["motor_inertia", "motor_viscous"])
    assert list(model.names[20:]) == ["Ia1", "Ia_motor2", "Ia_motor2b", "fv1", "fv_motor2", "fv_motor2b"]
    expected = [1e-4 * 100**2 + 3e-4 * 50**2, 2e-4 * 60**2, 1e-4 * 80**2]
    np.testing.assert_allclose(model.reference[21:23], expected[1:])
    q, v, a = random_states(robot, 0)
    p = np.zeros(len(model.names))
    p[20:23] = expected
    turns = [np.array([100.0, 0.0]), np.array([50.0, 0.0]), np.array([30.0, 60.0]), np.array([10.0, 80.0])]
    rotor = [1e-4, 3e-4, 2e-4, 1e-4]
    torque = sum(np.outer(own * (a @ turn), turn) for own, turn in zip(rotor, turns, strict=True))
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a, p), torque, rtol=1e-12)
