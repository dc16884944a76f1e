"""The embedded robots against what was published about them."""

from __future__ import annotations

import os
import re
from importlib import resources

import numpy as np
import pytest

from dynid import BaseParameters, DynamicModel, Observed, Robot, find_base_parameters, load_robot
from dynid.errors import UnknownNameError
from dynid.model.terms import Coulomb, Viscous, parse_terms
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.formats.denavit_hartenberg import parse_table
from dynid.robot.frames import inverse
from dynid.robot.loading import builtin_names
from tests.force_plate import TABLE_3_3


def base_of(
    name: str, *terms: str, observed: Observed = Observed.TORQUES, order: str = "", **options
) -> BaseParameters:
    robot = load_robot(f"builtin:{name}", floating_base=observed.is_wrench, **options)
    return find_base_parameters(DynamicModel(robot, parse_terms(terms, robot), observed), order=order.split())


def parsed(expression: str) -> dict[str, float]:
    """`mx1 - 0.5*m2 + 2*(m3+m4)` as coefficients by name; also as tables print it, with 1.0 before each term."""
    coefficients: dict[str, float] = {}
    for sign, factor, group, name in re.findall(r"([+-]?)\s*(?:([\d.]+)\*)?(?:\(([^)]*)\)|([A-Za-z]\w*))", expression):
        for term in group.split("+") if group else [name]:
            coefficients[term.strip()] = (-1.0 if sign == "-" else 1.0) * float(factor or 1.0)
    return coefficients


def assert_expressions(base: BaseParameters, *expected: str) -> None:
    wanted = [parsed(text) for text in expected]
    found = list(base.groups)
    assert len(found) == len(wanted)
    for group in wanted:
        lead = next(iter(group))
        match = next((g for g in found if next(iter(g)) == lead), None)
        assert match is not None, f"no base parameter {lead}"
        assert match == pytest.approx(group, abs=1e-9), lead


def values(base: BaseParameters) -> dict[str, float]:
    return dict(zip(base.names, base.to_base(np.nan_to_num(base.model.reference)), strict=True))


def test_all_seven_are_there_and_each_names_its_source() -> None:
    assert set(builtin_names()) == {"pendulum", "two_link", "spatial_3r", "ur5", "tx40", "panda", "lwr4"}
    for name in builtin_names():
        assert 'source = "' in (resources.files("dynid.robot") / "builtin" / f"{name}.toml").read_text()
    with pytest.raises(UnknownNameError, match="did you mean 'ur5'"):
        load_robot("builtin:ur50")


def test_every_known_inertia_of_the_embedded_robots_is_physical() -> None:
    for name in builtin_names():
        for body in load_robot(f"builtin:{name}").description.bodies:
            assert body.inertia is None or inertia.is_physical(body.inertia), (name, body.name)


def test_pendulum_has_the_torque_of_its_equation() -> None:
    # Report without signs, chapter 2.1 and Table 2: 24.5250 sin(q) + 1.6709 a (its sum is 1.6708).
    q, a = np.linspace(-3, 3, 20)[:, None], np.linspace(2, -2, 20)[:, None]
    found = DynamicModel(load_robot("builtin:pendulum")).inverse_dynamics(q, a=a)
    assert np.allclose(found, 24.525 * np.sin(q) + 1.6708 * a, rtol=1e-12)


# Thesis hal-03371519, Table 3.2 (a) and (b).
TABLE_3_2A = {
    "mx2": 0.25,
    "mz2": 0.125,
    "mx1 + 0.5*m2": 0.75,
    "mz1 + 0.25*m2": 0.375,
    "Iyy2": 0.104167,
    "Iyy1 + 0.3125*m2": 0.416667,
}


def test_two_link_has_the_base_parameters_of_table_3_2a() -> None:
    base = base_of("two_link")
    assert_expressions(base, *TABLE_3_2A)
    found = values(base)
    for expression, value in TABLE_3_2A.items():
        assert found[expression.split()[0]] == pytest.approx(value, abs=6e-7)


