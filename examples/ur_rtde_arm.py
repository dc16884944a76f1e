"""Record and play on a UR arm over RTDE. NOT TESTED ON HARDWARE: read it before you run it.

    pip install ur_rtde
    python ur_rtde_arm.py record 192.168.1.10 --seconds 35 --out run1.csv
    python ur_rtde_arm.py play 192.168.1.10 motion/trajectory.csv

`record` only reads. It writes t [s], q_1 ... q_6 [rad], v_1 ... v_6 [rad/s] and current_1_A ... current_6_A [A], which
`dynid init` reads as they are. Record currents, not `getJointTorques`: those have gravity and friction taken off.

`play` moves the arm: slowly to the first posture, then along the trajectory at a tenth of its speed, or at what
`--speed` says. Nothing checks the way to the first posture for collisions. Look at the motion before (`dynid view`),
keep people out of reach and a hand on the emergency stop. To record while it plays, run `record` in another terminal.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

Rows = list[list[float]]
JOINTS = 6


def read_trajectory(path: str) -> tuple[list[float], Rows, Rows]:
    """Times [s], positions [rad] and velocities [rad/s] of a `trajectory.csv` of `dynid excite`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if lines[0].startswith("#"):
        sys.exit(f"{path}: not played: {lines[0].lstrip('# ')}")
    header, *rows = csv.reader(lines)
    q, v = ([k for k, name in enumerate(header) if name.startswith(start)] for start in ("q_", "v_"))
    if header[0] != "t" or not len(q) == len(v) == JOINTS:
        sys.exit(f"{path}: expected the columns t, q_JOINT and v_JOINT of {JOINTS} joints, found {', '.join(header)}")
    numbers = [[float(cell) for cell in row] for row in rows]
    return (
        [row[0] for row in numbers],
        [[row[k] for k in q] for row in numbers],
        [[row[k] for k in v] for row in numbers],
    )


def set_points(times: list[float], q: Rows, v: Rows, speed: float, step: float) -> Rows:
    """Positions every `step` seconds on the trajectory at a fraction of its speed (cubic between samples)."""
    points, k = [], 0
    for n in range(int(times[-1] / speed / step) + 1):
        t = n * step * speed
        while k < len(times) - 2 and times[k + 1] <= t:
            k += 1
        width = times[k + 1] - times[k]
        s = min((t - times[k]) / width, 1.0)
        a, b, c, d = 2 * s**3 - 3 * s**2 + 1, s**3 - 2 * s**2 + s, 3 * s**2 - 2 * s**3, s**3 - s**2
        states = zip(q[k], v[k], q[k + 1], v[k + 1], strict=True)
        points.append([a * q0 + b * width * v0 + c * q1 + d * width * v1 for q0, v0, q1, v1 in states])
    return [*points, q[-1]]


def record(host: str, seconds: float, rate: float, out: str) -> None:
    """Write a log; each sample has the controller's own time stamp, and is written once."""
    from rtde_receive import RTDEReceiveInterface

    robot = RTDEReceiveInterface(host, rate)
    names = [f"{what}_{k + 1}{unit}" for what, unit in (("q", ""), ("v", ""), ("current", "_A")) for k in range(JOINTS)]
    with Path(out).open("x", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["t", *names])
        first = last = robot.getTimestamp()
        while last - first < seconds and robot.isConnected():
            now = robot.getTimestamp()
            if now > last:
                writer.writerow([now - first, *robot.getActualQ(), *robot.getActualQd(), *robot.getActualCurrent()])
                last = now
            time.sleep(0.2 / rate)


def play(host: str, trajectory: str, speed: float, rate: float) -> None:
    """Move to the first posture, then along the trajectory."""
    from rtde_control import RTDEControlInterface

    points = set_points(*read_trajectory(trajectory), speed, 1.0 / rate)
    robot = RTDEControlInterface(host, rate)
    try:
        robot.moveJ(points[0], 0.2, 0.2)  # rad/s, rad/s^2
        for point in points:
            start = robot.initPeriod()
            robot.servoJ(point, 0.0, 0.0, 1.0 / rate, 0.1, 300.0)  # speed and acceleration are not used by servoJ
            robot.waitPeriod(start)
        robot.servoStop()
    finally:
        robot.stopScript()


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    recording, playing = actions.add_parser("record"), actions.add_parser("play")
    for each in (recording, playing):
        each.add_argument("host")
        each.add_argument("--rate", type=float, default=125.0, help="Hz: 125, or up to 500 on e-Series")
    recording.add_argument("--seconds", type=float, default=60.0)
    recording.add_argument("--out", default="run1.csv", help="a new file")
    playing.add_argument("trajectory", help="trajectory.csv of dynid excite")
    playing.add_argument("--speed", type=float, default=0.1, help="fraction of the trajectory's speed, up to 1")
    given = parser.parse_args(arguments)
    if given.action == "record":
        record(given.host, given.seconds, given.rate, given.out)
    elif not 0.0 < given.speed <= 1.0:
        parser.error("--speed must be above 0 and at most 1")
    elif (
        input(f"{given.host} will move at {given.speed:.0%} of the trajectory's speed. Type 'move' to go on: ")
        == "move"
    ):
        play(given.host, given.trajectory, given.speed, given.rate)


if __name__ == "__main__":
    main()
