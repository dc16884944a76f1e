"""An arm with a belt-driven elbow and a differential wrist, end to end: excite, simulate, identify at 50 dB of noise.

The arm is that of `tests/transmission_study.py`.

    python -m benchmarks.transmissions
"""

from __future__ import annotations

import time

import numpy as np
from tests.transmission_study import TERMS, N, arm, true_robot

import dynid
from dynid.excitation import as_motion
from dynid.logs import Transmission
from dynid.simulation.closed_loop import follow
from dynid.simulation.desired_motion import Repeated
from dynid.simulation.sensors import measure
from dynid.simulation.settings import Controller, Sensors

EFFORT = (300.0, 300.0, 200.0, 80.0, 80.0, 80.0)
SPEED = 5.0
PERIODS = 40
RATE = 1000.0
PROCESSING = {
    "automatic": False,
    "derivative": "savitzky_golay",
    "window": 7,
    "degree": 5,
    "trim": 20,
    "velocity_threshold": 0.03,
}
"""The seed's differentiation, without samples where a joint or a motor hardly moves."""
CONTROLLER = Controller(saturates=False)


def main() -> None:
    """Excite, simulate, identify, and print the worst parameters."""
    robot = arm()
    start = time.perf_counter()
    motion = dynid.excite(
        robot,
        terms=TERMS,
        time_limit=20,
        seed=1,
        period=4.0,
        velocity=SPEED,
        effort=EFFORT,
        scale="magnitudes",
        criterion="trace",
    )
    excited = time.perf_counter()
    true = true_robot(robot)
    run = follow(
        true, Repeated(as_motion(motion, robot), PERIODS), CONTROLLER, nominal=true, log_rate=RATE, lead_in=3.0
    )
    drive = Transmission.of(N.tolist())
    rows, names, truth = [], (), np.zeros(0)
    for seed in range(5):
        log = measure(run, Sensors(signal_to_noise=50.0), drive, seed=seed)
        result = dynid.identify(
            robot,
            [log],
            terms=TERMS,
            processing=PROCESSING,
            drive={"matrix": N.tolist(), "positions": "motor", "torques": "motor", "delay": -0.5 / CONTROLLER.rate},
        )
        names, truth = result.base.names, result.base.to_base(true.parameters)
        table = result.parameters.to_frame()
        values, stds = table["value"].to_numpy(), table["std"].to_numpy()
        rows.append((values, stds))
        if seed == 0:
            print(f"{len(truth)} base parameters, relative error {100 * result.relative_error:.2f} %")
    values, stds = (np.array(each) for each in zip(*rows, strict=True))
    relative = np.abs(values - truth) / np.abs(truth)
    print(f"excite {excited - start:.0f} s, condition number {motion.condition_number:.0f}")
    z = (values - truth) / stds
    print(f"within 1 %: {100 * (relative < 0.01).mean():.1f} % of parameters and draws; errors / std: {z.std():.2f}")
    print("| parameter | truth | worst error [%] | largest error / std |\n| --- | --- | --- | --- |")
    for k in np.argsort(-relative.max(axis=0))[:12]:
        z = np.abs((values[:, k] - truth[k]) / stds[:, k]).max()
        print(f"| {names[k]} | {truth[k]:.4g} | {100 * relative[:, k].max():.2f} | {z:.1f} |")


if __name__ == "__main__":
    main()