def test_two_link_with_friction_has_the_base_parameters_of_table_3_2b() -> None:
    base = base_of("two_link", "viscous", "coulomb")
    assert_expressions(base, *TABLE_3_2A, "fv1", "fv2", "fs1", "fs2")
    found = values(base)
    assert (found["fv1"], found["fv2"], found["fs1"], found["fs2"]) == (0.05, 0.05, 0.01, 0.01)


@pytest.mark.parametrize("terms", [(), ("viscous", "coulomb")])
def test_two_link_on_a_force_plate_has_the_base_parameters_of_table_3_3(terms: tuple[str, ...]) -> None:
    order = " ".join(expression.split()[0] for expression in TABLE_3_3)
    base = base_of("two_link", *terms, observed=Observed.WRENCH_STATIONARY, order=order)
    assert_expressions(base, *TABLE_3_3)
    found = values(base)
    for expression, value in TABLE_3_3.items():
        assert found[expression.split()[0]] == pytest.approx(value, abs=6e-7)


def test_friction_has_no_effect_on_the_wrench_at_the_base() -> None:
    base = base_of("two_link", "viscous", "coulomb", observed=Observed.WRENCH_STATIONARY)
    assert len(base) == 13
    assert {"fv1", "fv2", "fs1", "fs2"} <= set(base.no_effect)


def test_two_link_on_a_moving_base_has_24_base_parameters() -> None:
    assert len(base_of("two_link", observed=Observed.WRENCH_MOVING)) == 24


# Thesis hal-03371519, Figures 3.8 and 3.9.
FIGURES_3_8_AND_3_9 = [
    "Izz1 + Ia1 + Iyy2 + Iyy3 + 0.07*mz3 + 0.05185*(m3+m4+m5+m6)",
    "fv1",
    "fs1",
    "off1",
    "Ixx2 - Iyy2 - 0.050625*(m3+m4+m5+m6)",
    "Ixy2",
    "Ixz2 - 0.225*mz3 - 0.007875*(m3+m4+m5+m6)",
    "Iyz2",
    "Izz2 + Ia2 + 0.050625*(m3+m4+m5+m6)",
    "mx2 + 0.225*(m3+m4+m5+m6)",
    "my2",
    "fv2",
    "fs2",
    "off2",
    "Ixx3 - Iyy3 + Iyy4 + 0.45*mz4 + 0.050625*(m4+m5+m6)",
    "Ixy3",
    "Ixz3",
    "Iyz3",
    "Izz3 + Iyy4 + 0.45*mz4 + 0.050625*(m4+m5+m6)",
    "mx3",
    "my3 - mz4 - 0.225*(m4+m5+m6)",
    "Ia3",
    "fv3",
    "fs3",
    "off3",
    "Ixx4 - Iyy4 + Iyy5",
    "Ixy4",
    "Ixz4",
    "Iyz4",
    "Izz4 + Iyy5",
    "mx4",
    "my4 + mz5",
    "Ia4",
    "fv4",
    "fs4",
    "off4",
    "Ixx5 - Iyy5 + Iyy6",
    "Ixy5",
    "Ixz5",
    "Iyz5",
    "Izz5 + Iyy6",
    "mx5",
    "my5 - mz6",
    "Ia5",
    "fv5",
    "fs5",
    "off5",
    "Ixx6 - Iyy6",
    "Ixy6",
    "Ixz6",
    "Iyz6",
    "Izz6",
    "mx6",
    "my6",
    "Ia6",
    "fv6",
    "fs6",
    "off6",
    "Iam6",
    "fvm6",
    "fsm6",
]
TX40_TERMS = ("viscous", "coulomb", "offset", "armature", "coupling")


def test_tx40_has_87_standard_and_the_61_published_base_parameters() -> None:
    base = base_of("tx40", *TX40_TERMS)
    assert len(base.model.names) == 87
    assert_expressions(base, *FIGURES_3_8_AND_3_9)


@pytest.mark.skipif("DYNID_DATASETS" not in os.environ, reason="DYNID_DATASETS does not name the folder of logs")
def test_tx40_base_parameters_are_those_of_the_published_table() -> None:
    import csv
    from pathlib import Path

    table = Path(os.environ["DYNID_DATASETS"]) / "tx40" / "published_base_parameters.csv"
    with table.open() as stream:
        expressions = [row["regrouping"] for row in csv.DictReader(stream)]
    assert_expressions(base_of("tx40", *TX40_TERMS), *expressions)


