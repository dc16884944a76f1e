"""A user's own term is like dynid's own: in findings, the physical fit, exports, and the simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from dynid import DynamicModel, Parameter, Robot, find_base_parameters, load_robot
from dynid.errors import InvalidRequestError
from dynid.estimation.physical.constraints import of_terms
from dynid.model.terms import TERMS, Armature, Coulomb, JointTerm, Role, Sign, Term, Viscous, register_term
from dynid.simulation.closed_loop import SimulatedRobot, follow
from dynid.simulation.joint_forces import JointForces
from tests.simulated import gentle

ARM = load_robot("builtin:two_link")


class CubicFriction(JointTerm):
    """A torque that grows with the cube of velocity."""

    symbols = ("fcub",)
    units = ("N m s^3/rad^3",)
    signs = (Sign.NONNEGATIVE,)
    needs = frozenset("v")

    def features(self, q, v, a):
        return (v**3,)


class Ripple(JointTerm):
    """A torque that repeats with every tooth of the gear; the least that a term needs to state."""

    symbols = ("rs", "rc")
    units = ("N m", "N m")
    needs = frozenset("q")

    def features(self, q, v, a):
        return np.sin(20 * q), np.cos(20 * q)


class Damper(Term):
    """A damper between two joints: neither a term of single joints nor one that dynid knows."""

    needs = frozenset("v")

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        return (Parameter("d", "N m s/rad", "damper", sign=Sign.NONNEGATIVE),)

    def entries(self, robot, q, v, a) -> Iterator[tuple[int, int, np.ndarray]]:
        yield 0, 0, v[:, 0] - v[:, 1]
        yield 1, 0, v[:, 1] - v[:, 0]


class OwnDamping(Viscous):
    """Viscous friction under a name of the user's own."""

    symbols = ("mine",)


@pytest.fixture
def cubic() -> Iterator[str]:
    register_term("cubic", CubicFriction)
    yield "cubic"
    del TERMS["cubic"]


def test_parameters_know_joint_link_role_and_sign() -> None:
    parameters = {p.name: p for p in DynamicModel(ARM, "viscous,coulomb,coupling:1:2").parameters}
    assert parameters["Ixy2"].role is Role.INERTIA
    assert (parameters["m1"].joint, parameters["m1"].link) == ("joint_1", ARM.links[0].name)
    assert (parameters["fv2"].joint, parameters["fv2"].link) == ("joint_2", None)
    assert (parameters["fv2"].role, parameters["fv2"].sign) == (Role.VISCOUS, Sign.NONNEGATIVE)
    assert (parameters["Iam2"].role, parameters["Iam2"].sign) == (Role.COUPLING_INERTIA, Sign.FREE)


def test_a_minimal_term_gets_defaults() -> None:
    parameter = Ripple().parameters(ARM)[0]
    assert (parameter.name, parameter.joint, parameter.role, parameter.sign) == (
        "rs1", "joint_1", Role.OTHER, Sign.FREE,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("terms", "count"),
    [([CubicFriction()], 2), ([Ripple()], 0), ([Damper()], 1), ([Viscous(), OwnDamping()], 4)],
    ids=["cubic", "ripple", "damper", "two viscous terms"],
)
def test_parameters_that_cannot_be_negative_are_constrained(terms: list[Term], count: int) -> None:
    model = DynamicModel(ARM, terms)
    rows = np.concatenate([np.zeros((0, len(model.names))), *[law.rows for law in of_terms(model)]])
    wanted = [p.link is None and p.sign is Sign.NONNEGATIVE for p in model.parameters]
    assert (rows != 0.0).sum() == count
    assert np.array_equal(rows.any(axis=0), wanted)


def test_names_of_terms_are_given_once(cubic: str) -> None:
    assert isinstance(DynamicModel(ARM, ["viscous", cubic]).terms[1], CubicFriction)
    with pytest.raises(InvalidRequestError, match="'viscous' already"):
        register_term("viscous", CubicFriction)


