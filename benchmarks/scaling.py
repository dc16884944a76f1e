"""How cost and memory grow with samples, joints and parameters: `python benchmarks/scaling.py`.

Prints tables; `docs/performance.md` shows a run.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.references import example_robot_file

from dynid import DynamicModel, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.model.chunks import Chunk
from dynid.model.row_bases import row_bases
from dynid.model.sampling import random_states


@dataclass
class Repeated:
    """A long log, made a chunk at a time."""

    chunk: Chunk
    samples: int

    def __iter__(self) -> Iterator[Chunk]:
        for start in range(0, self.samples, len(self.chunk)):
            yield self.chunk[: min(len(self.chunk), self.samples - start)]


def megabytes() -> float:
    """Largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chunk_of(model: DynamicModel, samples: int = 10_000) -> Chunk:
    rng = np.random.default_rng(0)
    q, v, a = random_states(model, samples, rng)
    return Chunk(q, v, a, rng.normal(size=(samples, model.row_count)))


def seconds(model: DynamicModel, chunk: Chunk, samples: int, rounds: int = 3) -> float:
    """Best of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        factorise(model, Repeated(chunk, samples))
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    arm = DynamicModel(load_robot("builtin:panda"))
    chunk = chunk_of(arm)
    row_bases(arm)
    factorise(arm, [chunk])
    before = megabytes()
    print("samples to factors, 7-axis arm\n   samples   us a sample   MB more than at the start")
    for samples in (10_000, 100_000, 1_000_000):
        took = seconds(arm, chunk, samples)
        print(f"{samples:10d} {took / samples * 1e6:13.2f} {megabytes() - before:10.0f}")
    print("\nrobot                         rows   links   parameters   us a sample   us a sample and row")
    cases = [("builtin:ur5", False), ("builtin:panda", False)]
    cases += [(str(example_robot_file(name)), True) for name in ("go1.urdf", "talos_reduced.urdf")]
    for source, floating in cases:
        model = DynamicModel(load_robot(source, floating_base=floating))
        row_bases(model)
        chunk = chunk_of(model, 20_000)
        factorise(model, [chunk])
        cost = seconds(model, chunk, 20_000) / 20_000 * 1e6
        name = source.split("/")[-1] + (" (floating)" if floating else "")
        sizes = f"{name:29s} {model.row_count:4d} {len(model.robot.links):7d} {len(model.names):12d}"
        print(f"{sizes} {cost:13.2f} {cost / model.row_count:15.3f}")


if __name__ == "__main__":
    main()
