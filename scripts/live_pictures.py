"""Pictures of the live page for the documentation: `python -m scripts.live_pictures` rewrites docs/images/live_*.png.

An arm whose joints begin to move one after the other, and later in the dark, with a payload that it has picked up; a
humanoid and a person who stand on the left foot. Robots are those of `example-robot-data`, their torques and wrenches
are simulated. The samples go through `LivePage.update`, as in a loop of one's own. Needs Playwright, Pillow and
Chromium. Names after the command take those pictures only; `--out FOLDER` writes elsewhere.
"""

from __future__ import annotations

import argparse
import io
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from tests.browser import ARGUMENTS, CHROMIUM
from tests.references import example_robot_files

import dynid
from dynid.arrays import Array
from dynid.logs import Contact
from dynid.logs.floating_body import contact_torques
from dynid.model import TORQUES, WRENCH, DynamicModel, Observed
from dynid.robot import Robot, inertia
from scripts.pictures import IMAGES

RATE = 100.0
"""Samples a second."""

SPEED = 8.0
"""How many times faster the motion comes before its last part."""

LIVE = 14.0
"""Last part of the motion [s] that comes at its own speed, so that the page is streaming when it is taken."""

SHOT = 7.0
"""When the picture is taken [s], after that part has begun: the proposal is then of these data."""

Samples = tuple[Array, Array, Array, Array, dict[str, Array]]


@dataclass(frozen=True, eq=False)
class Shot:
    """A picture.

    Attributes:
        model: The model that streams.
        samples: Times, positions, torques of joints, poses of the base, and wrenches by body; arrays with no columns
            where there are none.
        contacts: What holds a floating base, as `dynid.live` takes it.
        torques: Whether samples have torques of joints.
        dark: Whether the page is dark.
        size: Width and height of the window [px].
        learning: Time [s] after which changes raise an alarm; none do when None.
    """

    model: DynamicModel
    samples: Samples
    contacts: dict[str, Array | None] = field(default_factory=dict)
    torques: bool = True
    dark: bool = False
    size: tuple[int, int] = (1280, 860)
    learning: float | None = None


def file_of(name: str) -> Path:
    """A robot file of `example-robot-data`."""
    return next(path for path in example_robot_files() if path.name == name)


def states(robot: Robot, seconds: float, begins: Sequence[float], size: float) -> tuple[Array, Array, Array, Array]:
    """Time, positions, velocities and accelerations of joints that begin to swing at their times [s]; others rest."""
    rng = np.random.default_rng(4)
    t = np.arange(round(seconds * RATE)) / RATE
    q = np.repeat(robot.neutral[None], len(t), axis=0)
    for joint, begin in zip(robot.axes, begins, strict=True):
        low, high = joint.limits.lower, joint.limits.upper
        low, high = (low, high) if np.isfinite(high - low) else (-3.0, 3.0)
        middle = 0.5 * (low + high) if not low < 0.0 < high else float(np.clip(0.0, low + 0.3, high - 0.3))
        half = np.array([0.6, 0.4]) * size * min(middle - low, high - middle, 1.0)
        since = np.maximum(t - begin, 0.0)[:, None]
        swing = half * np.sin(rng.uniform(1.2, 2.4, 2) * since) * (1.0 - np.exp(-(since**3)))
        q[:, joint.q] = middle + np.sum(swing, axis=1, keepdims=True)
    curve = CubicSpline(t, q)
    return t, *robot.motion_of(q, curve(t, 1), curve(t, 2))


def arm() -> Shot:
    """A Panda of which two joints have moved yet."""
    return _arm(seconds=20.0, begins=[0.0, 60.0, 60.0, 4.0, 60.0, 60.0, 60.0])


def arm_dark() -> Shot:
    """The same later, with a payload of 1 kg that it has picked up; in the dark."""
    return _arm(seconds=75.0, begins=[0.0] * 7, lifts=63.0)


def _arm(seconds: float, begins: Sequence[float], lifts: float | None = None) -> Shot:
    robot = dynid.load_robot(file_of("panda.urdf"), lock=["panda_finger_joint1"])
    model = DynamicModel(robot, ["viscous", "coulomb"])
    t, q, v, a = states(robot, seconds, begins, 0.8)
    p, size = np.nan_to_num(model.reference).copy(), inertia.SIZE * len(robot.solid_links)
    p[size:] = 1.0
    tau = model.inverse_dynamics(q, v, a, p)
    if lifts is not None:
        p[size - inertia.SIZE : size] += inertia.from_mass_com_inertia(
            1.0, np.array([0.0, 0.0, 0.15]), 2e-3 * np.eye(3)
        )
        tau[t >= lifts] = model.inverse_dynamics(q, v, a, p)[t >= lifts]
    tau += 0.1 * np.random.default_rng(1).normal(size=tau.shape)
    nothing = np.zeros((len(t), 0))
    is_dark = lifts is not None
    return Shot(model, (t, q, tau, nothing, {}), dark=is_dark, learning=20.0 if is_dark else None)