def test_a_simulated_robot_has_the_torques_of_own_terms() -> None:
    model = DynamicModel(ARM, [Armature(), Coulomb(), CubicFriction(), Ripple()])
    p = np.nan_to_num(model.reference)
    p[len(ARM.parameters) :] = [0.1, 0.2, 0.3, 0.2, 0.5, 0.4, 0.3, 0.1, 0.2, 0.3]
    robot = SimulatedRobot.of(model, p)
    run = follow(robot, gentle(ARM, period=0.6), log_rate=200.0)
    found = model.inverse_dynamics(run.q, run.v, run.a, p)
    assert np.abs(found - run.torque)[~run.rests].max() < 1e-7 * np.abs(run.torque).max()


def test_an_own_inertia_and_an_own_offset_are_simulated_exactly() -> None:
    class Rotor(JointTerm):
        symbols = ("J", "c")
        units = ("kg m^2", "N m")
        needs = frozenset("a")

        def features(self, q, v, a):
            return 2.0 * a, np.ones_like(a)

    p = np.r_[ARM.parameters, 0.1, 3.0, 0.2, 4.0]
    forces = JointForces.of(DynamicModel(ARM, [Rotor()]), p)
    assert np.allclose(forces.inertia, np.diag([0.2, 0.4]))
    assert np.allclose(forces.offset, [3.0, 4.0])


def test_a_term_that_cannot_be_simulated_is_named() -> None:
    model = DynamicModel(ARM, [Damper()])
    with pytest.raises(InvalidRequestError, match="Damper cannot be simulated"):
        JointForces.of(model, np.ones(len(model.names)))


@pytest.fixture
def experiment(tmp_path: Path, cubic: str) -> tuple[Path, dict[str, float]]:
    """An experiment with exact states on an arm with viscous, Coulomb and cubic friction, and its truth."""
    model = DynamicModel(ARM, ["viscous", "coulomb", cubic])
    truth = dict(zip(model.names, np.nan_to_num(model.reference).tolist(), strict=True))
    truth |= {"fv1": 0.3, "fv2": 0.2, "fs1": 0.4, "fs2": 0.5, "fcub1": 0.05, "fcub2": 0.0}
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.005)
    w = 2 * np.pi * np.array([0.31, 0.57, 0.83])
    angle = np.multiply.outer(t, w)[:, None] + rng.uniform(0, 6, (2, 3))
    q, v, a = np.sin(angle).sum(2), (w * np.cos(angle)).sum(2), -(w**2 * np.sin(angle)).sum(2)
    torque = model.inverse_dynamics(q, v, a, np.array(list(truth.values()))) + 1e-2 * rng.normal(size=q.shape)
    names = ("q_0", "q_1", "tau_0", "tau_1")
    pl.DataFrame({"t": t, **dict(zip(names, (*q.T, *torque.T), strict=True))}).write_csv(tmp_path / "log.csv")
    path = tmp_path / "experiment.toml"
    path.write_text("""
robot = "builtin:two_link"
terms = ["viscous", "coulomb", "cubic"]
[[log]]
position = { file = "log.csv", columns = "q_*" }
torque = { file = "log.csv", columns = "tau_*" }
time = { file = "log.csv", columns = "t" }
[processing]
trim = 5
velocity_threshold = 0.05
""")
    return path, truth


def test_a_log_is_identified_made_physical_and_exported_with_an_own_term(
    experiment: tuple[Path, dict[str, float]], tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from dynid.cli import app

    path, truth = experiment
    done = CliRunner().invoke(app, ["identify", str(path), "--out", str(tmp_path / "result"), "--json"])
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    found = {row["name"]: row["value"] for row in data["parameters"]}
    assert found["fcub1"] == pytest.approx(truth["fcub1"], rel=0.05)
    physical = {row["name"]: row["value"] for row in data["physical"]["terms"]}
    assert physical["fcub2"] >= 0.0
    done = CliRunner().invoke(
        app, ["export", str(tmp_path / "result"), "--to", "urdf", "--out", str(tmp_path / "arm.urdf")]
    )
    assert done.exit_code == 0, done.stderr
    beside = yaml.safe_load((tmp_path / "arm.urdf.yaml").read_text())
    assert {"fcub1", "fcub2"} <= {row["name"] for row in beside["parameters"]}
    assert load_robot(tmp_path / "arm.urdf").joint("joint_1").dynamics.damping == pytest.approx(truth["fv1"], rel=0.2)


def test_own_terms_have_base_parameters() -> None:
    assert len(find_base_parameters(DynamicModel(load_robot("builtin:ur5"), [Ripple()]))) == 36 + 12
