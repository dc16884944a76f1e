"""Bags for tests, written by the rosbags library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

KINDS = ("bag", "db3", "mcap")
LATEST, NOETIC = get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC)

Messages = Sequence[tuple[int, Any]]
"""Stamps [ns] and messages."""


def joint_states(
    kind: str,
    names: Sequence[str],
    time: np.ndarray,
    q: np.ndarray,
    torque: np.ndarray,
    v: np.ndarray | None = None,
    start: int = 0,
) -> Messages:
    """Messages of `sensor_msgs/JointState`; stamps [s] are counted from `start` [ns]."""
    store = NOETIC if kind == "bag" else LATEST
    state, header, moment = (
        store.types[name]
        for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    messages = []
    for k in range(len(time)):
        stamp = start + round(time[k] * 1e9)
        of = {"seq": k} if kind == "bag" else {}
        head = header(stamp=moment(stamp // 10**9, stamp % 10**9), frame_id="", **of)
        speed = np.zeros(0) if v is None else np.array(v[k], dtype=float)
        message = state(head, list(names), np.array(q[k], dtype=float), speed, np.array(torque[k], dtype=float))
        messages.append((stamp, message))
    return messages


def write_bag(path: Path, kind: str, topics: Mapping[str, tuple[str, Messages]]) -> Path:
    """Write a bag of some topics, each with its message type; gives the path to read."""
    store: Any = NOETIC if kind == "bag" else LATEST
    if kind == "bag":
        path = path.with_suffix(".bag")
        writer: Any = Writer1(path)
        serialize: Callable[..., Any] = store.serialize_ros1
    else:
        plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
        writer = Writer2(path, version=9, storage_plugin=plugin)
        serialize = store.serialize_cdr
    with writer:
        for topic, (of, messages) in topics.items():
            link = writer.add_connection(topic, of, typestore=store)
            for stamp, message in messages:
                writer.write(link, stamp, serialize(message, of))
    return path
