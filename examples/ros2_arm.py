"""Record and play on a robot of ROS 2. NOT TESTED ON HARDWARE: read it before you run it.

    python ros2_arm.py record --topic /joint_states --seconds 35 --out run1.csv
    python ros2_arm.py play motion/trajectory.csv --action /joint_trajectory_controller/follow_joint_trajectory

`record` only listens. It writes t [s] and q_JOINT, v_JOINT, effort_JOINT of a `sensor_msgs/JointState` topic, with the
stamps of the messages. `ros2 bag record /joint_states` does as well: dynid reads bags.

`play` moves the robot: from where it is to the first posture (at 0.1 rad/s or m/s on average), then along the
trajectory at a tenth of its speed, or at what `--speed` says. Nothing checks the way to the first posture for
collisions. Look at the motion before (`dynid view`), keep people out of reach and a hand on the emergency stop.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

Rows = list[list[float]]


def read_trajectory(path: str) -> tuple[list[str], list[float], Rows, Rows, Rows]:
    """Joints, times [s], positions, velocities and accelerations of a `trajectory.csv` of `dynid excite`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if lines[0].startswith("#"):
        sys.exit(f"{path}: not played: {lines[0].lstrip('# ')}")
    header, *rows = csv.reader(lines)
    joints = [name.removeprefix("q_") for name in header if name.startswith("q_")]
    if header != ["t", *(f"{what}_{joint}" for what in "qva" for joint in joints)] or not joints:
        sys.exit(f"{path}: expected the columns t, q_JOINT, v_JOINT and a_JOINT, found {', '.join(header)}")
    numbers = [[float(cell) for cell in row] for row in rows]
    n = len(joints)
    q, v, a = ([row[1 + k * n : 1 + (k + 1) * n] for row in numbers] for k in range(3))
    return joints, [row[0] for row in numbers], q, v, a


def slowed(times: list[float], q: Rows, v: Rows, a: Rows, speed: float, start: float) -> list[dict[str, Any]]:
    """Points of the trajectory at a fraction of its speed: stamps [s] count from `start`, and derivatives shrink."""
    return [
        {
            "seconds": start + t / speed,
            "positions": q[k],
            "velocities": [speed * value for value in v[k]],
            "accelerations": [speed**2 * value for value in a[k]],
        }
        for k, t in enumerate(times)
    ]


def approach_time(here: dict[str, float], joints: list[str], first: list[float]) -> float:
    """Time [s] to the first posture, with no joint faster than 0.1 rad/s or m/s on average; at least 3 s."""
    return max(3.0, *(abs(here[joint] - there) / 0.1 for joint, there in zip(joints, first, strict=True)))


def record(topic: str, seconds: float, out: str) -> None:
    """Write a log."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node("dynid_record")
    with Path(out).open("x", newline="", encoding="utf-8") as stream:
        writer, joints, first, last = csv.writer(stream), [], None, 0.0

        def write(message: JointState) -> None:
            nonlocal joints, first, last
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            if first is None:
                joints, first = list(message.name), stamp
                writer.writerow(["t", *(f"{what}_{joint}" for what in ("q", "v", "effort") for joint in joints)])
            if set(message.name) != set(joints):
                return  # of another publisher
            order = [message.name.index(joint) for joint in joints]
            values = (message.position, message.velocity, message.effort)
            last = stamp - first
            writer.writerow([last, *(each[k] if len(each) else "nan" for each in values for k in order)])

        node.create_subscription(JointState, topic, write, qos_profile_sensor_data)
        while rclpy.ok() and last < seconds:
            rclpy.spin_once(node, timeout_sec=0.1)
    rclpy.shutdown()


def play(trajectory: str, action: str, topic: str, speed: float) -> None:
    """Send the trajectory as one goal, and wait for its end."""
    import rclpy
    from builtin_interfaces.msg import Duration
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectoryPoint

    joints, times, q, v, a = read_trajectory(trajectory)
    rclpy.init()
    node = rclpy.create_node("dynid_play")
    here: dict[str, float] = {}

    def look(message: JointState) -> None:
        here.update(zip(message.name, message.position, strict=True))

    node.create_subscription(JointState, topic, look, 10)
    while not set(joints) <= here.keys():
        rclpy.spin_once(node, timeout_sec=0.5)
    points = slowed(times, q, v, a, speed, approach_time(here, joints, q[0]))
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = joints
    for point in points:
        whole, part = divmod(round(1e9 * point.pop("seconds")), 10**9)
        goal.trajectory.points.append(JointTrajectoryPoint(time_from_start=Duration(sec=whole, nanosec=part), **point))
    client = ActionClient(node, FollowJointTrajectory, action)
    client.wait_for_server()
    sent = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sent)
    handle = sent.result()
    if handle is None or not handle.accepted:
        sys.exit(f"{action} refused the trajectory")
    done = handle.get_result_async()
    try:
        rclpy.spin_until_future_complete(node, done)
    except KeyboardInterrupt:
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
    rclpy.shutdown()


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action_name", required=True)
    recording, playing = actions.add_parser("record"), actions.add_parser("play")
    for each in (recording, playing):
        each.add_argument("--topic", default="/joint_states")
    recording.add_argument("--seconds", type=float, default=60.0)
    recording.add_argument("--out", default="run1.csv", help="a new file")
    playing.add_argument("trajectory", help="trajectory.csv of dynid excite")
    playing.add_argument("--action", default="/joint_trajectory_controller/follow_joint_trajectory")
    playing.add_argument("--speed", type=float, default=0.1, help="fraction of the trajectory's speed, up to 1")
    given = parser.parse_args(arguments)
    if given.action_name == "record":
        record(given.topic, given.seconds, given.out)
    elif not 0.0 < given.speed <= 1.0:
        parser.error("--speed must be above 0 and at most 1")
    elif input(f"The robot will move at {given.speed:.0%} of the trajectory's speed. Type 'move' to go on: ") == "move":
        play(given.trajectory, given.action, given.topic, given.speed)


if __name__ == "__main__":
    main()
