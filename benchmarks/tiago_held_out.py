"""TIAGo's joints on time that was not used: identified links beside the URDF's own with fitted friction and offset.

Run from the root with the logs' folder in DYNID_DATASETS: python -m benchmarks.tiago_held_out 45 50 55 60
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.held_out import tiago_held_out


def main() -> None:
    """Print errors (RMS) of both for each split [s] of the log."""
    for split in map(float, sys.argv[1:] or ["45", "50", "55", "60"]):
        with TemporaryDirectory() as folder:
            held_out = tiago_held_out(split, Path(folder))
        ours, of_file = ({joint.name: joint.rmse for joint in one.joints} for one in (held_out.ours, held_out.of_file))
        for joint in ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 5))):
            pair = ours[joint], of_file[joint]
            verdict = "" if pair[0] <= pair[1] else " worse"
            sys.stdout.write(f"{split:g} s  {joint:17} {pair[0]:.3f} {pair[1]:.3f}{verdict}\n")


if __name__ == "__main__":
    main()
