"""Bags as robots leave them: several publishers, clocks that begin at zero, missing numbers, other message types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg

from dynid.errors import DynidError
from dynid.experiment.first.first_experiment import init
from dynid.identification.pipeline import identify
from dynid.logs.quantities import joint_columns, time_column
from dynid.logs.tables import read_columns
from tests.bag_files import KINDS, LATEST, Messages, joint_states, write_bag
from tests.practice_logs import log

STATE = "sensor_msgs/msg/JointState"
NAMES = ("joint_1", "joint_2")
EPOCH = 1_700_000_000_000_000_000
COLUMNS = log()
T = COLUMNS["t"]
Q, TORQUE = (np.column_stack([COLUMNS[f"{name}_{k}"] for k in (1, 2)]) for name in ("q", "tau"))


def arm(kind: str, torque: np.ndarray = TORQUE, start: int = EPOCH) -> list:
    return list(joint_states(kind, NAMES, T, Q, torque, start=start))


def _with_gripper(kind: str) -> Messages:
    """A gripper that is there first, alone for 3 s at 1 kHz, and then rarely beside the arm."""
    still = np.zeros((3000, 1))
    alone = joint_states(kind, ["finger"], np.arange(3000) / 1000, still, still, None, EPOCH)
    later = joint_states(kind, ["finger"], T[::20], still, still, None, EPOCH + 4 * 10**9)
    return sorted([*alone, *later, *arm(kind, start=EPOCH + 4 * 10**9)], key=lambda pair: pair[0])


def _unset_at_first(kind: str) -> Messages:
    """Before its clock is set, the driver writes zero and, instead of torques, NaN."""
    messages = arm(kind)
    for _, message in messages[:7]:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    for _, message in messages[:30]:
        message.effort[:] = np.nan
    return messages


def _of_a_simulator(kind: str) -> Messages:
    return [(EPOCH + 2 * stamp, message) for stamp, message in arm(kind, start=0)]


def _twice(kind: str) -> Messages:
    return [pair for k, pair in enumerate(arm(kind)) for _ in range(2 if k % 50 == 7 else 1)]


def _one_message_a_joint(kind: str) -> Messages:
    parts = [
        joint_states(kind, NAMES[k : k + 1], T + k * 1e-6, Q[:, k : k + 1], TORQUE[:, k : k + 1], None, EPOCH)
        for k in (0, 1)
    ]
    return sorted([*parts[0], *parts[1]], key=lambda pair: pair[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made", [_with_gripper, _unset_at_first, _of_a_simulator, _twice, _one_message_a_joint])
def test_init_makes_an_experiment_that_runs(made: Callable[[str], Messages], kind: str, tmp_path: Path) -> None:
    path = write_bag(tmp_path / "run", kind, {"/joint_states": (STATE, made(kind))})
    first = init("builtin:two_link", path, folder=tmp_path)
    assert first.joints == NAMES
    (tmp_path / "first.toml").write_text(first.text + "\n[physical]\nfit = false\n")
    assert identify(tmp_path / "first.toml").relative_error < 0.01
    assert "rows = [" not in first.text  # what is missing is no reason to cut


def test_zero_stamps_are_those_of_the_recorder_where_no_header_has_one(tmp_path: Path) -> None:
    messages = [(EPOCH + stamp, message) for stamp, message in joint_states("mcap", NAMES, T, Q, TORQUE)]
    for _, message in messages:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    path = write_bag(tmp_path / "run", "mcap", {"/joint_states": (STATE, messages)})
    time = read_columns(path, columns=time_column(path, joint_columns(path, "position", NAMES)))
    assert np.allclose(time[:, 0], T, atol=1e-9)


@pytest.mark.parametrize(
    ("torque", "message"),
    [
        (np.zeros((len(T), 0)), "topic /joint_states has positions, but its efforts are empty"),
        (np.full((len(T), 2), np.nan), "effort/joint_1' holds nothing but NaN, Inf or missing values"),
    ],
)
def test_efforts_that_are_not_there_are_told(torque: np.ndarray, message: str, tmp_path: Path) -> None:
    path = write_bag(tmp_path / "run", "mcap", {"/joint_states": (STATE, arm("mcap", torque))})
    with pytest.raises(DynidError, match=message):
        init("builtin:two_link", path, folder=tmp_path)


def test_interfaces_of_dynamic_joint_states_are_fields(tmp_path: Path) -> None:
    kind, part = "control_msgs/msg/DynamicJointState", "control_msgs/msg/InterfaceValue"
    if kind not in LATEST.fielddefs:
        LATEST.register(get_types_from_msg("string[] interface_names\nfloat64[] values\n", part))
        text = "std_msgs/Header header\nstring[] joint_names\ncontrol_msgs/InterfaceValue[] interface_values\n"
        LATEST.register(get_types_from_msg(text, kind))
    header, stamp = LATEST.types["std_msgs/msg/Header"], LATEST.types["builtin_interfaces/msg/Time"]
    values: Any = LATEST.types[part]
    states: Any = [values(["effort", "position"], np.array([5.0, 0.5])), values(["position"], np.array([0.7]))]
    message = LATEST.types[kind](header(stamp(1, 0), ""), ["a", "b"], states)
    path = write_bag(tmp_path / "run", "mcap", {"/dynamic_joint_states": (kind, [(1, message)])})
    assert read_columns(path, columns=joint_columns(path, "position", ["b", "a"])).tolist() == [[0.7, 0.5]]
    with pytest.raises(DynidError, match="effort/b' holds nothing but NaN"):
        read_columns(path, columns=joint_columns(path, "torque", ["a", "b"]))


def test_lists_without_names_are_found_by_their_topics_and_can_be_named_by_hand(tmp_path: Path) -> None:
    kind, layout = "std_msgs/msg/Float64MultiArray", LATEST.types["std_msgs/msg/MultiArrayLayout"]([], 0)
    topics = {
        topic: (kind, [(round(t * 1e9), LATEST.types[kind](layout, row.copy())) for t, row in zip(T, of, strict=True)])
        for topic, of in (("/q", Q), ("/tau", TORQUE))
    }
    path = write_bag(tmp_path / "run", "mcap", topics)
    made = init("builtin:two_link", path, folder=tmp_path)
    assert made.experiment.log[0].position.topic == "/q"
    assert made.experiment.log[0].torques.topic == "/tau"
    assert not any(question.is_open for question in made.questions)
    where = ", ".join(f'{key} = "{{}}"' for key in ("file", "topic")) + ', field = "data", columns = ["0", "1"]'
    (tmp_path / "by_hand.toml").write_text(
        'robot = "builtin:two_link"\nterms = ["viscous", "coulomb"]\n[physical]\nfit = false\n[[log]]\n'
        f"position = {{ {where.format('run', '/q')} }}\ntorque = {{ {where.format('run', '/tau')} }}\n"
    )
    assert identify(tmp_path / "by_hand.toml").relative_error < 0.01


def test_parts_of_bags_are_told_what_they_lack(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "run", "mcap", {"/joint_states": (STATE, arm("mcap"))})
    (path / "metadata.yaml").unlink()
    with pytest.raises(DynidError, match=r"without its metadata\.yaml; .*, or name run\.mcap"):
        read_columns(path)
    (path / "run.mcap").rename(path / "run.mcap.zstd")
    with pytest.raises(DynidError, match="of a compressed bag, name its folder"):
        read_columns(path / "run.mcap.zstd")
