"""Bodies that a file or a result does not have, and torques that are scaled: named from factors, never by chance."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dynid import Log, find_base_parameters, identify
from dynid.arrays import Array
from dynid.estimation.diagnosis.extra_body import extra_body, findings_on_difference, findings_on_payload
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import weighed
from dynid.model import BaseParameters, Chunk
from dynid.robot import inertia
from tests.regret_cases import PANDA, UR5
from tests.truth_logs import Motion, Practice, Sensors, Truth, random_arm, white

ARM = Truth(random_arm(11, 5), ("viscous", "coulomb", "offset"))
ROBOTS = {"ur5": UR5, "panda": PANDA, "random": ARM}


@cache
def base_of(name: str) -> BaseParameters:
    return find_base_parameters(ROBOTS[name].model)


def body(mass: float, seed: int = 0) -> Array:
    """A gripper-like body."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(0.03, 0.08, 3)
    moments = mass * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    return inertia.from_mass_com_inertia(mass, rng.uniform(-0.1, 0.1, 3), moments)


def loaded(truth: Truth, link: int, mass: float, seed: int = 0) -> Array:
    """True parameters of a robot with a body on a link, counted from 0 among those with inertia."""
    p = truth.parameters.copy()
    p[10 * link : 10 * (link + 1)] += body(mass, seed)
    return p


def wrong(truth: Truth, share: float, rng: np.random.Generator) -> Array:
    """True parameters of a robot whose file is wrong by a share in each mass, place and moment of inertia."""
    p = truth.parameters.copy()
    for k in range(len(truth.robot.solid_links)):
        part = slice(10 * k, 10 * (k + 1))
        mass, com, moments = inertia.to_mass_com_inertia(p[part])
        factor, turn = np.exp(share * rng.normal(size=2))
        com = com * np.exp(share * rng.normal(size=3))
        p[part] = inertia.from_mass_com_inertia(factor * mass, com, factor * turn * moments)
    return p


def factors(truth: Truth, p: Array, seed: int = 0) -> list[Factors]:
    """A log of 20 s with 2 % noise."""
    q, v, a = Motion().states(np.arange(0.0, 20.0, 0.02), truth.robot.nv, seed)
    torque = truth.model.inverse_dynamics(q, v, a, p)
    noise = 0.02 * np.random.default_rng((seed, 3)).normal(size=torque.shape) * np.sqrt((torque**2).mean(axis=0))
    return [factorise(truth.model, [Chunk(q, v, a, torque + noise)])]


@pytest.mark.parametrize("mass", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_body_on_the_last_link_is_named_with_its_mass(name: str, mass: float) -> None:
    truth = ROBOTS[name]
    last = len(truth.robot.solid_links) - 1
    found = extra_body(base_of(name), factors(truth, loaded(truth, last, mass)))
    assert found is not None
    link = truth.robot.links[truth.robot.solid_links[last]].name
    assert link in (found.link, *found.others)
    assert found.mass == pytest.approx(mass, rel=0.15)


@pytest.mark.parametrize(
    ("name", "link"), [("ur5", 2), ("ur5", 3), ("ur5", 4), ("panda", 3), ("panda", 5), ("random", 3)]
)
def test_a_body_on_a_link_in_the_middle_is_named(name: str, link: int) -> None:
    truth = ROBOTS[name]
    (finding,) = findings_on_difference(base_of(name), factors(truth, loaded(truth, link, 3.0)))
    assert finding.code.removesuffix("-or-elsewhere") == "payload-undeclared"
    want = truth.robot.links[truth.robot.solid_links[link]].name
    assert want in (finding.subject.split("'")[1], *finding.values.get("others", ()))
    assert finding.values["mass"] == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_file_that_is_wrong_everywhere_is_no_body(name: str) -> None:
    rng = np.random.default_rng(7)
    truth = ROBOTS[name]
    found = [list(findings_on_difference(base_of(name), factors(truth, wrong(truth, 0.2, rng), k))) for k in range(8)]
    assert not any(found)


@pytest.mark.parametrize("factor", [0.8, 1.25])
@pytest.mark.parametrize("name", ROBOTS)
def test_torques_that_are_all_scaled_are_named_with_the_factor(name: str, factor: float) -> None:
    truth = ROBOTS[name]
    (finding,) = findings_on_difference(base_of(name), factors(truth, factor * truth.parameters))
    assert finding.code == "torques-scaled-all"
    assert finding.values["factor"] == pytest.approx(factor, rel=0.02)
    assert not list(findings_on_difference(base_of(name), factors(truth, truth.parameters)))


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_body_that_a_result_does_not_have_is_named(name: str) -> None:
    """The file is wrong everywhere, which does not matter: the log is compared with the result."""
    truth, base = ROBOTS[name], base_of(name)
    p = wrong(truth, 0.3, np.random.default_rng(1))
    of_result = factors(truth, p)
    factor = weighed(of_result, base)
    values = np.asarray(np.linalg.lstsq(factor.R, factor.z, rcond=None)[0], dtype=float)
    last = len(truth.robot.solid_links) - 1
    carried = p.copy()
    carried[10 * last : 10 * (last + 1)] += body(1.0)
    (finding,) = findings_on_payload(base, values, of_result, factors(truth, carried, 5))
    assert finding.code.removesuffix("-or-elsewhere") == "payload-in-held-out-log"
    assert finding.values["mass"] == pytest.approx(1.0, rel=0.15)
    assert not list(findings_on_payload(base, values, of_result, factors(truth, p, 5)))


def test_validation_names_the_payload_of_a_log() -> None:
    practice = Practice(UR5, Motion(), Sensors(100, white(1e-5), torque=white(0.02)))
    result = identify(UR5.robot, practice.log(1), UR5.terms, physical={"fit": False})
    log = practice.log(2)
    q, v, a = practice.states(log.time, 2)
    more = UR5.model.inverse_dynamics(q, v, a, loaded(UR5, 5, 1.5) - UR5.parameters)
    found = result.validate(replace(log, torque=log.torque + more))
    (finding,) = [one for one in found.findings if "payload-in-held-out-log" in one.code]
    assert finding.values["mass"] == pytest.approx(1.5, rel=0.15)
    assert not [one for one in result.validate(log).findings if "payload" in one.code]
    noisy = Log(log.time, log.position, log.torque + np.random.default_rng(0).normal(size=log.torque.shape))
    assert not [one for one in result.validate(noisy).findings if "payload" in one.code]
