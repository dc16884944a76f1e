"""People on a force plate: total mass and the wrench of unseen motion, beside those of the anthropometric table.

Women and men of both tables swing on both feet and on each, and hold postures, on one force plate. Mass, centre of mass
and inertia of each segment are 15 % off the table's at random, each for itself, and physically consistent. Markers have
noise of 1 mm per coordinate at 100 Hz, the plate of 1 N and 0.3 N m per channel at 1 kHz. The captures are written as
C3D files and go the way of a user: the robot file of the table (`dynid convert human`), `dynid init`, `dynid identify`
with its defaults. The table predicts the same rows of an unseen, faster motion, with the same measured kinematics;
errors are those to the true wrench.

Cases: the geometry of the table is the person's, whose mass is known; the stated mass is 5 % too high; lengths, joints
and markers of the person are elsewhere (4 % of lengths, 10 mm; one draw for each sex and table) and calibrated on a
recording of 30 s (`dynid.human_of_markers`); the same with markers that move on the skin by 5 mm; and the same with the
uncalibrated body.

Run it: python -m benchmarks.human_body [--case known ...] [--first 1] [--write]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path

import numpy as np
from tests.c3d_files import write_c3d
from tests.floating_motions import StandingMotion
from tests.floating_robots import LeggedRobot
from tests.standing_person import Noise, Person, Subject, person

import dynid
from benchmarks.marked_tables import with_table
from dynid import Capture, ForcePlate, Result
from dynid.arrays import Array, frozen
from dynid.findings import Severity
from dynid.identification.held_out_logs import unseen_logs
from dynid.identification.predictions import Prediction, predictions
from dynid.logs import prepare
from dynid.logs.captures import plate_pose
from dynid.robot import inertia
from dynid.robot.human.human_body import human_description
from dynid.robot.human.skeleton import marker_rows
from dynid.robot.loading import Converted

BODIES = tuple(product(("female", "male"), ("dumas", "de-leva")))
"""Sexes and tables."""

SIZES = {"female": (1.68, 62.0), "male": (1.81, 80.0)}
"""Heights [m] and masses [kg]."""

OFF = 0.15
"""Standard deviation of what is true of segments from the table."""

LENGTH_OFF, PLACE_OFF = 0.04, 0.01
"""Standard deviations of lengths, and of places of markers, hips and shoulders [m], from those of the model."""

WHITE = Noise()
"""Noise of cameras and plate alone."""

LENGTHS = ("head", "torso", "pelvis", "upper_arm", "forearm", "thigh", "shank")


@dataclass(frozen=True)
class Case:
    """What is known of a person before.

    Attributes:
        title: The case in words.
        mass: The stated mass, in the true one.
        is_placed: Whether lengths, joints and markers of the person are elsewhere than the table has them.
        is_calibrated: Whether they are calibrated on a recording.
        skin: How far markers move on the skin [m].
        draws: Draws for each sex and table.
    """

    title: str
    mass: float = 1.0
    is_placed: bool = False
    is_calibrated: bool = False
    skin: float = 0.0
    draws: int = 1


CASES = {
    "known": Case("lengths and markers known"),
    "mass": Case("stated mass 5 % too high", mass=1.05),
    "calibrated": Case("lengths and markers calibrated", is_placed=True, is_calibrated=True, draws=2),
    "skin": Case("the same, markers move on the skin by 5 mm", is_placed=True, is_calibrated=True, skin=5e-3),
    "uncalibrated": Case("lengths and markers wrong, not calibrated", is_placed=True),
}


@dataclass(frozen=True, eq=False)
class OffByParts(Subject):
    """A person whose segments are off the table's in mass, centre of mass and inertia, each for itself."""

    @cached_property
    def parameters(self) -> Array:
        """True segments, shape (10 * solid links,): the total mass is the table's, since people are weighed."""
        table = self.person.legged.robot.parameters
        rng = np.random.default_rng((self.seed, 21))
        found = np.concatenate([by_parts(link, rng, self.relative) for link in table.reshape(-1, 10)])
        return found * (table[::10].sum() / found[::10].sum())

    def capture(self, motion: StandingMotion, noise: Noise = WHITE, seed: int = 0, name: str = "") -> Capture:
        """What cameras and plate measure, with the frame that C3D files give a plate by its corners."""
        found = super().capture(motion, noise, seed, name)
        return replace(found, plates=[by_corners(plate) for plate in found.plates])