def test_counts_of_the_arms() -> None:
    assert len(base_of("ur5")) == 36
    assert len(base_of("panda")) == 43
    assert len(base_of("lwr4")) == 43
    assert len(base_of("lwr4", observed=Observed.GRAVITY)) == 12


def test_ur5_parts(tmp_path) -> None:
    # UR5 thesis, chapter 4: 15 for each half, where the wrist is rows 4 to 6 as an arm of their own.
    assert len(base_of("ur5", lock=["4", "5", "6"])) == 15
    assert len(base_of("ur5", lock=["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint"])) == 17
    text = (resources.files("dynid.robot") / "builtin" / "ur5.toml").read_text()
    head, *rows = text.split("[[joint]]")
    wrist = tmp_path / "wrist.toml"
    wrist.write_text("[[joint]]".join([head, *rows[3:]]))
    assert len(find_base_parameters(DynamicModel(load_robot(wrist)))) == 15


def gravity_parameters_in_end_of_link_frames(robot: Robot) -> np.ndarray:
    """Matrix from (m, mx, my, mz) of all links in their end-of-link frames to all parameters in joint frames."""
    columns = []
    for link in range(len(robot.links)):
        body = robot.links[link].bodies[0]
        for k in range(4):
            p = np.zeros(10 * len(robot.links))
            unit = np.zeros(10)
            unit[k] = 1.0
            p[10 * link : 10 * link + 10] = inertia.moved(unit, body.placement)
            columns.append(p)
    return np.array(columns).T


def test_lwr4_gravity_spans_the_twelve_published_expressions() -> None:
    # Lecture "Linear parametrization and identification of robot dynamics", gravity terms of the LWR4, with
    # cij mi the first moments in the end-of-link frames, d1 = 0.4 m and d2 = 0.39 m.
    published = [
        "my7",
        "mx7",
        "mx6",
        "mz6 + mz7",
        "mz5 - my6",
        "mx5",
        "my5 + mz4 + 0.39*(m5+m6+m7)",
        "mx4",
        "my4 + mz3",
        "mx2",
        "mx3",
        "mz2 - my3 + 0.4*(m3+m4+m5+m6+m7)",
    ]
    names = [f"{symbol}{link}" for link in range(1, 8) for symbol in ("m", "mx", "my", "mz")]
    theirs = np.zeros((12, 28))
    for row, expression in enumerate(published):
        for name, coefficient in parsed(expression).items():
            theirs[row, names.index(name)] = coefficient
    base = base_of("lwr4", observed=Observed.GRAVITY)
    ours = base.regrouping @ gravity_parameters_in_end_of_link_frames(base.model.robot)
    assert np.linalg.matrix_rank(ours, 1e-9) == 12
    assert np.linalg.matrix_rank(np.vstack([ours, theirs]), 1e-9) == 12