def humanoid() -> Shot:
    """TALOS on the force sensor of its left foot, with torques of its joints."""
    robot = dynid.load_robot(file_of("talos_reduced.urdf"), floating_base=True)
    return _standing(robot, "leg_left_6_link", is_plate=False, learned=("torso", "arm_left", "leg_right", "head"))


def human() -> Shot:
    """A woman on a force plate, who has moved the left arm, the head and the right leg."""
    robot = dynid.human(sex="female", height=1.70, mass=62.0, markers=[])
    return _standing(
        robot, "left_sole", is_plate=True, learned=("neck", "shoulder_left", "elbow_left", "hip_right", "knee_right")
    )


def _standing(robot: Robot, body: str, learned: Sequence[str], *, is_plate: bool) -> Shot:
    moved = [any(part in joint.name for part in learned) for joint in robot.axes]
    order = iter(np.linspace(0.0, 14.0, sum(moved)))
    t, q, v, a = states(robot, 26.0, [float(next(order)) if one else 60.0 for one in moved], 0.8)
    # the wrench at the foot that holds the base: the rows of the base are linear in it
    plate = np.eye(4) if is_plate else None
    whole = DynamicModel(robot)
    needed = whole.inverse_dynamics(q, v, a, np.nan_to_num(whole.reference))
    units = [
        contact_torques(robot, Contact(body, np.repeat(unit[None], len(t), axis=0), plate), q) for unit in np.eye(6)
    ]
    columns = np.stack(units, axis=2)
    wrench = np.linalg.solve(columns[:, :6], needed[:, :6, None])
    torque = (needed[:, :, None] - columns @ wrench)[:, 6:, 0]
    rng = np.random.default_rng(2)
    wrench = wrench[:, :, 0] + np.repeat([1.0, 0.3], 3) * rng.normal(size=(len(t), 6))
    observed = Observed.WRENCH_MOVING if is_plate else Observed((WRENCH, TORQUES))
    model = DynamicModel(robot, () if is_plate else ["viscous"], observed)
    torque = torque + 0.2 * rng.normal(size=torque.shape)
    return Shot(model, (t, q[:, 7:], torque, q[:, :7], {body: wrench}), {body: plate}, torques=not is_plate)


SHOTS: dict[str, Callable[[], Shot]] = {
    "live_arm": arm,
    "live_arm_dark": arm_dark,
    "live_humanoid": humanoid,
    "live_human": human,
}
"""Pictures by name."""


def send(page: dynid.LivePage, shot: Shot, told: threading.Event) -> None:
    """Give the page all samples: those before the last part faster, the rest at its own speed."""
    t, q, tau, poses, wrenches = shot.samples
    begun, last = time.monotonic(), float(t[-1]) - LIVE
    for k, s in enumerate(t.tolist()):
        if s >= last:
            told.set()
        due = begun + min(s, last) / SPEED + max(s - last, 0.0)
        time.sleep(max(0.0, due - time.monotonic()))
        own = {body: values[k] for body, values in wrenches.items()}
        pose = poses[k] if poses.shape[1] else None
        assert page.update(s, q[k], tau[k] if shot.torques else None, base_pose=pose, wrenches=own)


def packed(screenshot: bytes) -> bytes:
    """A picture in fewer bytes: 256 colours, so that the scale of colours has hardly any steps."""
    from PIL import Image

    found = io.BytesIO()
    with Image.open(io.BytesIO(screenshot)) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(found, "PNG", optimize=True)
    return found.getvalue()


def take(browser: Any, shot: Shot, path: Path) -> None:
    """Show the page, stream, and take the picture."""
    changes = None if shot.learning is None else dynid.ChangeThresholds(learning=shot.learning)
    with dynid.live(shot.model, contacts=shot.contacts, changes=changes) as page:
        context = browser.new_context(
            viewport={"width": shot.size[0], "height": shot.size[1]}, color_scheme="dark" if shot.dark else "light"
        )
        seen = context.new_page()
        seen.goto(page.address)
        told = threading.Event()
        sender = threading.Thread(target=send, args=(page, shot, told), daemon=True)
        sender.start()
        told.wait()
        seen.wait_for_timeout(1000.0 * SHOT)
        seen.wait_for_selector("#gain:not(:empty)")  # searches are slow on busy machines
        path.write_bytes(packed(seen.screenshot()))
        sender.join()
        context.close()


def main() -> None:
    """Take all pictures, or those that are named."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(SHOTS))
    parser.add_argument("--out", type=Path, default=IMAGES)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name in options.names or SHOTS:
            take(browser, SHOTS[name](), options.out / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
