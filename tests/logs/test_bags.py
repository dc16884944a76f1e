"""Bags: joints by name, stamps of headers, in every format of ROS; and what is wrong with those that cannot be used."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg

from dynid.errors import DynidError
from dynid.experiment.first.first_experiment import init
from dynid.identification.pipeline import identify
from dynid.logs.quantities import joint_columns, time_column
from dynid.logs.readers.bags import bag, topics_of
from dynid.logs.tables import read_columns
from tests.bag_files import KINDS, LATEST, joint_states, write_bag
from tests.datasets import needs_logs
from tests.practice_logs import log

ROOT = Path(__file__).parents[2]
STATE = "sensor_msgs/msg/JointState"
T = np.arange(60) / 100
Q = np.column_stack([np.sin(T), np.cos(T), T])
TORQUE = 3.0 * Q[:, ::-1]
NAMES = ("elbow", "wrist", "gripper")
EPOCH = 1_700_000_000_000_000_000


def small(path: Path, kind: str, **more: tuple) -> Path:
    states = joint_states(kind, NAMES, T, Q, TORQUE, Q, EPOCH)
    return write_bag(path / "run", kind, {"/joint_states": (STATE, states), **more})


@pytest.mark.parametrize("kind", KINDS)
def test_joints_are_found_by_name_and_stamps_come_from_headers(kind: str, tmp_path: Path) -> None:
    path = small(tmp_path, kind)
    columns = joint_columns(path, "position", ["wrist", "elbow"])
    assert np.array_equal(read_columns(path, columns=columns), Q[:, [1, 0]])
    assert np.array_equal(read_columns(path, columns=joint_columns(path, "torque", NAMES)), TORQUE)
    assert np.array_equal(read_columns(path, columns=time_column(path, columns))[:, 0], np.round(T * 1e9) / 1e9)
    file = next(tmp_path.glob("run*/*.db3"), path)
    assert topics_of(file)[0].keys("velocity") == NAMES  # a database by itself, without its folder


@pytest.mark.parametrize("kind", KINDS)
def test_messages_that_lack_a_joint_are_left_out(kind: str, tmp_path: Path) -> None:
    arm = joint_states(kind, NAMES[:2], T, Q[:, :2], TORQUE[:, :2])
    hand = joint_states(kind, NAMES[2:], T + 0.001, Q[:, 2:], TORQUE[:, 2:])
    both = sorted([*arm, *hand], key=lambda pair: pair[0])
    path = write_bag(tmp_path / "run", kind, {"/joint_states": (STATE, both)})
    assert np.array_equal(read_columns(path, columns=joint_columns(path, "position", NAMES[:2])), Q[:, :2])
    both = read_columns(path, columns=joint_columns(path, "position", ["elbow", "gripper"]))
    assert np.allclose(both[1:], np.column_stack([Q[1:, 0], Q[1:, 2] - 0.001]), atol=1e-12)  # joined in time


def test_topics_of_other_rates_are_interpolated_to_the_slower_one(tmp_path: Path) -> None:
    fast = np.arange(600) / 1000
    line = np.column_stack([2.0 * fast])
    path = write_bag(
        tmp_path / "two",
        "mcap",
        {
            "/slow": (STATE, joint_states("mcap", ["elbow"], T, Q[:, :1], Q[:, :1])),
            "/fast": (STATE, joint_states("mcap", ["elbow"], fast, line, line)),
        },
    )
    found = read_columns(path, columns=["/slow/time", "/fast/effort/elbow"])
    assert np.allclose(found[:, 1], 2.0 * found[:, 0], atol=1e-12)
    assert len(found) == len(T)


def test_controller_states_and_wrenches_are_read(tmp_path: Path) -> None:
    point = "trajectory_msgs/JointTrajectoryPoint"
    text = f"std_msgs/Header header\nstring[] joint_names\n{point} desired\n{point} actual\n{point} error\n"
    kind = "control_msgs/msg/JointTrajectoryControllerState"
    LATEST.register(get_types_from_msg(text, kind)) if kind not in LATEST.fielddefs else None
    types = LATEST.types
    stamp, zero = types["builtin_interfaces/msg/Time"], np.zeros(0)
    header = types["std_msgs/msg/Header"](stamp(3, 5), "")
    pause = types["builtin_interfaces/msg/Duration"](0, 0)
    points = [
        types["trajectory_msgs/msg/JointTrajectoryPoint"](np.array([k, -k]), zero, zero, np.array([2.0 * k, k]), pause)
        for k in (1.0, 2.0)
    ]
    state = types[kind](header, ["a", "b"], points[1], points[0], points[1])
    vector = types["geometry_msgs/msg/Vector3"]
    wrench = types["geometry_msgs/msg/Wrench"](vector(1.0, 2.0, 3.0), vector(4.0, 5.0, 6.0))
    stamped = types["geometry_msgs/msg/WrenchStamped"](header, wrench)
    topics = {
        "/arm/state": (kind, [(9, state)]),
        "/ft": ("geometry_msgs/msg/WrenchStamped", [(9, stamped)]),
    }
    path = write_bag(tmp_path / "run", "mcap", topics)
    assert read_columns(path, columns=joint_columns(path, "position", ["b", "a"])).tolist() == [[-1.0, 1.0]]
    assert read_columns(path, columns=joint_columns(path, "torque", ["a", "b"])).tolist() == [[2.0, 1.0]]
    assert read_columns(path, columns="/ft/wrench.*").tolist() == [[1, 2, 3, 4, 5, 6]]


def test_joints_topics_and_fields_that_are_not_there_are_named_with_the_nearest(tmp_path: Path) -> None:
    path = small(tmp_path, "mcap")
    with pytest.raises(DynidError, match="'elbo' has no 'position' on topic /joint_states; did you mean 'elbow'"):
        joint_columns(path, "position", ["elbo"])
    with pytest.raises(DynidError, match="did you mean '/joint_states'"):
        joint_columns(path, "position", ["elbow"], "/joint_state")
    with pytest.raises(DynidError, match="its fields are position, velocity, effort"):
        joint_columns(path, "position", ["elbow"], "/joint_states", "positions")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_truncated_bag_is_one_sentence(kind: str, share: float, tmp_path: Path) -> None:
    path = small(tmp_path, kind)
    file = path if path.is_file() else next(f for f in path.iterdir() if f.suffix != ".yaml")
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DynidError, match=r"damaged, cut off|cut off; copy"):
        joint_columns(file, "position", NAMES)


def test_a_bag_without_joint_states_lists_its_topics(tmp_path: Path) -> None:
    text = LATEST.types["std_msgs/msg/String"]
    path = write_bag(tmp_path / "run", "mcap", {"/chatter": ("std_msgs/msg/String", [(1, text("hello"))])})
    with pytest.raises(DynidError, match=r"its topics are /chatter \(std_msgs/msg/String\)"):
        joint_columns(path, "position", NAMES)
    with pytest.raises(DynidError, match=r"/chatter \(std_msgs/msg/String\)"):
        init("builtin:two_link", path, folder=tmp_path)


def test_two_robots_in_one_bag_are_told(tmp_path: Path) -> None:
    states = joint_states("mcap", NAMES, T, Q, TORQUE)
    path = write_bag(tmp_path / "two", "mcap", {f"/{side}/joint_states": (STATE, states) for side in ("left", "right")})
    with pytest.raises(DynidError, match=r"two robots in one bag.*topic = '/left/joint_states'"):
        joint_columns(path, "position", NAMES)
    columns = joint_columns(path, "position", NAMES, "/right/joint_states")
    assert np.array_equal(read_columns(path, columns=columns), Q)


def test_two_senders_on_one_topic_are_told(tmp_path: Path) -> None:
    from rosbags.rosbag1 import Writer

    from tests.bag_files import NOETIC

    path = tmp_path / "two.bag"
    with Writer(path) as writer:
        for sender in ("/left", "/right"):
            link = writer.add_connection("/joint_states", STATE, typestore=NOETIC, callerid=sender)
            for stamp, message in joint_states("bag", NAMES, T, Q if sender == "/left" else 2.0 * Q, TORQUE):
                writer.write(link, stamp, NOETIC.serialize_ros1(message, STATE))
    with pytest.raises(DynidError, match="2 senders publish the same joints on topic /joint_states"):
        read_columns(path, columns=joint_columns(path, "position", NAMES))


def test_a_message_type_that_nobody_defines_is_named(tmp_path: Path) -> None:
    kind = "secret_msgs/msg/State"
    if kind not in LATEST.fielddefs:
        LATEST.register(get_types_from_msg("string[] name\nfloat64[] position\n", kind))
    message = LATEST.types[kind](["elbow"], np.array([1.0]))
    path = write_bag(tmp_path / "run", "db3", {"/secret": (kind, [(1, message)])})
    assert topics_of(path)[0].keys("position") == ("elbow",)  # the bag itself defines it
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    database = sqlite3.connect(next(copy.glob("*.db3")))
    database.execute("UPDATE message_definitions SET encoded_message_definition = ''")
    database.commit()
    database.close()
    with pytest.raises(DynidError, match=f"the message type {kind} of topic /secret is unknown"):
        joint_columns(copy, "position", ["elbow"], "/secret")


def test_memory_does_not_grow_with_what_is_not_asked_for(tmp_path: Path) -> None:
    image, header = LATEST.types["sensor_msgs/msg/Image"], LATEST.types["std_msgs/msg/Header"]
    stamp = LATEST.types["builtin_interfaces/msg/Time"]
    blob = np.random.default_rng(0).integers(0, 255, 500_000).astype(np.uint8)
    images = [(k, image(header(stamp(0, k), ""), 500, 1000, "mono8", 0, 1000, blob)) for k in range(60)]
    path = small(tmp_path, "mcap", **{"/camera": ("sensor_msgs/msg/Image", images)})
    columns = joint_columns(path, "position", NAMES)
    source = bag(path)
    wanted = [source.names.index(column) for column in columns]
    tracemalloc.start()
    source.load(wanted)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000  # the bag has 30 MB


EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]

[[log]]
position = {{ file = "{file}", topic = "/joint_states" }}
torque = {{ file = "{file}" }}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_an_experiment_on_a_bag_and_the_one_that_init_writes_run(kind: str, tmp_path: Path) -> None:
    columns = log()
    q, torque = (np.column_stack([columns[f"{name}_{k}"] for k in (2, 1)]) for name in ("q", "tau"))
    states = joint_states(kind, ["joint_2", "joint_1"], columns["t"], q, torque)
    path = write_bag(tmp_path / "run", kind, {"/joint_states": (STATE, states)})
    (tmp_path / "by_hand.toml").write_text(EXPERIMENT.format(file=path.name))
    found = identify(tmp_path / "by_hand.toml")
    assert found.relative_error < 0.01
    made = init("builtin:two_link", path, folder=tmp_path)
    (tmp_path / "made.toml").write_text(made.text)
    again = identify(tmp_path / "made.toml")
    assert again.relative_error < 0.01
    assert made.locked == ()


PLAIN = "\n[physical]\nfit = false\n[estimation]\nbootstrap = false\n"


@pytest.fixture(scope="module")
def panda(tmp_path_factory: pytest.TempPathFactory):
    """The Panda's log as arrays, and the estimates from its text."""
    folder = Path(os.environ["DYNID_DATASETS"]) / "panda"
    arrays = [np.loadtxt(folder / "time.txt")]
    arrays += [np.loadtxt(folder / f"{name}.txt").reshape(-1, 7) for name in ("positions", "torques")]
    path = tmp_path_factory.mktemp("panda") / "text.toml"
    path.write_text((ROOT / "examples" / "panda.toml").read_text() + PLAIN)
    return arrays, identify(path).parameters


@needs_logs
@pytest.mark.parametrize("kind", KINDS)
def test_the_panda_log_as_a_bag_gives_the_same_estimates_as_its_text(kind: str, panda, tmp_path: Path) -> None:
    (time, q, torque), of_text = panda
    order = [3, 0, 1, 2, 6, 5, 4]  # messages need not have the robot's order
    names = [f"joint_{k + 1}" for k in order]
    states = joint_states(kind, names, time, q[:, order], torque[:, order], start=EPOCH)
    path = write_bag(tmp_path / "panda", kind, {"/joint_states": (STATE, states)})
    text = (ROOT / "examples" / "panda.toml").read_text() + PLAIN
    start, end = text.index("[[log]]"), text.index("[processing]")
    log_table = f'[[log]]\nposition = {{ file = "{path}" }}\ntorque = {{ file = "{path}" }}\n\n'
    (tmp_path / "bag.toml").write_text(text[:start] + log_table + text[end:])
    of_bag = identify(tmp_path / "bag.toml").parameters
    assert np.allclose(of_bag.values, of_text.values, rtol=1e-9, atol=0.0)
