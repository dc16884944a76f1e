"""Commands are held until the next one, wherever they are read: never interpolated, never missing, never a clock."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid import Log
from dynid.logs import LogSource, Quantity, read_source
from tests.bag_files import joint_states, write_bag

T = np.arange(200) / 100
Q = np.column_stack([np.sin(3 * T), np.cos(2 * T)])
V = np.column_stack([3 * np.cos(3 * T), -2 * np.sin(2 * T)])
NEW = np.arange(3, 200, 10)
"""Samples at which there is a new command; the first one comes after samples of the robot."""

HELD = np.clip((np.arange(200) - 3) // 10, 0, None)
"""Which command acts at each sample."""

GAINS: Any = {"kp": 20.0, "kd": 0.5}
STEPS = np.column_stack([np.where(np.arange(20) % 2, 0.4, -0.3), np.where(np.arange(20) % 3, 0.1, 0.5)])
SPARSE = np.full_like(Q, np.nan)
SPARSE[NEW] = STEPS
LAW = 20.0 * (STEPS[HELD] - Q) - 0.5 * V

KP, KD = np.array(20.0), np.array(0.5)


def csv(path: Path, columns: dict[str, np.ndarray]) -> str:
    """A file of columns, with blank cells where there is no number."""
    rows = np.column_stack(list(columns.values()))
    lines = [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return str(path)


def motion() -> dict[str, np.ndarray]:
    return {"t": T, "q1": Q[:, 0], "q2": Q[:, 1], "v1": V[:, 0], "v2": V[:, 1]}


def read(file: str, command: dict, **more: object) -> Log:
    parts = {"position": "q*", "velocity": "v*", "time": "t"}
    own = {role: Quantity(file=file, columns=columns) for role, columns in parts.items()}
    return read_source(LogSource(**own, position_command=Quantity(**command), **{"kp": 20.0, "kd": 0.5, **more}))


def test_blank_cells_between_commands_are_held_and_no_torque_is_missing(tmp_path: Path) -> None:
    file = csv(tmp_path / "run.csv", motion() | {"c1": SPARSE[:, 0], "c2": SPARSE[:, 1]})
    log = read(file, {"file": file, "columns": "c*"})
    assert np.array_equal(log.commands.position, STEPS[HELD])
    assert np.allclose(log.torque, LAW, atol=1e-12)
    assert log.missing is None
    cut = read(file, {"file": file, "columns": "c*"}, rows=(14, 22))  # no new command but the last in front of it
    assert np.allclose(cut.torque, LAW[14:22], atol=1e-12)
    assert [finding.code for finding in log.findings if "missing" in finding.code] == []


def test_gaps_of_positions_do_not_count_and_delays_act_on_whole_commands(tmp_path: Path) -> None:
    columns = motion() | {"c1": SPARSE[:, 0], "c2": SPARSE[:, 1]}
    columns["q1"] = np.where(np.arange(200) == 77, np.nan, Q[:, 0])
    file = csv(tmp_path / "run.csv", columns)
    for law in ("continuous", "sampled"):
        log = read(file, {"file": file, "columns": "c*"}, command_delay=0.004, law=law)
        assert log.missing is not None
        assert np.argwhere(np.asarray(log.missing)).tolist() == [[77, 0]]
        whole = Log(T, Q, velocity=V, position_command=STEPS[HELD], **GAINS, command_delay=0.004, law=law)
        assert np.allclose(log.torque, whole.torque, atol=1e-3)


@pytest.mark.parametrize("start", [0.0, 1.7e9])
def test_commands_of_a_file_with_its_own_time_are_held(start: float, tmp_path: Path) -> None:
    file = csv(tmp_path / "run.csv", {**motion(), "t": start + T})
    commands = csv(tmp_path / "commands.csv", {"at": start + T[NEW], "c1": STEPS[:, 0], "c2": STEPS[:, 1]})
    log = read(file, {"file": commands, "columns": "c*", "time": "at"})
    assert np.array_equal(log.commands.position, STEPS[HELD])
    assert np.allclose(log.torque, LAW, atol=1e-12)


def test_one_column_of_gains_with_blank_cells_is_for_all_joints(tmp_path: Path) -> None:
    kp = np.where(np.arange(200) < 100, 20.0, 10.0)
    cells = np.where(np.isin(np.arange(200), [0, 100]), kp, np.nan)
    file = csv(tmp_path / "run.csv", motion() | {"c1": SPARSE[:, 0], "c2": SPARSE[:, 1], "kp": cells})
    log = read(file, {"file": file, "columns": "c*"}, kp=Quantity(file=file, columns="kp"))
    assert np.array_equal(log.commands.kp, np.column_stack([kp, kp]))
    again = Log(T, Q, velocity=V, position_command=STEPS[HELD], kp=kp[:, None], kd=GAINS["kd"])
    assert np.allclose(log.torque, again.torque, atol=1e-12)


def test_arrays_with_gaps_have_the_torques_of_arrays_without(tmp_path: Path) -> None:
    q, stamps = Q.copy(), T.copy()
    q[80:140] = np.nan  # too long to be interpolated
    stamps[5] = np.nan
    kp = np.column_stack([np.linspace(10.0, 20.0, 200), np.full(200, 15.0)])
    more = {"velocity": V, "kp": kp, "kd": [0.5, 0.2], "effort_limit": [3.0, 2.0], "command_delay": 0.0}
    log = Log.with_gaps(stamps, q, position_command=SPARSE, **more)
    rows = np.r_[0:80, 140:200]
    expected = Log(T, Q, position_command=STEPS[HELD], **more)
    assert np.array_equal(log.position, Q[rows])
    assert np.array_equal(log.commands.kp, kp[rows])
    near = ~np.isin(rows, [79, 140])  # means over the time around stamps reach into the gap
    assert np.allclose(log.torque[near], expected.torque[rows][near], atol=1e-9)
    assert np.abs(log.torque).max() <= 3.0
    assert log.is_commanded


def test_stamps_that_repeat_leave_finite_torques(tmp_path: Path) -> None:
    stamps = T.copy()
    stamps[50] = stamps[49]
    log = Log.with_gaps(stamps, Q, position_command=SPARSE, kp=20.0, kd=0.5)
    assert np.isfinite(log.torque).all()


def test_commands_on_a_slower_topic_are_held_and_are_no_clock(tmp_path: Path) -> None:
    state = joint_states("mcap", ["a", "b"], T, Q, LAW, V, start=5 * 10**9)
    commands = joint_states("mcap", ["a", "b"], T[NEW], STEPS, STEPS, start=5 * 10**9)
    kind = "sensor_msgs/msg/JointState"
    path = str(write_bag(tmp_path / "run", "mcap", {"/states": (kind, state), "/commands": (kind, commands)}))

    def of(topic: str, field: str) -> Quantity:
        return Quantity(file=path, topic=topic, field=field, columns=("a", "b"))

    own: dict[str, Any] = {"position": of("/states", "position"), "velocity": of("/states", "velocity")}
    law: dict[str, Any] = {"position_command": of("/commands", "position"), "kp": 20.0, "kd": 0.5}
    log = read_source(LogSource.model_validate(own | law))
    assert np.allclose(log.time, T, atol=1e-12)
    assert np.array_equal(log.position, Q)
    assert np.array_equal(log.commands.position, STEPS[HELD])
