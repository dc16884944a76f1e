"""Logs that carry known loads: what is identified and validated is the robot without them."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import Log
from dynid.errors import InvalidRequestError
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.identification.log_factors import Reduction, key_of
from dynid.logs import Drive, Processing, prepare
from dynid.model import Chunk, loaded
from dynid.robot import Load, with_load

TERMS = ["viscous", "coulomb"]
QUICK: dict[str, Any] = {"physical": {"fit": False}, "estimation": {"bootstrap": False}}
PLAIN = {"lowpass": "none", "automatic": False}
TOOL = Load.of_numbers(2.0, (0.1, -0.05, 0.2), (0.02, 0.001, 0.03, -0.002, 0.003, 0.025))
OTHER = Load.of_numbers(0.7, (0.0, 0.1, 0.05))


def _log(load: Load | None = None, seed: int = 0, samples: int = 800) -> Log:
    """Exact torques of a two-link arm that carries a load, as the log says."""
    rng = np.random.default_rng(seed)
    robot = dynid.load_robot("builtin:two_link")
    t = np.arange(samples) / 100.0
    waves = [a * np.sin(w * t[:, None] + p) for a, w, p in zip(*rng.uniform(0.3, 3.0, (3, 4, 2)), strict=True)]
    q = np.sum(waves, axis=0)
    v, a = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    moving = robot if load is None else with_load(robot, load)
    model = dynid.DynamicModel(moving, TERMS)
    friction = np.array([0.3, 0.2, 0.5, 0.1])
    p = np.concatenate([moving.parameters, friction])
    return Log(time=t, position=q, torque=model.inverse_dynamics(q, v, a, p), name=f"run {seed}", load=load)


def _identified(logs: list[Log]) -> dynid.Result:
    return dynid.identify("builtin:two_link", logs, TERMS, processing=PLAIN, **QUICK)


def _values(result: dynid.Result) -> np.ndarray:
    return np.array([row.value for row in result.record.parameters])


@cache
def _free(count: int) -> dynid.Result:
    """The result of logs without loads."""
    return _identified([_log(None, seed) for seed in range(count)])


def test_known_loads_leave_the_parameters_of_the_robot_alone() -> None:
    found = _identified([_log(load, seed) for seed, load in enumerate((TOOL, OTHER))])
    np.testing.assert_allclose(_values(found), _values(_free(2)), rtol=1e-9, atol=1e-9)


def test_a_log_with_a_known_load_validates_as_one_without() -> None:
    errors = [dynid.validate(_free(2), _log(load, 2)).relative_error for load in (None, TOOL)]
    assert max(errors) < 1e-9
    assert dynid.validate(_free(2), replace(_log(TOOL, 2), load=None)).relative_error > 0.1


def test_a_long_log_on_disk_has_its_load_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynid.logs.processing.long_preparation.LONG_SAMPLES", 100)
    model, plain = dynid.DynamicModel("builtin:two_link", TERMS), Processing(automatic=False)
    free, carrying = (prepare(_log(load), model, Drive(), plain) for load in (None, TOOL))
    assert not isinstance(carrying.segments[0], Chunk)
    for one, other in zip(free.segments, carrying.segments, strict=True):
        np.testing.assert_allclose(loaded(other).torque, loaded(one).torque, atol=1e-2)  # derivatives differ at ends
        np.testing.assert_allclose(loaded(other).torque[5:-5], loaded(one).torque[5:-5], atol=1e-9)


def test_reduced_logs_of_different_loads_are_kept_apart() -> None:
    from dynid.identification.task import Task

    task = Task.of("builtin:two_link", _log(), TERMS)
    reduction = Reduction(task.model, task.model, task.drive, task.processing, None, 1)  # type: ignore[arg-type]
    reduction._cached["facts"] = {}
    heavier = Load.of_numbers(2.0 + 1e-12, TOOL.center_of_mass, tuple(TOOL.six))
    logs = [_log(None), _log(TOOL), _log(heavier)]
    assert len({key_of(log, reduction) for log in logs}) == 3


def test_unknown_loads_are_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidRequestError, match="dynid payload"):
        dynid.identify("builtin:two_link", replace(_log(), load="gripper"))
    with pytest.raises(InvalidRequestError, match="no signs"):
        dynid.identify("builtin:two_link", _log(TOOL), torque="magnitude")
    amperes = {"torque_constants": "unknown"}
    with pytest.raises(InvalidRequestError, match="torque_constants"):
        dynid.identify("builtin:two_link", _log(TOOL), TERMS, drive=amperes)


TEXT = """physical = { fit = false }
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]
processing = { automatic = false }
{load}
[[log]]
name = "free"
position = { file = "a.csv", columns = ["q1", "q2"] }
torque = { file = "a.csv", columns = ["t1", "t2"] }
rate = 100.0

[[log]]
name = "loaded"
load = "tool"
position = { file = "b.csv", columns = ["q1", "q2"] }
torque = { file = "b.csv", columns = ["t1", "t2"] }
rate = 100.0
"""
KNOWN = """
[[load]]
name = "tool"
mass = 2.0
center_of_mass = [0.1, -0.05, 0.2]
inertia = [0.02, 0.001, 0.03, -0.002, 0.003, 0.025]
"""


def test_an_experiment_names_its_loads(tmp_path) -> None:
    for name, log in (("a", _log(None, 0)), ("b", _log(TOOL, 1))):
        table = np.column_stack([log.position, log.torque])
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header="q1,q2,t1,t2", comments="", fmt="%.17g")
    path = tmp_path / "arm.toml"
    path.write_text(TEXT.replace("{load}", KNOWN))
    result = dynid.identify(path)
    np.testing.assert_allclose([row.value for row in result.record.parameters], _values(_free(2)), rtol=1e-9, atol=1e-9)
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    loads = [log.carried for log in again.task.logs if not isinstance(log, Log)]
    assert loads[0] is None
    assert isinstance(loads[1], Load)
    np.testing.assert_array_equal(loads[1].parameters, TOOL.parameters)
    path.write_text(TEXT.replace("{load}", ""))
    with pytest.raises(ExperimentError, match=r"\[\[load\]\]"):
        read_experiment(path)
    path.write_text(TEXT.replace("{load}", KNOWN.replace("0.02,", "0.2,")))
    with pytest.raises(ExperimentError, match="could not exist"):
        read_experiment(path)
