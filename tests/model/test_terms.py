"""What joints add to the rigid bodies."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.terms import (
    Armature,
    AsymmetricCoulomb,
    Coulomb,
    Coupling,
    JointTerm,
    Offset,
    Spring,
    Term,
    Viscous,
    parse_terms,
)
from tests.references import example_robot_file

Q = np.array([[0.1, 0.2], [0.3, -0.4]])
V = np.array([[1.0, -2.0], [-3.0, 0.0]])
A = np.array([[5.0, 6.0], [7.0, 8.0]])


def torques(term: Term, parameters: list[float]) -> np.ndarray:
    """Torque of a term alone on the two-link arm, (samples, joints)."""
    return (term.columns(load_robot("builtin:two_link"), Q, V, A) @ np.array(parameters, dtype=float)).T


def test_each_term_is_its_formula() -> None:
    two = [2.0, 3.0]
    assert np.array_equal(torques(Viscous(), two), V * two)
    assert np.array_equal(torques(Coulomb(), two), np.sign(V) * two)
    assert np.array_equal(torques(Offset(), two), np.ones_like(V) * two)
    assert np.array_equal(torques(Armature(), two), A * two)
    assert np.array_equal(torques(Spring(), two), Q * two)
    found = torques(AsymmetricCoulomb(), [2.0, 3.0, 4.0, 5.0])
    assert found.tolist() == [[2.0, -5.0], [-3.0, 0.0]]


def test_a_coupling_is_figure_3_7_of_the_thesis() -> None:
    # hal-03371519: row 5 has (a6, v6, sign(v5 + v6)), row 6 has (a5, v5, sign(v5 + v6)).
    Ia, fv, fs = 2.0, 3.0, 4.0
    found = torques(Coupling(1, 2), [Ia, fv, fs])
    both = np.sign(V.sum(axis=1))
    assert np.allclose(found[:, 0], Ia * A[:, 1] + fv * V[:, 1] + fs * both)
    assert np.allclose(found[:, 1], Ia * A[:, 0] + fv * V[:, 0] + fs * both)


def test_a_coupled_rotor_has_the_power_that_its_torques_put_in() -> None:
    # A rotor of inertia J on the second motor, turning with ratio*v1 + v2: torques J*(ratio, 1)*(ratio*a1 + a2).
    J, ratio = 0.7, -1.5
    drive = ratio * A[:, 0] + A[:, 1]
    found = torques(Coupling(1, 2, ratio), [J * ratio, 0, 0]) + torques(Armature(), [J * ratio**2, J])
    assert np.allclose(found, J * np.outer(drive, [ratio, 1.0]))
    # Its Coulomb friction always takes power: c * |ratio*v1 + v2|.
    friction = torques(Coupling(1, 2, ratio), [0, 0, 0.4])
    assert np.allclose((friction * V).sum(axis=1), 0.4 * np.abs(ratio * V[:, 0] + V[:, 1]))


def test_terms_are_named_by_joint_numbers_and_know_units_and_references() -> None:
    model = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb(), Coupling(1, 2)])
    found = {p.name: (p.unit, p.owner, p.reference) for p in model.parameters[20:]}
    assert found["fv2"] == ("N m s/rad", "joint_2", 0.05)
    assert found["fs1"] == ("N m", "joint_1", 0.01)
    both = DynamicModel(load_robot("builtin:two_link"), [AsymmetricCoulomb()]).parameters[20:]
    assert [p.reference for p in both] == [0.01] * 4
    assert found["Iam2"] == ("kg m^2", "joint_1 and joint_2", None)
    lift = load_robot(example_robot_file("tiago_no_hand.urdf"))
    units = {p.name: p.unit for p in DynamicModel(lift, [Viscous(), Armature(), Spring()]).parameters}
    number = lift.joint("torso_lift_joint").number
    assert (units[f"fv{number}"], units[f"Ia{number}"], units[f"k{number}"]) == ("N s/m", "kg", "N/m")


def test_terms_are_parsed_from_what_users_write() -> None:
    robot = load_robot("builtin:tx40")
    viscous, offset, coupling = parse_terms(["viscous", "offset:joint_1:3", "coupling:5:joint_6"], robot)
    assert len(viscous.parameters(robot)) == 6
    assert [p.name for p in offset.parameters(robot)] == ["off1", "off3"]
    assert [p.name for p in coupling.parameters(robot)] == ["Iam6", "fvm6", "fsm6"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("viscos", UnknownNameError, "no term 'viscos'; did you mean 'viscous'"),
        ("viscous:7", UnknownNameError, "no joint '7'"),
        ("coupling:1", InvalidRequestError, "coupling:FIRST:SECOND"),
        ("coupling", InvalidRequestError, "states no coupling"),
        ("coupling:1:1", InvalidRequestError, "two different joints"),
    ],
)
def test_wrong_terms_are_refused(text: str, error: type[Exception], message: str) -> None:
    robot = load_robot("builtin:two_link")
    with pytest.raises(error, match=message):
        DynamicModel(robot, parse_terms([text], robot)).regressor([[0.0, 0.0]])


def test_a_term_named_twice_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="parameter 'fv1'"):
        DynamicModel(load_robot("builtin:two_link"), [Viscous(), Viscous([1])])


def test_asymmetric_coulomb_spans_coulomb_and_offset() -> None:
    robot = load_robot("builtin:two_link")
    both = DynamicModel(robot, [Coulomb(), Offset(), AsymmetricCoulomb()])
    assert len(find_base_parameters(both)) == 6 + 4


def test_terms_stay_away_from_followers_and_bases() -> None:
    robot = load_robot(example_robot_file("panda.urdf"), floating_base=True)
    assert [p.owner for p in Viscous().parameters(robot)] == [
        joint.name for joint in robot.joints if joint.name not in ("root_joint", "panda_finger_joint2")
    ]
    with pytest.raises(InvalidRequestError, match="'panda_finger_joint2' follows another joint"):
        Viscous(["panda_finger_joint2"]).parameters(robot)


def test_users_add_a_term_in_a_few_lines() -> None:
    class Ripple(JointTerm):
        symbols = ("rs", "rc")
        units = ("N m", "N m")
        needs = frozenset("q")

        def features(self, q, v, a):
            return np.sin(6 * q), np.cos(6 * q)

    base = find_base_parameters(DynamicModel(load_robot("builtin:ur5"), [Ripple()]))
    assert len(base) == 36 + 12
