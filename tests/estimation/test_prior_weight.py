"""The prior's weight: data count by how sure they are, and the file by how well it predicts what was held out."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from dynid import DynamicModel, Log, find_base_parameters, identify, load_robot, read_log
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.least_squares import merge_logs, weighted_least_squares
from dynid.estimation.physical.physical_estimate import Physics, physical_estimate
from dynid.estimation.physical.prior_weight import THRESHOLDS, WeightChoice, choose_weight
from dynid.estimation.physical.references import Origin, references
from dynid.estimation.physical.semidefinite import LinkPrior
from dynid.findings import has
from dynid.model.chunks import Chunk
from dynid.model.terms import Coulomb, Viscous
from tests.datasets import needs_logs
from tests.practice_logs import sines
from tests.references import example_robot_file

MODEL = DynamicModel(load_robot("builtin:ur5"), [Viscous(), Coulomb()])
BASE = find_base_parameters(MODEL)
RIGHT = references(MODEL.robot)
HEAVY = tuple(replace(r, parameters=2.0 * r.parameters) if r.link == 2 else r for r in RIGHT)


@cache
def truth() -> Array:
    p = np.nan_to_num(MODEL.reference)
    p[60:] = 1.0
    return p


def folds(level: float, seconds: float = 0.0, seed: int = 0) -> list[Fold]:
    """Ten stretches of a log of 40 s at 100 Hz with errors of a relative size that last for so long."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 40.0, 0.01)
    q, v, a = sines(rng, t, 6)
    torque = MODEL.inverse_dynamics(q, v, a, truth())
    noise = rng.normal(size=(len(t) + 1000, 6))
    if seconds:
        rho = np.exp(-0.01 / seconds)
        noise = lfilter([np.sqrt(1.0 - rho**2)], [1.0, -rho], noise, axis=0)
    torque += level * np.sqrt((torque**2).mean(axis=0)) * noise[1000:]
    cuts = [slice(len(t) * k // 10, len(t) * (k + 1) // 10) for k in range(10)]
    return [Fold(0, factorise(MODEL, [Chunk(q[c], v[c], a[c], torque[c])])) for c in cuts]


def chosen(parts: list[Fold], bodies=RIGHT) -> WeightChoice:
    return choose_weight(parts, BASE, Physics(bodies, LinkPrior()), "auto")


def test_data_count_less_the_longer_their_errors_last() -> None:
    white, lasting = chosen(folds(0.05)).dispersion, chosen(folds(0.05, 0.25)).dispersion
    assert white == pytest.approx(1.0, abs=0.35)
    assert 8.0 <= lasting <= 60.0  # the integral of the autocorrelation is 50 samples, less where torques change faster


@pytest.mark.parametrize("seconds", [0.0, 0.25])
def test_a_right_file_is_trusted_and_a_wrong_one_less(seconds: float) -> None:
    parts = folds(0.05, seconds)
    right, wrong = chosen(parts), chosen(parts, HEAVY)
    assert right.weight >= 1000.0
    assert wrong.weight < right.weight
    assert right.errors[right.weight] <= 1.01 * min(right.errors.values())


def test_masses_from_lasting_errors_stay_near_a_right_file() -> None:
    parts = folds(0.1, 0.25)
    log = merge_logs([part.factors for part in parts])
    choice, estimate = chosen(parts), weighted_least_squares([log], BASE)

    def off(weight: float, dispersion: float) -> float:
        physics = Physics(RIGHT, LinkPrior(weight=weight))
        found = physical_estimate([log], BASE, physics, estimate, "wls", dispersion).parameters
        return float(np.abs(np.log(found[:60:10] / truth()[:60:10])).max())

    assert off(choice.weight, choice.dispersion) <= 0.1
    assert off(1.0, choice.dispersion) < off(1.0, 1.0)


@pytest.mark.parametrize("bodies", [RIGHT, HEAVY], ids=["right", "wrong"])
def test_exact_torques_give_exact_base_parameters_whatever_the_file(bodies) -> None:
    parts = folds(0.0)
    log = merge_logs([part.factors for part in parts])
    choice = chosen(parts, bodies)
    physics = Physics(bodies, LinkPrior(weight=choice.weight))
    found = physical_estimate([log], BASE, physics, weighted_least_squares([log], BASE), "wls", choice.dispersion)
    b, expected = BASE.to_base(found.parameters), BASE.to_base(truth())
    assert np.abs(b - expected).max() <= 5e-4 * np.abs(expected).max()


def test_a_stated_weight_is_kept_and_guesses_are_not_weighed() -> None:
    parts = folds(0.05)
    assert choose_weight(parts, BASE, Physics(RIGHT, LinkPrior()), 3.0).weight == 3.0
    guesses = tuple(replace(r, origin=Origin.PLAIN) for r in RIGHT)
    assert chosen(parts, guesses).weight == 1.0
    few = parts[:2]
    assert not chosen(few).errors
    assert chosen(few).weight in THRESHOLDS.weights
    with pytest.raises(InvalidRequestError, match=r"physical\.weight"):
        choose_weight(few, BASE, Physics(RIGHT, LinkPrior()), "cross-validation")


@needs_logs
@pytest.mark.parametrize("terms", [["viscous", "coulomb", "offset"], ["armature", "viscous", "coulomb", "offset"]])
def test_the_links_of_the_ur10_weigh_about_what_its_file_says(terms: list[str]) -> None:
    robot = load_robot(example_robot_file("ur10_robot.urdf"))
    log = read_log(Path(os.environ["DYNID_DATASETS"]) / "ur10" / "ur10.db3", robot)
    half = len(log.time) // 2
    first = Log(time=log.time[:half], position=log.position[:half], torque=log.torque[:half])
    found = identify(robot, [first], terms)
    assert found.physical is not None
    assert found.physical.total_mass == pytest.approx(28.7, rel=0.15)  # 51.8 kg with samples counted as independent
    assert has(found.findings, "prior-weight")


@needs_logs
def test_the_links_of_the_ur10e_weigh_about_what_its_file_says() -> None:
    folder = Path(os.environ["DYNID_DATASETS"]) / "ur10e"
    robot = load_robot(folder / "ur10e.urdf")
    rows = np.loadtxt(folder / "motion_30s.csv", delimiter=",")[634:3510]
    constants = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # N m/A, from the data set's description
    log = Log(time=rows[:, 0], position=rows[:, 1:7], torque=rows[:, 13:19] * constants)
    found = identify(robot, [log], ["armature", "viscous", "coulomb", "offset"])
    assert found.physical is not None
    assert 22.0 <= found.physical.total_mass <= 30.0
