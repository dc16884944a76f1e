"""How often checks at the door are wrong: wrapped angles, held samples, velocities, gravity, extra bodies.

Good logs of random robots, rates, motions and sensors must get no finding, and logs with one mistake the right one. The
robot's file is wrong by 20 % in the mass of each link.

    python benchmarks/log_checks.py [LOGS]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from tests.estimation.test_extra_body import ROBOTS, factors, loaded, wrong
from tests.regret_cases import drawn
from tests.truth_logs import Practice

from dynid import Drive, DynamicModel, Log, Robot, find_base_parameters
from dynid.estimation.diagnosis.extra_body import findings_on_difference
from dynid.logs import Processing, mended, prepare

CODES = ("positions-wrapped", "samples-held", "samples-held-taken-once", "time-clock-coarse", "torque-without-gravity")
Mistake = Callable[[Log, Practice], Log]


def practices(count: int) -> Iterator[Practice]:
    """Random robots, motions and sensors."""
    for number in range(count):
        cells = drawn(number).__closure__ or ()
        yield next(cell.cell_contents for cell in cells if isinstance(cell.cell_contents, Practice))


def with_wrong_file(robot: Robot, seed: int) -> Robot:
    """The robot with masses and inertias of each link off by a factor of 20 %."""
    rng = np.random.default_rng((seed, 9))
    links = []
    for link in robot.links:
        factor = np.exp(0.2 * rng.normal())
        bodies = [b if b.inertia is None else replace(b, inertia=factor * np.asarray(b.inertia)) for b in link.bodies]
        links.append(replace(link, bodies=tuple(bodies)))
    return replace(robot, links=tuple(links))


def held(log: Log, _: Practice) -> Log:
    rows = np.arange(len(log)) // 5 * 5
    return replace(log, position=log.position[rows])


def wrapped(log: Log, _: Practice) -> Log:
    """A motion three times as large, wrapped; most then cross half a revolution, but not all."""
    return replace(log, position=(3.0 * log.position + np.pi) % (2 * np.pi) - np.pi, velocity=None)


def coarse_clock(log: Log, _: Practice) -> Log:
    clock = 10.0 * float(np.median(np.diff(log.time)))
    return replace(log, time=np.floor(log.time / clock) * clock, first_stamp=0.0)


def scaled(log: Log, _: Practice) -> Log:
    return replace(log, velocity=None if log.velocity is None else 1.1 * log.velocity)


def late(log: Log, practice: Practice) -> Log:
    """Velocities that are late by a tenth of the shortest period of the motion."""
    v = practice.states(log.time - 0.1 / (5 * practice.motion.frequency), 0)[1]
    return replace(log, velocity=v)


def weightless(log: Log, practice: Practice) -> Log:
    links = 10 * len(practice.truth.robot.solid_links)
    q = practice.states(log.time, 0)[0]
    weight = DynamicModel(practice.truth.robot).inverse_dynamics(q, parameters=practice.truth.parameters[:links])
    return replace(log, torque=log.torque - weight)


MISTAKES: dict[str, Mistake] = {
    "none": lambda log, _: log,
    "positions held five times": held,
    "angles wrapped": wrapped,
    "clock of ten samples": coarse_clock,
    "velocities x 1.1": scaled,
    "velocities late": late,
    "gravity taken off": weightless,
}


def codes(log: Log, practice: Practice, seed: int) -> set[str]:
    """What is said of a log."""
    robot = with_wrong_file(practice.truth.robot, seed)
    ready = prepare(mended(log, robot), DynamicModel(robot, practice.truth.terms), Drive(), Processing())
    return {one.code for one in ready.findings if one.code in CODES or one.code.startswith("velocities-")}


def of_bodies(count: int) -> None:
    """Files that are wrong everywhere, and bodies on the last links of right ones."""
    for name, truth in ROBOTS.items():
        base, rng = find_base_parameters(truth.model), np.random.default_rng(7)
        last = len(truth.robot.solid_links) - 1
        found: Counter[str] = Counter()
        for seed in range(count):
            p = wrong(truth, 0.2, rng)
            found["named, file wrong"] += any(findings_on_difference(base, factors(truth, p, seed)))
            p = loaded(truth, last, float(np.exp(rng.uniform(np.log(0.3), np.log(5.0)))), seed)
            found["named, with body"] += any(findings_on_difference(base, factors(truth, p, seed)))
        print(f"{name:8} {dict(found)} of {count}", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, mistake in MISTAKES.items():
        found: Counter[str] = Counter()
        for seed, practice in enumerate(practices(count)):
            own = practice.but(velocity="exact") if "velocities" in name else practice
            found.update(codes(mistake(own.log(0), own), own, seed))
        print(f"{name:28} {dict(found)} of {count}", flush=True)
    of_bodies(count)


if __name__ == "__main__":
    main()
