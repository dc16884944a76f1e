"""Magnitudes that no robot has, or that its file contradicts: torques in N mm, currents in mA, motors taken for joints.

Measured torques are compared with the torques that the file's masses need on the same motion, with the joints' effort
limits, and with what any robot of this size can weigh. The thresholds were calibrated on simulated robots with payloads
and on real logs: see docs/logs.md.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs.gravity_share import findings_on_gravity
from dynid.logs.settings import Drive
from dynid.model import Chunk, DynamicModel
from dynid.robot import Joint, JointKind, Robot

SAMPLES = 1000
"""Samples that are looked at."""

LARGE = 30.0
"""Torques over those of the file's masses from which their unit is doubted."""

HUGE = 200.0
"""The same, from which it is certainly wrong: a file's masses may be placeholders, but not by this much."""

BEYOND = 10.0
"""Torques over effort limits from which their unit is doubted, where each joint has a limit of its own."""

FAR_BEYOND = 100.0
"""The same, from which it is certainly wrong."""

PLACEHOLDER = 3.0
"""Factor on `BEYOND` where all joints have the same effort limit, as placeholders have; masses count more."""

ONE_OF_MANY = 5.0
"""Factor on `LARGE` and `HUGE` where a single joint exceeds them: its friction may be large."""

SHARE = 0.1
"""Torque by the file's masses over that of the heaviest joint above which a joint is looked at alone."""

SMALL = 0.05
"""Torques over those of the file's masses below which they are doubted."""

HEAVY = 0.2
"""Torque [N m or N] of gravity by the file's masses from which a joint is compared."""

DENSITY = 1000.0
"""Mass [kg] over the cube of the reach [m^3] above which there is no robot. Large and small industrial arms have up to
220 with their bases, light ones 30."""

SMALLEST_REACH = 0.3
"""Reach [m] below which the bound on masses does not shrink: bench rigs carry weights on short levers."""

LARGEST_CURRENT = 500.0
"""Current [A] of a joint's drive from which the unit is doubted."""


@dataclass(frozen=True)
class Magnitudes:
    """How large torques are.

    Attributes:
        file: Torques over those that the file's masses need on the same motion, over all joints that hold weight; None
            where the file states no masses, or gravity needs little torque.
        joints: The same for each joint that holds much weight: on others, friction may be all there is.
        limits: Largest torques over effort limits, by joint, where these are stated.
        varied: Whether effort limits differ between joints; the same for all may be a placeholder.
        mass: Mass [kg] that would need such torques at the end of the reach.
        bound: Mass [kg] that no robot of this reach has.
        reach: The reach [m].
    """

    file: float | None
    joints: dict[str, float]
    limits: dict[str, float]
    varied: bool
    mass: float
    bound: float
    reach: float


def magnitudes_of(model: DynamicModel, segments: Sequence[Chunk], unmeasured: Sequence[str] = ()) -> Magnitudes:
    """How large the torques of a log are beside those of the robot's file, its limits, and any robot of its size."""
    q, v, a, torque = _thinned(segments)
    robot = model.robot
    names = [name for name in model.row_names if name not in unmeasured]
    rows = [model.row_names.index(name) for name in names]
    measured = torque[:, rows]
    links = DynamicModel(robot)
    needed, weight = (links.inverse_dynamics(*states)[:, rows] for states in ((q, v, a), (q,)))
    largest = np.quantile(np.abs(measured), 0.999, axis=0)
    heavy = [k for k in range(len(names)) if np.abs(weight[:, k]).max() > HEAVY]
    rms = np.sqrt(np.mean(measured**2, axis=0)), np.sqrt(np.mean(needed**2, axis=0))
    whole = None
    if heavy:
        whole = float(np.linalg.norm(rms[0][heavy]) / np.linalg.norm(rms[1][heavy]))
    efforts = {name: robot.joint(name).limits.effort for name in names}
    stated = {name: effort for name, effort in efforts.items() if 0.0 < effort < math.inf}
    reach = reach_of(robot, q)
    arc = float(np.quantile(np.abs(a).max(axis=1) + np.abs(v).sum(axis=1) ** 2, 0.99))
    lever = reach * (float(np.linalg.norm(robot.gravity)) + reach * arc)
    turning = [k for k, name in enumerate(names) if robot.joint(name).kind is not JointKind.PRISMATIC]
    return Magnitudes(
        file=whole,
        joints={names[k]: float(rms[0][k] / rms[1][k]) for k in heavy if rms[1][k] > SHARE * rms[1][heavy].max()},
        limits={name: float(largest[names.index(name)]) / effort for name, effort in stated.items()},
        varied=len(set(stated.values())) > 1 or len(stated) == 1,
        mass=float(largest[turning].max()) / lever if turning and lever > 0.0 else 0.0,
        bound=largest_mass(reach),
        reach=reach,
    )


