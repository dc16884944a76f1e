"""Energy and momentum regressors against Pinocchio, and their rates against the dynamics, on random robots."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, load_robot
from dynid.errors import InvalidRequestError
from dynid.model.dynamic_model import Observed
from dynid.model.formulations.chosen_columns import energy_columns, impulse_rows, momentum_rows
from dynid.model.formulations.energy import (
    dissipation_regressor,
    energy_regressor,
    impulse_regressor,
    momentum_regressor,
)
from dynid.model.kernels.kernel import compiled_kernel
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, Coulomb, Coupling, JointTerm, Offset, Spring, Term, Viscous
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from tests.references import pinocchio_torques
from tests.strategies import robots

seeds = st.integers(0, 1000)


def states(robot: Robot, seed: int, samples: int = 4):
    return random_states(DynamicModel(robot), samples, np.random.default_rng(seed))


def terms_of(robot: Robot) -> list[Term]:
    single = [joint.number for joint in robot.independent_joints if joint.kind.nv == 1]
    couplings: list[Term] = [Coupling(*single[:2])] if len(single) > 1 else []
    return [Viscous(), Coulomb(), Offset(), Armature(), Spring(), *couplings]


def close(found: np.ndarray, expected: np.ndarray, relative: float) -> bool:
    return bool(np.abs(found - expected).max() <= relative * (np.abs(expected).max() + 1.0))


@given(robots(), seeds)
def test_energies_equal_pinocchios(robot: Robot, seed: int) -> None:
    q, v, _ = states(robot, seed)
    model = DynamicModel(robot)
    other = to_pinocchio(robot)
    data = other.createData()
    kinetic, potential = [], []
    for k in range(len(q)):
        positions, velocities = tree_coordinates(robot, q[k], v[k])
        kinetic.append(pin.computeKineticEnergy(other, data, positions, velocities))
        potential.append(pin.computePotentialEnergy(other, data, positions))
    at_rest = energy_regressor(model, q) @ robot.parameters
    assert close(energy_regressor(model, q, v) @ robot.parameters - at_rest, np.array(kinetic), 1e-12)
    assert close(np.diff(at_rest), np.diff(potential), 1e-12)


@given(robots(), seeds)
def test_momentum_is_pinocchios_mass_matrix_times_velocity(robot: Robot, seed: int) -> None:
    """As inverse dynamics tell it, for Pinocchio's own mass matrix lacks parts of some branched trees."""
    q, v, _ = states(robot, seed)
    other = to_pinocchio(robot)
    expected = pinocchio_torques(robot, other, q, 0.0 * v, v) - pinocchio_torques(robot, other, q, 0.0 * v, 0.0 * v)
    assert close((momentum_regressor(DynamicModel(robot), q, v) @ robot.parameters).T, expected, 1e-12)


@given(robots(), seeds)
def test_rates_of_energy_and_momentum_are_power_and_torque(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed, 2)
    model = DynamicModel(robot, terms_of(robot))
    W = model.regressor(q, v, a)

    def rate_at_constant_velocity(regressor) -> np.ndarray:
        """By differences of sixth order along Pinocchio's exponentials."""
        step = 2e-3
        one, two, three = (
            regressor(model, moved(robot, q, n * step * v), v) - regressor(model, moved(robot, q, -n * step * v), v)
            for n in (1, 2, 3)
        )
        return (45.0 * one - 9.0 * two + three) / (60.0 * step)

    # Energy is quadratic in velocities and momentum linear, so what accelerations do needs no small step.
    by_acceleration = 0.5 * (energy_regressor(model, q, v + a) - energy_regressor(model, q, v - a))
    power = rate_at_constant_velocity(energy_regressor) + by_acceleration + dissipation_regressor(model, q, v)
    assert close(power, np.einsum("sr,rsk->sk", v, W), 1e-9)
    torque = rate_at_constant_velocity(momentum_regressor) + momentum_regressor(model, q, a)
    assert close(torque + impulse_regressor(model, q, v), W, 1e-9)


def moved(robot: Robot, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Positions (samples, nq) after a step (samples, nv) of every joint, along its own axes."""
    found = q.copy()
    for joint in robot.independent_joints:
        for k in range(len(q)):
            own, by = q[k, joint.q], step[k, joint.v]
            if not joint.kind.has_quaternion:
                found[k, joint.q] = own + by
            elif joint.kind.nv == 3:
                rotation = pin.XYZQUATToSE3(np.concatenate([np.zeros(3), own])).rotation @ pin.exp3(by)
                found[k, joint.q] = pin.SE3ToXYZQUAT(pin.SE3(rotation, np.zeros(3)))[3:]
            else:
                found[k, joint.q] = pin.SE3ToXYZQUAT(pin.XYZQUATToSE3(own) * pin.exp6(by))
    return found


class Odd(JointTerm):
    """A term whose inertia depends on the position."""

    symbols = ("odd",)
    units = ("kg m^2",)
    needs = frozenset("qa")

    def features(self, q, v, a):
        return (np.cos(q) * a,)


class Curved(JointTerm):
    """A term that is not proportional to accelerations."""

    symbols = ("curved",)
    units = ("kg m^2",)
    needs = frozenset("a")

    def features(self, q, v, a):
        return (a * np.abs(a),)


@pytest.mark.parametrize(("term", "flaw"), [(Odd(), "from state to state"), (Curved(), "not proportional")])
def test_terms_with_another_inertia_are_refused(term: Term, flaw: str) -> None:
    model = DynamicModel(load_robot("builtin:two_link"), [term])
    with pytest.raises(InvalidRequestError, match=flaw) as refused:
        energy_regressor(model, np.zeros((1, 2)))
    assert type(term).__name__ in str(refused.value)
    with pytest.raises(InvalidRequestError, match=flaw):
        momentum_regressor(model, np.zeros((1, 2)))


def test_models_of_gravity_only_are_refused() -> None:
    model = DynamicModel(load_robot("builtin:two_link"), observed=Observed.GRAVITY)
    with pytest.raises(InvalidRequestError, match="gravity"):
        energy_regressor(model, np.zeros((1, 2)))


@given(robots(), seeds)
def test_the_compiled_kernel_writes_the_columns_that_are_asked_for(robot: Robot, seed: int) -> None:
    compiled_kernel()  # so that few samples are computed by it, too
    q, v, _ = states(robot, seed)
    model = DynamicModel(robot, terms_of(robot))
    rng = np.random.default_rng(seed)
    columns = tuple(tuple(np.flatnonzero(rng.random(len(model.names)) < 0.5).tolist()) for _ in range(model.row_count))
    for found, all_columns in (
        (impulse_rows(model, columns, q, v), impulse_regressor(model, q, v)),
        (momentum_rows(model, columns, q, v), momentum_regressor(model, q, v)),
    ):
        for row, wanted in enumerate(columns):
            assert not wanted or close(found[row], all_columns[row][:, list(wanted)], 1e-12)
    expected = energy_regressor(model, q, v)[:, list(columns[0])]
    assert not columns[0] or close(energy_columns(model, columns[0], q, v), expected, 1e-12)
