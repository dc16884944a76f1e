"""Large robots: `dynid inspect` on chains of 10 to 500 joints, each in a process of its own.

`python benchmarks/large_robots.py` prints time and memory, and the time per joint as a multiple of that of the chain of
ten joints in the same run. Numbers of joints may be given, and `--terms viscous,coulomb`; JSON with `--json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

JOINTS = (10, 50, 100, 200, 500)


def write_chain(path: Path, joints: int) -> None:
    """A chain of revolute joints, with axes and lengths at random."""
    rng = np.random.default_rng(0)
    text = ["<robot name='chain'><link name='l0'/>"]
    for i in range(1, joints + 1):
        axis = " ".join(map(str, np.eye(3, dtype=int)[rng.integers(3)]))
        text.append(
            f"<link name='l{i}'><inertial><origin xyz='0.02 0.03 0.1'/><mass value='{rng.uniform(0.5, 2.0):.3f}'/>"
            "<inertia ixx='0.01' iyy='0.012' izz='0.011' ixy='0' ixz='0' iyz='0'/></inertial></link>"
            f"<joint name='j{i}' type='revolute'><parent link='l{i - 1}'/><child link='l{i}'/><axis xyz='{axis}'/>"
            f"<origin xyz='{rng.uniform(-0.1, 0.1):.3f} 0 0.2'/>"
            "<limit lower='-2' upper='2' effort='50' velocity='3'/></joint>"
        )
    path.write_text("".join([*text, "</robot>"]), encoding="utf-8")


def measure(joints: int, terms: str = "") -> dict[str, float]:
    """Time [s], time of processors [s] and peak memory [MB] of `dynid inspect` on a chain, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.urdf"
        write_chain(path, joints)
        command = [sys.executable, "-m", "dynid.cli", "inspect", str(path), *(["--terms", terms] if terms else [])]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"inspect failed on {joints} joints")
    return {
        "joints": joints,
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("joints", nargs="*", type=int, default=JOINTS)
    parser.add_argument("--terms", default="")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    baseline = measure(10, asked.terms)
    rows = [measure(joints, asked.terms) if joints != 10 else baseline for joints in asked.joints]
    per_joint = baseline["seconds"] / 10
    rows = [row | {"per_joint_ratio": row["seconds"] / row["joints"] / per_joint} for row in rows]
    if asked.json:
        print(json.dumps(rows))
        return
    print("| joints | time | processor time | peak memory | time per joint, of that of ten joints |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['joints']} | {row['seconds']:.1f} s | {row['cpu_seconds']:.1f} s | {row['peak_mb']:.0f} MB "
            f"| {row['per_joint_ratio']:.2f} |"
        )


if __name__ == "__main__":
    main()
