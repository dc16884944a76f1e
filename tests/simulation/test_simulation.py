"""The simulated robot does what the model says, in an engine that we did not write."""

from __future__ import annotations

import os
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, DynidError, load_robot
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, Offset, Spring, Term, Viscous, parse_terms
from dynid.robot.assembly import assemble
from dynid.robot.loading import builtin_names
from dynid.simulation.closed_loop import LostError, Run, SimulatedRobot, follow
from dynid.simulation.engine import mass_and_bias, start
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.plant import Plant
from dynid.simulation.settings import ControlLaw, Controller
from dynid.simulation.simulated_robot import nominal_robot, stated_terms
from tests.references import assert_same_torques, example_robot_files
from tests.simulated import gentle
from tests.strategies import URDF_KINDS, descriptions

UR5 = load_robot("builtin:ur5")
FRICTION = DynamicModel(UR5, [Viscous(), Coulomb(), Armature()])


def model_torques(robot: SimulatedRobot, run: Run) -> np.ndarray:
    return robot.model.inverse_dynamics(run.q, run.v, run.a, robot.parameters)


@settings(max_examples=25)
@given(descriptions(kinds=URDF_KINDS), st.integers(0, 1000))
def test_mass_matrix_and_bias_forces_of_mujoco_are_the_models(description, seed: int) -> None:
    robot = assemble(description)
    q, v, a = (values[0] for values in random_states(DynamicModel(robot), 1, np.random.default_rng(seed)))
    M, c = np.zeros((robot.nv, robot.nv)), np.zeros(robot.nv)
    mass_and_bias(start(Plant(robot, robot.parameters)).engine, q, v, M, c)
    assert_same_torques((M @ a + c)[None], DynamicModel(robot).inverse_dynamics(q, v, a))


def test_link_parameters_need_not_be_physical() -> None:
    p = UR5.parameters * np.random.default_rng(0).normal(size=len(UR5.parameters))
    q, v, a = np.random.default_rng(1).normal(size=(3, 6))
    M, c = np.zeros((6, 6)), np.zeros(6)
    mass_and_bias(start(Plant(UR5, p)).engine, q, v, M, c)
    assert_same_torques((M @ a + c)[None], DynamicModel(UR5).inverse_dynamics(q, v, a, p))


@given(st.integers(0, 1000))
def test_joint_forces_are_the_terms_of_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms: list[Term] = [Viscous(), Coulomb([1, 2]), AsymmetricCoulomb([4]), Offset(), Armature([1, 3]), Spring([2])]
    model = DynamicModel(UR5, [*terms, Coupling(5, 6, ratio=0.7)])
    p = rng.uniform(0, 1, len(model.names))
    p[:60] = 0.0
    q, v, a = rng.normal(size=(3, 1, 6))
    forces = JointForces.of(model, p)
    w = forces.direction @ v[0]
    friction = np.where(w > 0, forces.kinetic[:, 0], -forces.kinetic[:, 1])
    found = forces.inertia @ a[0] + forces.viscous @ v[0] + forces.stiffness @ q[0] + forces.offset
    assert np.allclose(found + forces.direction.T @ friction, model.inverse_dynamics(q, v, a, p)[0], rtol=1e-12)


@pytest.mark.parametrize("law", list(ControlLaw))
def test_logged_torques_are_the_models_and_mujocos_inverse_dynamics_at_every_sample(law: ControlLaw) -> None:
    p = np.nan_to_num(FRICTION.reference) + np.array([0.5 * name.startswith("fv") for name in FRICTION.names])
    robot = SimulatedRobot.of(FRICTION, p)
    run = follow(robot, gentle(UR5), Controller(controller=law, bandwidth=5.0), log_rate=200.0)
    slips = ~run.rests
    found, scale = model_torques(robot, run), np.abs(run.torque).max()
    assert (np.abs(found - run.torque) * slips).max() < 1e-12 * scale
    model = robot.plant.compile()
    model.dof_armature[:] = np.diag(robot.forces.inertia)
    data = mujoco.MjData(model)
    for k in range(0, len(run.q), 10):
        data.qpos[:], data.qvel[:], data.qacc[:] = run.q[k], run.v[k], run.a[k]
        mujoco.mj_inverse(model, data)
        theirs = data.qfrc_inverse + robot.forces.viscous @ run.v[k] + robot.forces.kinetic[:, 0] * np.sign(run.v[k])
        assert (np.abs(theirs - run.torque[k]) * slips[k]).max() < 1e-6 * scale


def energy(robot: SimulatedRobot, q: np.ndarray, v: np.ndarray) -> float:
    """Potential energy as MuJoCo gives it, and kinetic energy with motor inertia [J]."""
    instance = start(robot.plant)
    M, c = np.zeros((len(v), len(v))), np.zeros(len(v))
    mass_and_bias(instance.engine, np.array(q), np.array(v), M, c)
    mujoco.mj_energyPos(instance.model, instance.data)
    return float(instance.data.energy[0] + 0.5 * v @ (M + robot.forces.inertia) @ v)


