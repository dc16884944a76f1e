"""The condition number of a written trajectory, computed apart from the code that designed it.

python -m benchmarks.independent_condition ROBOT trajectory.csv [--lock JOINT,JOINT] [--friction]
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.independent_condition import condition_number, read_csv

from dynid import load_robot


def main() -> None:
    robot, path, *rest = sys.argv[1:]
    lock = dict.fromkeys(rest[rest.index("--lock") + 1].split(","), 0.0) if "--lock" in rest else {}
    loaded = load_robot(robot, lock=lock)
    print(f"{condition_number(loaded, *read_csv(Path(path)), friction='--friction' in rest):.4f}")


if __name__ == "__main__":
    main()
