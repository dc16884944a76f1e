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
            found = tiago_held_out(split, Path(folder))
        for ours, of_file in zip(found.ours.joints, found.of_file.joints, strict=True):
            if ours.rows:
                verdict = "" if ours.rmse <= of_file.rmse else " worse"
                sys.stdout.write(f"{split:g} s  {ours.name:17} {ours.rmse:.3f} {of_file.rmse:.3f}{verdict}\n")


if __name__ == "__main__":
    main()
