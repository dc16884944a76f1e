"""Loads of 3 kg on the UR5 and the TX40: errors, and how often 95 % intervals hold the truth, over 200 draws of noise.

What is simulated stands in `tests/payload_study.py`. Every draw is the whole recipe `dynid.identify_payload`, with the
search for friction that differs and for errors that last.

Run it: python -m benchmarks.payloads [torque | result | wrist | lasting | short | constants | bad] [draws]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tests.payload_study import (
    LOAD,
    PLAIN,
    TERMS,
    TRUTH,
    arm,
    log_of,
    motion,
    torques,
    wrench_log_of,
    wrenches,
)

import dynid
from dynid import Payload, Robot
from dynid.estimation.payloads.load_body import NUMBERS

ARMS = ("ur5", "tx40")
Draw = Callable[[np.random.Generator], Payload]


def by_torques(robot: Robot, seconds: float = 20.0, lasting: float = 0.0) -> Draw:
    """Draws of logs with and without the load."""
    states = motion(robot.nv, seconds=seconds)
    free, loaded = torques(robot, states), torques(robot, states, LOAD)

    def draw(rng: np.random.Generator) -> Payload:
        logs = [log_of(states, free, rng), log_of(states, loaded, rng, "load")]
        if lasting:
            logs = [
                replace(log, torque=_lasting(log.torque, exact, lasting))
                for log, exact in zip(logs, (free, loaded), strict=True)
            ]
        return dynid.identify_payload(robot, logs, terms=TERMS, processing=PLAIN)

    return draw


def _lasting(torque: np.ndarray, exact: np.ndarray, rho: float) -> np.ndarray:
    """The same torques with noise that is remembered from sample to sample."""
    noise = torque - exact
    for k in range(1, len(noise)):
        noise[k] = rho * noise[k - 1] + np.sqrt(1.0 - rho**2) * noise[k]
    return exact + noise


def by_result(robot: Robot) -> Draw:
    """Draws of logs with the load beside a saved result of another motion."""
    own, other = motion(robot.nv, 1), motion(robot.nv, 2)
    free, loaded = torques(robot, own), torques(robot, other, LOAD)

    def draw(rng: np.random.Generator) -> Payload:
        fit = {"fit": False}
        result = dynid.identify(robot, log_of(own, free, rng), TERMS, processing=PLAIN, physical=fit)
        return dynid.identify_payload(result, log_of(other, loaded, rng))

    return draw


def by_sensor(robot: Robot) -> Draw:
    """Draws of a force-torque sensor."""
    states = motion(robot.nv)
    exact = wrenches(robot, states, LOAD)

    def draw(rng: np.random.Generator) -> Payload:
        return dynid.identify_payload(robot, wrench_log_of(states, exact, rng), processing=PLAIN)

    return draw


def study(title: str, make: Callable[[Robot], Draw], draws: int) -> None:
    """Print errors and coverage of each arm."""
    print(f"\n{title}: {draws} draws")
    print(f"{'':6}{'mass':>22}{'centre of mass':>18}   95 % intervals hold the truth [%]")
    print(
        f"{'':6}{'largest error [%]':>22}{'largest [mm]':>18}   {' '.join(f'{name:>5}' for name in NUMBERS)}   all  s"
    )
    for name in ARMS:
        start, draw = time.perf_counter(), make(arm(name))
        errors, held, changed = [], [], 0
        for seed in range(draws):
            found = draw(np.random.default_rng(seed))
            lower, upper = found.estimate.intervals(0.95)
            errors.append(found.estimate.numbers - TRUTH)
            held.append((lower <= TRUTH) & (upper >= TRUTH))
            changed += bool(found.changes)
        e, h = np.array(errors), 100.0 * np.mean(held, axis=0)
        mass, center = 100.0 * np.abs(e[:, 0]).max() / TRUTH[0], 1e3 * np.linalg.norm(e[:, 1:4], axis=1).max()
        seconds = time.perf_counter() - start
        each = " ".join(f"{x:5.1f}" for x in h)
        print(
            f"{name:6}{mass:22.4f}{center:18.4f}   {each}  {h.mean():4.1f}  {seconds:.0f}  friction differs: {changed}"
        )


def constants(draws: int) -> None:
    """Print errors where torque constants are off by 1 %, as in case D, which noise alone does not show."""
    print(
        f"\nTorque constants off by 1 % (standard deviation, each joint; the same with and without the load): {draws}"
    )
    for name in ARMS:
        robot = arm(name)
        states = motion(robot.nv)
        free, loaded = torques(robot, states), torques(robot, states, LOAD)
        errors = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            scale = 1.0 + 0.01 * rng.normal(size=robot.nv)
            logs = [log_of(states, free * scale, rng), log_of(states, loaded * scale, rng, "load")]
            found = dynid.identify_payload(robot, logs, terms=TERMS, processing=PLAIN)
            errors.append(found.estimate.numbers - TRUTH)
        e = np.abs(np.array(errors))
        center = 1e3 * np.linalg.norm(e[:, 1:4], axis=1)
        print(
            f"{name:6} mass: median {100 * np.median(e[:, 0]) / 3:.2f} %, 95th percentile "
            f"{100 * np.quantile(e[:, 0], 0.95) / 3:.2f} %; centre of mass: {np.median(center):.2f} mm, "
            f"{np.quantile(center, 0.95):.2f} mm"
        )


def bad(draws: int) -> None:
    """Print which findings come with input that is wrong, and how often none do with input that is right."""
    from tests.payload_study import BIAS, pair

    for name in ARMS:
        robot = arm(name)
        links = [robot.links[i].name for i in robot.solid_links]
        right = wrong = drifted = quiet = 0
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            free, loaded = pair(robot, seed)
            given = {"terms": TERMS, "processing": PLAIN}
            right += _has(dynid.identify_payload(robot, [free, loaded], **given), "payload-other-link")
            wrong += _has(dynid.identify_payload(robot, [free, loaded], body=links[-2], **given), "payload-other-link")
            states = motion(robot.nv)
            exact = wrenches(robot, states, LOAD)
            for drift in (0.0, 0.01):
                log = wrench_log_of(states, exact, rng, drift * np.abs(BIAS))
                found = _has(dynid.identify_payload(robot, log, processing=PLAIN), "payload-sensor-drift")
                drifted, quiet = drifted + (found and drift > 0.0), quiet + (found and drift == 0.0)
        print(
            f"{name}: of {draws}, other link named {right} times where the link is right, {wrong} times where it is "
            f"the one before; drift of 1 % of the bias named {drifted} times, none {quiet} times"
        )
        slow = motion(robot.nv, 3, slow=20.0)
        rng = np.random.default_rng(0)
        free, loaded = (log_of(slow, torques(robot, slow, load), rng) for load in (None, LOAD))
        fast = log_of(motion(robot.nv), torques(robot, motion(robot.nv)), rng)
        found = dynid.identify_payload(robot, [free, fast, replace(loaded, load="load")], terms=TERMS, processing=PLAIN)
        print(f"  slow motion: {found}; not determined: {', '.join(found.undetermined)}")


def _has(found: Payload, code: str) -> bool:
    return any(finding.code == code for finding in found.findings)


def main() -> None:
    """Print what is asked for, or everything."""
    wanted, draws = (sys.argv[1] if len(sys.argv) > 1 else "all"), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    studies: dict[str, tuple[str, Callable[[Robot], Draw]]] = {
        "torque": ("Logs with and without the load, 20 s, white noise of case D", by_torques),
        "result": ("Beside a result of another motion", by_result),
        "wrist": ("Force-torque sensor with bias", by_sensor),
        "lasting": ("Noise that lasts about 10 samples", lambda robot: by_torques(robot, lasting=0.8)),
        "short": ("Logs of 5 s", lambda robot: by_torques(robot, seconds=5.0)),
    }
    for key, (title, make) in studies.items():
        if wanted in (key, "all"):
            study(title, make, draws)
    if wanted in ("constants", "all"):
        constants(draws)
    if wanted in ("bad", "all"):
        bad(min(draws, 20))


if __name__ == "__main__":
    main()