def imbalance(robot: SimulatedRobot, step: float) -> float:
    """What is missing in: gain of energy = work of the motors - work into friction [J]."""
    controller = Controller(controller=ControlLaw.PD, bandwidth=2.0, rate=50.0)
    run = follow(robot, gentle(UR5, seed=2, period=4.0), controller, finest_step=step)
    gain = energy(robot, run.q[-1], run.v[-1]) - energy(robot, run.q[0], run.v[0])
    return abs(gain - run.work[-1] + run.loss[-1])


@pytest.mark.parametrize(
    ("terms", "options", "order"),
    [
        ([Armature()], {}, 4),
        ([Viscous(), Armature()], {}, 4),
        ([Coulomb(), Armature()], {}, 4),
        ([Coulomb(), Armature()], {"stribeck": (1.5, 0.5)}, 4),
        ([Coulomb(), Armature()], {"smoothing": 0.5}, 4),
    ],
    ids=["rigid", "viscous", "coulomb", "stribeck", "smooth"],
)
def test_energy_is_conserved_to_the_order_of_the_integrator(terms: list[Term], options: dict, order: int) -> None:
    model = DynamicModel(UR5, terms)
    p = np.nan_to_num(model.reference) + np.array([2.0 * name.startswith("fv") for name in model.names])
    robot = SimulatedRobot.of(model, p, **options)
    coarse, fine = imbalance(robot, 0.005), imbalance(robot, 0.0025)
    assert coarse < 1e-5
    assert coarse / fine > 0.7 * 2**order


def test_steep_friction_is_of_order_two() -> None:
    model = DynamicModel(UR5, [Viscous(), Armature()])
    p = np.nan_to_num(model.reference) + np.array([100.0 * name.startswith("fv") for name in model.names])
    robot = SimulatedRobot.of(model, p)
    runs = [
        follow(
            robot,
            gentle(UR5),
            Controller(controller=ControlLaw.PD_GRAVITY, bandwidth=2.0, rate=100.0, saturates=False),
            finest_step=h,
        )
        for h in (2e-3, 1e-3, 1e-4)
    ]
    coarse, fine = (np.abs(run.q - runs[2].q).max() for run in runs[:2])
    assert fine < 1e-4
    assert coarse / fine > 3.0


def test_dry_friction_holds_a_joint_exactly_until_it_breaks_away() -> None:
    model = DynamicModel(load_robot("builtin:pendulum"), [Coulomb()])
    p = np.nan_to_num(model.reference)
    p[model.names.index("fs1")] = 2.0
    robot = SimulatedRobot.of(model, p, stribeck=(1.5, 0.05))
    t = np.linspace(0.0, 4.0, 401)
    ramp = Trajectory(t, 0.05 * np.maximum(t - 0.5, 0.0)[:, None] ** 3)
    run = follow(robot, ramp, Controller(controller=ControlLaw.PD_GRAVITY, bandwidth=0.5, saturates=False))
    stuck = int(np.argmax(run.v[:, 0] != 0.0))
    assert stuck > 500
    assert (run.q[:stuck] == run.q[0]).all()
    gravity = model.inverse_dynamics(run.q[[0]], parameters=np.where(np.arange(len(p)) < 10, p, 0.0))[0, 0]
    assert run.torque[stuck - 2, 0] - gravity == pytest.approx(3.0, rel=0.02)  # 1.5 times the kinetic friction


def test_coupled_drives_move_and_stick_together() -> None:
    tx40 = load_robot("builtin:tx40")
    model = DynamicModel(tx40, parse_terms(["viscous", "coulomb", "offset", "armature", "coupling"], tx40))
    p = np.array(nominal_robot(model)[0].parameters)
    sizes = {"fv": 1.0, "fs": 2.0, "off": 0.5, "Ia": 0.1, "Iam": 0.04, "fvm": 0.3, "fsm": 1.0}
    for name, value in sizes.items():
        p[[k for k, other in enumerate(model.names) if other.rstrip("0123456789") == name]] = value
    robot = SimulatedRobot.of(model, p)
    run = follow(robot, gentle(tx40), Controller(controller=ControlLaw.PD, bandwidth=3.0), nominal=robot)
    assert run.rests[:, 4:].any()
    assert not run.rests[:, 4:].all()
    assert (np.abs(model_torques(robot, run) - run.torque) * ~run.rests).max() < 1e-9 * np.abs(run.torque).max()
    held = (run.v[:-1] == 0.0) & (run.v[1:] == 0.0)
    assert np.abs(np.diff(run.q, axis=0)[held]).max() < 1e-9


def test_smooth_friction_is_the_hyperbolic_tangent() -> None:
    robot = SimulatedRobot.of(DynamicModel(UR5, [Coulomb(), Armature()]), smoothing=0.1)
    run = follow(robot, gentle(UR5), log_rate=100.0)
    rigid = DynamicModel(UR5, [Armature()])
    fs = np.array([joint.dynamics.friction for joint in UR5.joints], dtype=float)
    expected = rigid.inverse_dynamics(run.q, run.v, run.a) + fs * np.tanh(run.v / 0.1)
    assert np.allclose(run.torque, expected, rtol=0, atol=1e-10)
    assert not run.rests.any()


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_robots_run(name: str) -> None:
    robot = load_robot(f"builtin:{name}")
    nominal, made_up = nominal_robot(DynamicModel(robot, parse_terms(stated_terms(robot), robot)))
    assert bool(made_up) == (name in ("tx40", "lwr4"))
    run = follow(nominal, gentle(robot), nominal=nominal)
    assert run.tracking_error.max() < 1e-4
    assert (np.abs(model_torques(nominal, run) - run.torque) * ~run.rests).max() < 1e-9 * np.abs(run.torque).max()