def by_corners(plate: ForcePlate) -> ForcePlate:
    """A plate in the frame of its corners, whose z axis points into the ground."""
    assert plate.corners is not None
    corners = plate.corners[[1, 0, 3, 2]]
    pose = plate_pose(corners)
    assert pose is not None
    turn, lever = pose[:3, :3].T @ plate.pose[:3, :3], plate.pose[:3, 3] - pose[:3, 3]
    force, moment = plate.wrench[:, :3] @ turn.T, plate.wrench[:, 3:] @ turn.T
    moment += np.cross(pose[:3, :3].T @ lever, force)
    return replace(plate, wrench=np.hstack([force, moment]), pose=pose, corners=corners)


def by_parts(link: Array, rng: np.random.Generator, relative: float) -> Array:
    """A physically consistent link, shape (10,), off another in mass, centre of mass, and inertia, each for itself.

    The centre of mass is off in parts of the radii of gyration along the principal axes; the radii, too.
    """
    mass, centre, about = inertia.to_mass_com_inertia(link)
    second = 0.5 * np.trace(about) * np.eye(3) - about
    root = np.linalg.cholesky(second / mass)
    mass *= float(np.exp(relative * rng.normal()))
    centre = centre + relative * root @ rng.normal(size=3)
    root = root @ (np.eye(3) + 0.5 * relative * rng.normal(size=(3, 3)))
    second = mass * root @ root.T
    return inertia.from_mass_com_inertia(mass, centre, np.trace(second) * np.eye(3) - second)


@cache
def body_of(sex: str, table: str, is_placed: bool) -> Person:
    """How a person moves, with a geometry at random or with that of the table."""
    legged = person(sex, table, *SIZES[sex])
    legged = placed(legged, sex, table) if is_placed else legged
    for seed in range(1, 10):
        try:
            found = Person(legged, seed=seed)
            assert found.motions
            assert found.unseen
        except RuntimeError:
            continue
        return found
    raise RuntimeError(f"no motions of a {sex} body of {table} within reach")


def placed(legged: LeggedRobot, sex: str, table: str) -> LeggedRobot:
    """A body whose lengths, joints and markers are elsewhere."""
    rng = np.random.default_rng((BODIES.index((sex, table)), 22))
    height, mass = SIZES[sex]
    usual = dynid.human(sex=sex, height=height, mass=mass, table=table)
    lengths = {name: length * np.exp(LENGTH_OFF * rng.normal()) for name, length in lengths_of(usual, LENGTHS).items()}
    source = human_description(sex, height, mass, table, lengths)
    markers = {f"{name}_fixed" for name, _, _ in marker_rows()}
    aside = {"hip": rng.normal(size=3), "shoulder": rng.normal(size=3)}
    joints = []
    for joint in source.joints:
        at = np.array(joint.placement)
        if joint.name in markers:
            at[:3, 3] += PLACE_OFF * rng.normal(size=3)
        elif joint.name.endswith("_flexion") and (part := joint.name.split("_")[0]) in aside:
            at[:3, 3] += PLACE_OFF * aside[part] * [1.0, 1.0 if "_left_" in joint.name else -1.0, 1.0]
        joints.append(replace(joint, placement=frozen(at)))
    return replace(legged, source=replace(source, joints=tuple(joints)))


def lengths_of(robot: dynid.Robot, names: Sequence[str]) -> dict[str, float]:
    """Lengths [m] of segments of the table's body."""
    ends = {"torso": "neck_flexion", "upper_arm": "elbow_left_flexion", "forearm": "wrist_left_flexion"}
    ends |= {"thigh": "knee_left_flexion", "shank": "ankle_left_flexion", "pelvis": "spine_flexion"}
    return {name: float(np.linalg.norm(robot.joint(ends[name]).placement[:3, 3])) for name in names if name in ends}


@dataclass(frozen=True)
class Figures:
    """What was found in a draw.

    Attributes:
        mass: Error of the total mass, in the true one.
        forces: Root mean square errors of the forces of unseen motion [N] to the true ones: of the table and of the
            identified body, first by markers with noise, and then by exact ones.
        moments: The same of moments [N m].
        warnings: Codes of warnings on the way.
    """

    mass: float
    forces: tuple[float, ...]
    moments: tuple[float, ...]
    warnings: tuple[str, ...]


