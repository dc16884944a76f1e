"""The live view: whether proposals help, and whether it keeps up.

python -m benchmarks.live proposals    # condition numbers along proposals, and along movements at random
python -m benchmarks.live rate         # a 7-axis arm at 1 kHz by UDP, with the page open in Chromium
"""

from __future__ import annotations

import multiprocessing
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from tests.browser import ARGUMENTS, CHROMIUM

import dynid
from dynid.arrays import Array
from dynid.excitation import Movement, NextMotion
from dynid.excitation.proposals.candidate_movements import CandidateMovements
from dynid.excitation.proposals.next_motion import condition_number_of, excited_directions
from dynid.logs.streams.packets import binary_packet
from dynid.logs.streams.samples import Sample
from dynid.model import DynamicModel, find_base_parameters
from dynid.robot import Robot

RATE = 100.0
DRAWS = 20

Choose = Callable[[NextMotion, Array, Array], Movement]


def models() -> dict[str, tuple[DynamicModel, int]]:
    """Models by name, and how many movements are made."""
    arms = {
        name: (DynamicModel(dynid.load_robot(f"builtin:{name}"), ["viscous", "coulomb"]), 12)
        for name in ("spatial_3r", "ur5", "tx40", "panda", "lwr4")
    }
    person = dynid.human(sex="female", height=1.70, mass=62.0, markers=[])
    return {**arms, "human": (DynamicModel(person, observed="wrench_moving"), 26)}


def start(robot: Robot) -> Array:
    """A posture within the ranges, away from zero."""
    q = robot.neutral
    for k, joint in enumerate(robot.axes):
        wanted = 0.0 if robot.has_floating_base else 0.4 * (-1.0) ** k
        q[joint.q] = np.clip(wanted, joint.limits.lower, joint.limits.upper)
    return q


def course(model: DynamicModel, steps: int, choose: Choose) -> list[Array]:
    """Information after each movement that was chosen, from nothing."""
    robot = model.robot
    chooser, q = NextMotion(find_base_parameters(model)), start(robot)
    S = np.zeros((len(chooser.base), len(chooser.base)))
    found = []
    for _ in range(steps):
        movement = choose(chooser, S, q)
        S = S + chooser.informations([movement], q, RATE)[0]
        q = movement.positions(robot, q, np.array([0.3 * movement.period]))[0]
        found.append(S)
    return found


def proposed(chooser: NextMotion, S: Array, q: Array) -> Movement:
    """What the page proposes."""
    return chooser.propose(S, q, RATE).proposals[0].movement


def at_random(rng: np.random.Generator, *, pairs: bool) -> Choose:
    """A movement of the same list, or one of two joints, which are the stronger ones."""

    def choose(chooser: NextMotion, _: Array, q: Array) -> Movement:
        candidates = CandidateMovements(chooser.base.model.robot, q)
        around = candidates.around(int(rng.integers(len(chooser.base.model.robot.axes))))
        every = [one for one in around if len(one.swings) == 2] if pairs else [*candidates.first(), *around]
        return every[rng.integers(len(every))]

    return choose


def proposals() -> None:
    """Print after how many movements all is excited, and the condition number at the end."""
    print("robot        base  movements until full rank: proposed, pairs at random, any at random (median, of 20)")
    for name, (model, steps) in models().items():
        best = course(model, steps, proposed)
        draws = DRAWS if name != "human" else 5
        others = [
            [course(model, steps, at_random(np.random.default_rng(k), pairs=pairs)) for k in range(draws)]
            for pairs in (True, False)
        ]
        n = len(best[0])
        firsts = [_first_full(best), *(float(np.median([_first_full(one) for one in kind])) for kind in others)]
        ends = [condition_number_of(best[-1])]
        ends += [float(np.median([condition_number_of(one[-1]) for one in kind])) for kind in others]
        ranks = [excited_directions(best[-1])]
        ranks += [int(np.median([excited_directions(one[-1]) for one in kind])) for kind in others]
        worse = sum(condition_number_of(one[-1]) < ends[0] for kind in others for one in kind)
        print(
            f"{name:12s} {n:4d}  {firsts[0]:5.0f} {firsts[1]:5.0f} {firsts[2]:5.0f}   condition number after {steps}: "
            + " ".join(f"{end:8.0f}" for end in ends)
            + f"   directions: {ranks}   draws that end better: {worse} of {2 * draws}"
        )


def _first_full(found: list[Array]) -> float:
    """After how many movements the condition number is finite; infinity where it never is."""
    return next((k + 1.0 for k, S in enumerate(found) if np.isfinite(condition_number_of(S))), np.inf)


def send(port: int, seconds: float, rate: float) -> None:
    """Send a 7-axis arm's motion by UDP at a rate [Hz]."""
    robot = dynid.load_robot("builtin:panda")
    t = np.arange(int(seconds * rate)) / rate
    rng = np.random.default_rng(0)
    middle = np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in robot.axes])
    q = middle + 0.4 * np.sin(t[:, None] * rng.uniform(1.0, 3.0, 7) + rng.uniform(0.0, 6.0, 7))
    v = np.gradient(q, t, axis=0)
    tau = DynamicModel(robot).inverse_dynamics(q, v, np.gradient(v, t, axis=0)) + rng.normal(0.0, 0.1, q.shape)
    packets = [binary_packet(Sample(s, *row)) for s, *row in zip(t.tolist(), q, tau, strict=True)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        begun = time.perf_counter()
        for k, packet in enumerate(packets):
            while time.perf_counter() - begun < k / rate:
                time.sleep(0.0002)
            sender.sendto(packet, ("127.0.0.1", port))


def rate(seconds: float = 20.0, hertz: float = 1000.0) -> None:
    """Print what arrived and waited, with the page open."""
    with ExitStack() as stack:
        page = stack.enter_context(dynid.live("builtin:panda", ["viscous", "coulomb"], udp="127.0.0.1:5017", port=8190))
        if CHROMIUM is not None:
            from playwright.sync_api import sync_playwright

            browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            stack.callback(browser.close)
            browser.new_page(viewport={"width": 1280, "height": 900}).goto(page.address)
        sender = multiprocessing.get_context("spawn").Process(target=send, args=(5017, seconds, hertz))
        sender.start()
        most = 0
        while sender.is_alive():
            time.sleep(0.02)
            most = max(most, page.waiting)
        begun = time.perf_counter()
        while page.waiting:
            time.sleep(0.005)
        behind = time.perf_counter() - begun
        time.sleep(0.5)
        state, counts = page.state, page.state.counts
        print(f"{hertz:.0f} Hz for {seconds:.0f} s, 7 axes, page open: {CHROMIUM is not None}")
        print(
            f"used {state.samples} of {int(seconds * hertz)}, most waiting {most} samples, {1e3 * behind:.0f} ms behind"
        )
        print(f"condition number {state.condition_number:.0f}, counts {dict(counts)}")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["rate", "proposals"]:
        {"rate": rate, "proposals": proposals}[name]()
