"""From raw logs to parameters, beside a plain script that does the same."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy import signal

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.identification.pipeline import identify
from dynid.model.terms import Term, parse_terms
from dynid.robot.pinocchio import to_pinocchio

EXAMPLE = Path(__file__).parents[1] / "examples" / "tx40.toml"
THRESHOLDS = [0.05009095, 0.05009095, 0.07504916, 0.0715585, 0.05585054, 0.12217305]

pytestmark = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="DYNID_DATASETS does not name the folder of logs"
)


@pytest.mark.benchmark(group="TX40, from raw CSV to a saved result")
def test_dynid(benchmark, tmp_path: Path) -> None:
    def run() -> None:
        identify(EXAMPLE).save(tmp_path / "result", overwrite=True)

    run()
    benchmark(run)


@pytest.mark.benchmark(group="TX40, from raw CSV to a saved result")
def test_plain_script(benchmark) -> None:
    benchmark.pedantic(plain_script, rounds=2)


def plain_script() -> np.ndarray:
    """NumPy, SciPy and a loop over Pinocchio's regressor."""
    folder = Path(os.environ["DYNID_DATASETS"]) / "tx40"
    motor, torque = (
        np.loadtxt(folder / f"motor_{what}.csv", delimiter=",", skiprows=1) for what in ("position", "torque")
    )
    N = np.diag([32, 32, 45, -48, 45, 32.0])
    N[5, 4] = 32
    sections = signal.butter(4, 100, fs=5000, output="sos")
    q = signal.sosfiltfilt(sections, motor @ np.linalg.inv(N).T, axis=0)
    v = np.gradient(q, 1 / 5000, axis=0)
    a = np.gradient(v, 1 / 5000, axis=0)
    q, v, a, tau = (x[20:-20] for x in (q, v, a, torque @ N))
    robot = load_robot("builtin:tx40")
    terms: tuple[Term, ...] = parse_terms(["viscous", "coulomb", "offset", "armature", "coupling"], robot)
    columns = list(find_base_parameters(DynamicModel(robot, terms)).columns)
    model = to_pinocchio(robot)
    data = model.createData()
    W = np.empty((len(q), 6, 60))
    for k in range(len(q)):
        W[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
    W = np.concatenate([W.transpose(1, 0, 2), *(term.columns(robot, q, v, a) for term in terms)], axis=2)[..., columns]

    def thin(x: np.ndarray) -> np.ndarray:
        return signal.decimate(signal.decimate(x, 10, axis=0), 10, axis=0)

    speed, y = np.abs(thin(v)), thin(tau)
    kept = [speed[:, j] >= THRESHOLDS[j] for j in range(6)]
    rows = np.concatenate([thin(W[j])[kept[j]] for j in range(6)])
    return np.linalg.lstsq(rows, np.concatenate([y[kept[j], j] for j in range(6)]), rcond=None)[0]