def draw(case: Case, sex: str, table: str, seed: int, folder: Path) -> Figures:
    """A person from captures to figures."""
    subject = OffByParts(body_of(sex, table, case.is_placed), seed)
    noise = Noise(skin=case.skin)
    files = [write_c3d(folder / f"{capture.name}.c3d", capture) for capture in subject.captures(noise)]
    robot = robot_file(case, subject, sex, table, folder).path
    dynid.init(robot, *files, folder=folder).save(folder / "experiment.toml")
    result = dynid.identify(folder / "experiment.toml")
    found = list[Prediction]()
    for name, marker in (("unseen", noise.marker), ("exact", 0.0)):
        own = Noise(marker, 0.0, 0.0, case.skin)
        capture = subject.capture(subject.person.unseen, own, 99, name)
        found += predicted(result, write_c3d(folder / f"{name}.c3d", capture))
    assert result.physical is not None
    mass = sum(link.mass for link in result.physical.links) / subject.mass - 1.0
    warned = {finding.code for finding in result.findings if finding.severity is not Severity.NOTE}
    forces, moments = (tuple(rmse(one, rows) for one in found) for rows in (slice(0, 3), slice(3, 6)))
    return Figures(mass, forces, moments, tuple(sorted(warned)))


def robot_file(case: Case, subject: Subject, sex: str, table: str, folder: Path) -> Converted:
    """The file that the person is identified with."""
    height, mass = SIZES[sex]
    stated = {"sex": sex, "height": height, "mass": case.mass * mass, "table": table}
    if not case.is_calibrated:
        return dynid.convert("human", folder / "human.urdf", **stated)
    capture = dynid.read_capture(write_c3d(folder / "range.c3d", subject.calibration_capture(Noise(skin=case.skin))))
    return dynid.convert(dynid.human_of_markers(capture, **stated).robot, folder / "human.urdf")


def predicted(result: Result, unseen: Path) -> list[Prediction]:
    """The wrench of unseen motion by the robot file, and by the identified links."""
    (one,) = unseen_logs(result, [unseen])
    known = result.standard_parameters()  # the cut-off frequency is its own, as in `dynid validate`
    own = prepare(one.log, result.model, result.drive, result.task.processing, known=known)
    parts = [(own.segments, own.processing)]
    sets = [result.robot.parameters, result.standard_parameters(physical=True)]
    return predictions(result.model, sets, parts)


def rmse(prediction: Prediction, rows: slice) -> float:
    """Root mean square of the lengths of forces or of moments."""
    return float(np.sqrt(sum(joint.rmse**2 for joint in prediction.joints[:6][rows])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--first", type=int, default=1, help="number of the first draw")
    parser.add_argument("--write", action="store_true", help="write the table to docs/human.md")
    options = parser.parse_args()
    lines = []
    for name in options.case:
        found = list(figures(name, options.first))
        lines.append(line(CASES[name], found))
        print(lines[-1], flush=True)
    if options.write:
        page = Path("docs/human.md")
        table = with_table(page.read_text(encoding="utf-8"), "human_body", "\n".join([*HEAD, *lines]))
        page.write_text(table, encoding="utf-8")


HEAD = (
    "| what is known before | draws | total mass [%] | force [N]: table, identified | better by | by exact markers "
    "| better by "
    "| moment [N m]: table, identified | better by | by exact markers | better by |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def figures(name: str, first: int) -> Iterator[Figures]:
    """Figures of all draws of a case, which are printed."""
    for (sex, table), seed in product(BODIES, range(first, first + CASES[name].draws)):
        with tempfile.TemporaryDirectory() as folder:
            found = draw(CASES[name], sex, table, seed, Path(folder))
        both = (", ".join(f"{x:.3f}" for x in values) for values in (found.forces, found.moments))
        print(f"  {name:12} {sex:6} {table:7} draw {seed}: mass {100 * found.mass:+.3f} %, N {next(both)}, "
              f"N m {next(both)}  {' '.join(found.warnings)}", flush=True)  # fmt: skip
        yield found


def line(case: Case, found: Sequence[Figures]) -> str:
    """A line of the table: medians, and the worst draw in brackets."""
    mass = [100 * abs(one.mass) for one in found]
    cells = [f"{np.median(mass):.3f} ({max(mass):.3f})"]
    for errors in (np.array([one.forces for one in found]), np.array([one.moments for one in found])):
        for before, after in (errors[:, :2].T, errors[:, 2:].T):
            cells.append(f"{np.median(before):.2f}, {np.median(after):.2f}")
            cells.append(f"{np.median(before / after):.1f} ({(before / after).min():.1f})")
    return f"| {case.title} | {len(found)} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
