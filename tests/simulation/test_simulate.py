"""`simulate` in Python: from a robot and a motion to a log, with the truth behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid import DynidError, load_robot
from dynid.simulation.closed_loop import follow
from dynid.simulation.settings import SimulationSettings
from dynid.simulation.simulated_log import simulate, simulate_run
from tests.simulated import gentle

ROBOT = load_robot("builtin:two_link")


def test_a_log_without_noise_is_the_run(tmp_path: Path) -> None:
    found = simulate_run(ROBOT, gentle(ROBOT), terms=["viscous"])
    assert np.array_equal(found.log.torque, found.run.torque)
    assert np.array_equal(follow(found.robot, gentle(ROBOT)).torque, found.run.torque)
    assert found.rmse_tracking == pytest.approx(np.sqrt(np.mean(found.run.tracking_error**2)))
    assert found.to_dict()["samples"] == len(found.log)
    log, truth = found.save(tmp_path / "log.csv")
    assert log.exists()
    with np.load(truth, allow_pickle=False) as stored:
        assert np.array_equal(stored["torque"], found.run.torque)


def test_keywords_are_those_of_the_settings() -> None:
    stated = SimulationSettings.model_validate({"seed": 3, "rate": 500.0, "sensors": {"noise": 0.1}})
    one = simulate("builtin:two_link", gentle(ROBOT), noise=0.1, seed=3, rate=500.0)
    same = simulate(ROBOT, gentle(ROBOT), settings=stated)
    other = simulate(ROBOT, gentle(ROBOT), settings=stated, seed=4)
    assert np.array_equal(one.torque, same.torque)
    assert not np.array_equal(other.torque, same.torque)
    assert len(one) == 1000
    with pytest.raises(DynidError, match="no key 'seeds'; did you mean 'seed'"):
        simulate(ROBOT, gentle(ROBOT), seeds=3)
    with pytest.raises(DynidError, match="the key 'noise' is -1"):
        simulate(ROBOT, gentle(ROBOT), noise=-1.0)


def test_findings_have_codes() -> None:
    weak = simulate_run("builtin:lwr4", gentle(load_robot("builtin:lwr4")))
    assert [finding.code for finding in weak.findings] == ["inertia-made-up"]
    assert len(weak.findings[0].values["links"]) == 7