def test_spatial_3r_has_the_published_coefficients() -> None:
    # Report without signs, chapter 3.1 and Table 9 (ground truth, printed with four digits).
    m2, m3, b, c, d, d2, L2, L3, g = 1.125, 0.75, 0.15, 0.06, 0.1, 0.09, 0.3, 0.2, 9.81
    I1yy, I2xx, I2yy, I2zz = 4.167e-3, 4.6879e-4, 8.6715e-3, 8.6715e-3
    I3xx, I3yy, I3zz = 3.1252e-4, 2.6565e-3, 2.6565e-3
    pi = [
        I1yy + m2 * (c + d2) ** 2 + m3 * d2**2 + I2xx + I3xx,
        m2 * (L2 - b) ** 2 + m3 * L2**2 + I2yy - I2xx,
        I3yy + m3 * (L3 - d) ** 2 - I3xx,
        m3 * (L3 - d) * L2,
        I2zz + m2 * (L2 - b) ** 2 + I3zz + m3 * (L2**2 + (L3 - d) ** 2),
        m3 * (L3 - d) ** 2 + I3zz,
        m2 * (L2 - b) * (c + d2) + m3 * L2 * d2,
        m3 * (L3 - d) * d2,
        g * m2 * (L2 - b) + g * m3 * L2,
        g * m3 * (L3 - d),
    ]
    assert pi == pytest.approx(
        [0.0363, 0.1010, 0.0098, 0.0225, 0.1116, 0.0102, 0.0456, 0.0068, 3.8627, 0.7358], abs=6e-5
    )
    found = values(base_of("spatial_3r"))
    # Each coefficient is a sum of base parameters of the joint frames; gravity and lengths factored out.
    assert found["mx3"] == pytest.approx(pi[9] / g) == pytest.approx(pi[3] / L2) == pytest.approx(pi[7] / d2)
    assert found["mx2"] == pytest.approx(pi[8] / g)
    assert found["Izz3"] == pytest.approx(pi[5])
    assert found["Izz2"] == pytest.approx(pi[4] - pi[5])
    assert found["Ixx3"] == pytest.approx(-pi[2])
    assert found["Ixx2"] == pytest.approx(-pi[1])
    assert found["Ixz2"] == pytest.approx(pi[6])
    assert found["Izz1"] == pytest.approx(pi[0] + pi[1] + pi[2])


PLANAR_2R = """
name = "planar_2r"
convention = "standard"
gravity = [0, -9.81, 0]
joint = [{ name = "j1", a = 0.7 }, { name = "j2", a = 0.5 }]
"""


def test_the_planar_2r_of_the_lecture_has_4_coefficients() -> None:
    # "Linear parametrization and identification of robot dynamics": with the centres of mass on the links, 4 of 6.
    arm = DynamicModel(assemble(parse_table(PLANAR_2R, "lecture")))
    assert_expressions(find_base_parameters(arm), "mx1 + 0.7*m2", "my1", "Izz1 + 0.49*m2", "mx2", "my2", "Izz2")
    straight = find_base_parameters(arm, known={"my1": 0.0, "my2": 0.0})
    assert_expressions(straight, "mx1 + 0.7*m2", "Izz1 + 0.49*m2", "mx2", "Izz2")


def test_declared_zeros_are_taken_out_before_the_reduction() -> None:
    # Spatial 3R of the report: 15 in general, 10 with its products of inertia zero. Three of its ten printed
    # coefficients are multiples of one first moment, so with all its zeros 8 are independent.
    spatial = DynamicModel(load_robot("builtin:spatial_3r"))
    products = ["Ixy2", "Iyz2", "Ixy3", "Ixz3", "Iyz3"]
    assert len(find_base_parameters(spatial)) == 15
    assert len(find_base_parameters(spatial, known=products)) == 10
    assert len(find_base_parameters(spatial, known=[*products, "my2", "my3", "mz3"])) == 8


def test_panda_has_the_frames_of_its_public_urdf() -> None:
    from dynid import joint_poses
    from tests.references import example_robot_file

    ours = load_robot("builtin:panda")
    theirs = load_robot(example_robot_file("panda.urdf"), lock=["panda_finger_joint1"])
    q = np.random.default_rng(0).uniform(-1, 1, (5, 7))
    for found, expected in zip(joint_poses(ours, q), joint_poses(theirs, q), strict=True):
        assert np.allclose(found, expected, atol=1e-9)
    # Its links 1 to 6 carry the same published inertias.
    assert ours.parameters[:60] == pytest.approx(theirs.parameters[:60], abs=2e-6)


def test_frames_of_a_standard_table_are_at_the_ends_of_links() -> None:
    robot = load_robot("builtin:ur5")
    end = robot.links[1].bodies[0].placement
    assert np.allclose(inverse(end)[:3, 3], [0.425, 0, 0])


def test_friction_of_the_ur5_is_at_the_joint() -> None:
    robot = load_robot("builtin:ur5")
    model = DynamicModel(robot, [Viscous(), Coulomb()])
    reference = dict(zip(model.names, model.reference, strict=True))
    assert reference["fs1"] == pytest.approx(0.076 * 101)  # Table 2.5
    assert np.isnan(reference["fv1"])