def reach_of(robot: Robot, q: Array | None = None) -> float:
    """How far the end of the longest chain of links can be from its first joint [m].

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq), that sliding joints go to; to their limits when None.
    """
    longest = 0.0
    for i in range(len(robot.joints)):
        chain = list(robot.chain(i))
        length = sum(float(np.linalg.norm(robot.joints[k].placement[:3, 3])) for k in chain[:-1])
        sliding = [robot.joints[k] for k in chain if robot.joints[k].kind is JointKind.PRISMATIC]
        length += sum(_travel(joint, q) for joint in sliding)
        mass, *first = robot.links[i].parameters[:4]
        length += 2.0 * float(np.linalg.norm(first)) / mass if mass > 0.0 else 0.0
        longest = max(longest, length)
    return longest


def _travel(joint: Joint, q: Array | None) -> float:
    """How far a sliding joint goes [m]; nothing where its limits are not known."""
    ends = np.array([joint.limits.lower, joint.limits.upper]) if q is None else joint.positions(q)
    return float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))


def largest_mass(reach: float) -> float:
    """Mass [kg] that no robot of a reach [m] has; infinite where the reach is not known."""
    return DENSITY * max(reach, SMALLEST_REACH) ** 3 if reach > 0.0 else math.inf


def _thinned(segments: Sequence[Chunk]) -> tuple[Array, Array, Array, Array]:
    """Some samples of a log, evenly spread: positions, velocities, accelerations and torques."""
    step = max(1, sum(map(len, segments)) // SAMPLES)
    parts = [(s.q[::step], s.v[::step], s.a[::step], s.torque[::step]) for s in segments]
    q, v, a, torque = (np.concatenate(signals) for signals in zip(*parts, strict=True))
    return q, v, a, torque


def findings_on_magnitudes(
    model: DynamicModel, segments: Sequence[Chunk], drive: Drive, unmeasured: Sequence[str] = ()
) -> Iterator[Finding]:
    """Findings on torques and currents that are far too large or too small to be what their unit says, or weightless.

    Args:
        model: The model.
        segments: Samples of a log on the side of the joints.
        drive: The drives, which say what was logged.
        unmeasured: Joints whose torques were not measured.
    """
    if not sum(map(len, segments)) or len(unmeasured) == len(model.row_names):
        return
    if drive.torque_constants == "unknown":
        yield from _on_currents(model, segments, drive)
        return
    found = magnitudes_of(model, segments, unmeasured)
    severity = _too_large(found)
    without_gravity = tuple(findings_on_gravity(model, segments, unmeasured))
    if severity is not None:
        yield _finding_on_large(found, drive, severity)
    elif found.file is None or found.file >= SMALL or any(one.severity is Severity.ERROR for one in without_gravity):
        yield from without_gravity
    else:
        joint = min(found.joints, key=lambda name: found.joints[name])
        values = {"ratio": found.file, "joint": joint, "likely": _likely_small(found.file, drive)}
        yield Finding.of("torques-small", "torques", **values)


def _too_large(found: Magnitudes) -> Severity | None:
    """How surely torques are too large."""
    limits = sorted(found.limits.values())
    beyond = limits[len(limits) // 2] if limits else 0.0
    file = max(found.file or 0.0, max(found.joints.values(), default=0.0) / ONE_OF_MANY)
    if found.mass > found.bound or file > HUGE or (beyond > FAR_BEYOND and (found.varied or file > LARGE)):
        return Severity.ERROR
    exceeds = beyond > BEYOND if found.varied else found.file is None and beyond > PLACEHOLDER * BEYOND
    return Severity.WARNING if file > LARGE or exceeds else None


def _finding_on_large(found: Magnitudes, drive: Drive, severity: Severity) -> Finding:
    reasons = []
    heavy = {name: ratio for name, ratio in found.joints.items() if ratio > LARGE * ONE_OF_MANY}
    if found.file is not None and found.file > LARGE:
        reasons.append(f"{found.file:.0f} times those that the masses of the robot file need")
    elif heavy:
        worst = max(heavy, key=lambda name: heavy[name])
        reasons.append(f"{heavy[worst]:.0f} times those that the masses of the robot file need ({worst})")
    beyond = {name: ratio for name, ratio in found.limits.items() if ratio > BEYOND}
    if beyond:
        worst = max(beyond, key=lambda name: beyond[name])
        reasons.append(f"up to {beyond[worst]:.0f} times the effort limits ({worst})")
    if found.mass > found.bound:
        reasons.append(f"those of {found.mass:.0f} kg or more on an arm that reaches {found.reach:.2g} m")
    factor = max(found.file or 0.0, max(found.limits.values(), default=0.0))
    values = {"reasons": reasons, "factor": factor, "likely": _likely_large(found, drive)}
    return Finding.of("torques-large", "torques", severity, **values)


IN_MILLIMETRES = "x1000: are torques in N mm (unit = 'N mm')?"


def _likely_large(found: Magnitudes, drive: Drive) -> str:
    """What makes torques too large, most likely."""
    factor = found.file or max(found.limits.values(), default=1000.0)
    if drive.torque_constants is not None:
        gear = "" if drive.torques == "joint" else ", or do torque constants hold the gear ratio already"
        return f"x1000: are currents in mA (unit = 'mA'){gear}?"
    if factor < HUGE and drive.torques == "motor":
        return "x gear ratio: are torques those of joints already (drive.torques = 'joint')?"
    return IN_MILLIMETRES


def _likely_small(ratio: float, drive: Drive) -> str:
    """What makes torques too small, most likely."""
    if drive.torque_constants is not None:
        side = "" if drive.torques == "motor" else " or gear ratios"
        return f"are torque constants{side} too small, or is the unit of currents 'A' instead of 'mA'?"
    if drive.torques == "joint" and ratio > 1e-3:
        return "are they currents (unit = 'A', drive.torque_constants), or torques of motors (drive.torques, ratios)?"
    return "x0.001: are they in kN m?"


def _on_currents(model: DynamicModel, segments: Sequence[Chunk], drive: Drive) -> Iterator[Finding]:
    """Currents that no drive has, where their torque constants are not known."""
    if drive.torques == "motor":
        return  # currents are multiplied by gear ratios
    largest = np.quantile(np.abs(_thinned(segments)[3]), 0.999, axis=0)
    k = int(np.argmax(largest))
    if largest[k] > LARGEST_CURRENT:
        yield Finding.of("currents-large", "torques", joint=model.row_names[k], current=float(largest[k]))


MASSES_DIFFER = 3.0
"""Factor between identified and stated total mass from which both are doubted."""


def findings_on_mass(robot: Robot, total: float) -> Iterator[Finding]:
    """Findings on an identified total mass that no robot of this size has, or that is far from the file's.

    Args:
        robot: The robot.
        total: Identified mass of all moving links [kg].
    """
    stated = sum(float(robot.links[i].parameters[0]) for i in robot.solid_links)
    complete = stated > 0.0 and all(robot.links[i].has_inertia for i in robot.solid_links)
    reach = reach_of(robot)
    bound = largest_mass(reach)
    factor = total / stated if complete else 0.0
    likely = "x1000: are torques in N mm, or currents in mA?" if total > bound or factor > HUGE else ""
    if total > bound:
        values = {"mass": total, "reach": reach, "bound": bound, "likely": likely}
        yield Finding.of("mass-impossible", "physical links", **values)
    elif complete and not 1.0 / MASSES_DIFFER < factor < MASSES_DIFFER:
        yield Finding.of("mass-differs", "physical links", mass=total, stated=stated, factor=factor)
