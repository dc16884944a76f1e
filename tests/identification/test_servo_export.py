"""Servos that were identified move in MuJoCo as their circuit does."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

import dynid
from tests.servo_truth import ServoPendulum, servo_log, swings

TRUTH = ServoPendulum(friction={"fs": 0.05, "fv": 0.05})

MJCF = """<mujoco><compiler angle="radian"/><option timestep="0.0005" integrator="implicitfast"/>
<worldbody><body name="arm"><joint name="shoulder" axis="0 1 0"/>
<inertial pos="0 0 -0.15" mass="1" diaginertia="1e-6 1e-6 1e-6"/></body></worldbody>
<actuator><position joint="shoulder" kp="1"/></actuator></mujoco>"""


def test_the_exported_servo_moves_in_mujoco_as_the_true_one(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.xml"
    path.write_text(MJCF, encoding="utf-8")
    log = servo_log(TRUTH, 1, counts=0, seconds=15.0)
    result = dynid.identify(path, log, control={"delay": 0.0, "law": "continuous", "bias": False})
    result.export(tmp_path / "out.xml", "mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    model.opt.timestep = 5e-4
    data = mujoco.MjData(model)
    time, command = swings(2, 10.0)
    found = []
    for wanted in command:
        found.append(float(data.qpos[0]))
        data.ctrl[0] = wanted
        mujoco.mj_step(model, data, 20)
    true, _, _ = TRUTH.move(time, command)
    assert np.sqrt(np.mean((np.array(found) - true) ** 2)) < 5e-3
    assert np.ptp(true) > 1.0
