"""Uncertain gains in the covariance of a load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid.errors import ShapeError
from dynid.estimation import Factor
from dynid.estimation.payloads.load_problem import LOAD, LogRows, fit_of, weighed
from dynid.estimation.payloads.uncertain_gains import parts_of_joints, with_gain_uncertainty

NAMES = ("b", *(f"load {name}" for name in LOAD))
JOINTS = ("one", "two", "three")


def logs(scale: float = 1.0) -> LogRows:
    rng = np.random.default_rng(4)
    found = []
    for _ in range(2):
        made = {joint: Factor.of(NAMES, rng.normal(size=(40, 11)), rng.normal(size=40)) for joint in JOINTS}
        made["two"] = replace(made["two"], z=scale * made["two"].z)
        found.append(made)
    return found


def solved(rows: LogRows, stds: list[dict[str, float]]) -> np.ndarray:
    whole = weighed(rows, [{}, {}], stds, NAMES)
    return np.linalg.lstsq(whole.R, whole.z, rcond=None)[0][-10:]


def test_the_parts_of_joints_are_how_a_load_changes_with_their_gains() -> None:
    stds = [{"one": 1.0, "two": 0.5, "three": 2.0}, {"one": 0.7, "two": 1.5, "three": 1.0}]
    parts = parts_of_joints(logs(), [{}, {}], stds, NAMES, JOINTS)
    assert parts.sum(axis=1) == pytest.approx(solved(logs(), stds), rel=1e-9)
    change = (solved(logs(1.1), stds) - solved(logs(), stds)) / 0.1
    assert parts[:, 1] == pytest.approx(change, rel=1e-9)


def test_common_errors_of_gains_scale_the_whole_load() -> None:
    fit = fit_of(logs(), [{}, {}], NAMES)
    parts = parts_of_joints(logs(), [{}, {}], fit.stds, NAMES, JOINTS)
    common = with_gain_uncertainty(fit.covariance, parts, np.full((3, 3), 0.1**2))
    assert common - fit.covariance == pytest.approx(0.01 * np.outer(fit.parameters, fit.parameters), abs=1e-9)
    with pytest.raises(ShapeError):
        with_gain_uncertainty(fit.covariance, parts, np.ones(2))