WANTED = (
    "tiago_no_hand", "tiago_pro", "pr2", "baxter", "anymal-kinova", "b1-z1", "ur10_robot", "panda", "kinova", "so101",
    "double_pendulum_continuous", "talos_left_arm", "hextilt_flying_arm_5", "go2", "ur3_gripper", "z1",
)  # fmt: skip
FILES = [path for path in example_robot_files() if path.stem in WANTED]


def test_ten_files_with_mobile_manipulators_and_two_arms_are_among_the_examples() -> None:
    assert len({path.stem for path in FILES}) >= 10
    assert {"pr2", "baxter"} & {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example_robots_run_unchanged(path) -> None:
    robot = load_robot(path)
    nominal, _ = nominal_robot(DynamicModel(robot, parse_terms(stated_terms(robot), robot)))
    run = follow(nominal, gentle(robot, period=0.5), Controller(saturates=False), nominal=nominal)
    assert run.tracking_error.max() < 1e-2
    assert (np.abs(model_torques(nominal, run) - run.torque) * ~run.rests).max() < 1e-6 * np.abs(run.torque).max()


def test_runs_repeat_exactly() -> None:
    one, other = (follow(SimulatedRobot.of(FRICTION), gentle(UR5, period=0.5)) for _ in range(2))
    assert np.array_equal(one.q, other.q)
    assert np.array_equal(one.torque, other.torque)


def test_an_unstable_controller_is_stopped_with_the_time_and_the_joint() -> None:
    robot = SimulatedRobot.of(DynamicModel(UR5, [Armature()]))
    for saturates in (False, True):
        controller = Controller(controller=ControlLaw.PD_GRAVITY, bandwidth=60.0, rate=100.0, saturates=saturates)
        with pytest.raises(LostError, match=r"stopped at \d\.\d+ s, when joint '\w+' .* is unstable") as caught:
            follow(robot, gentle(UR5, period=4.0), controller)
        assert 0.0 <= caught.value.time < 2.0
        assert caught.value.joint in [joint.name for joint in UR5.joints]


def test_impossible_parameters_are_an_error_of_one_sentence() -> None:
    model = DynamicModel(UR5)
    with pytest.raises(LostError, match="not positive definite"):
        follow(SimulatedRobot.of(model, -np.array(UR5.parameters)), gentle(UR5))
    massless = np.array(UR5.parameters)
    massless[50] = 0.0
    with pytest.raises(DynidError, match="'wrist_3_link' cannot be simulated"):
        follow(SimulatedRobot.of(model, massless), gentle(UR5))
    with pytest.raises(DynidError, match="is free_flyer"):
        follow(SimulatedRobot.of(DynamicModel(load_robot("builtin:ur5", floating_base=True))), gentle(UR5))


def test_a_trajectory_that_starts_elsewhere_or_in_motion_needs_a_lead_in() -> None:
    robot = SimulatedRobot.of(DynamicModel(UR5, [Armature()]))
    trajectory = gentle(UR5)
    here = trajectory.states(np.zeros(1))[0][0] + np.array([0, 0.2, 0, 0, 0, 0])
    with pytest.raises(DynidError, match=r"elsewhere than the robot: joint 'shoulder_lift_joint' at 0 instead of 0\.2"):
        follow(robot, trajectory, start=here)
    t = np.linspace(0, 1, 101)
    with pytest.raises(DynidError, match="starts in motion: joint 'shoulder_pan_joint' at 1 rad/s"):
        follow(robot, Trajectory(t, np.tile(t[:, None], 6)))
    run = follow(robot, trajectory, start=here, lead_in=1.0)
    assert run.time[0] == 0.0
    assert np.abs(run.q[0] - run.reference[0]).max() < 1e-3


def test_the_loop_in_plain_python_gives_the_same_numbers() -> None:
    code = (
        "from dynid import DynamicModel, load_robot\n"
        "from dynid.simulation.closed_loop import SimulatedRobot, follow\n"
        "from tests.simulated import gentle\n"
        "robot = load_robot('builtin:two_link')\n"
        "run = follow(SimulatedRobot.of(DynamicModel(robot, ['viscous', 'coulomb'])), gentle(robot, period=0.1))\n"
        "print(run.q[-1].tolist(), run.torque[-1].tolist())"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", code], env=os.environ | extra, capture_output=True, text=True, check=True)
        for extra in ({"DYNID_NO_COMPILE": "1"}, {})
    ]
    values = [np.array(eval(output.stdout.replace("] [", "], ["))) for output in outputs]
    assert np.allclose(*values, rtol=1e-12)
