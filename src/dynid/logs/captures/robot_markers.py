"""Markers of a capture beside those of a robot: labels exchanged throughout, another unit, markers that are missing."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures.capture import Capture
from dynid.logs.captures.exchanged_sides import exchanged_sides
from dynid.logs.captures.marker_tree import marker_bodies, names_of_bodies
from dynid.logs.captures.swapped_labels import MarkerDistances, label_order
from dynid.robot import WORLD, Robot


@dataclass(frozen=True)
class RobotMarkerThresholds:
    """How markers of a capture are compared with those of a robot."""

    scale: float = 30.0
    """Ratio of distances in the capture to those of the robot, either way, from which the unit is another.
    By judgement."""

    apart: float = 0.02
    """Distance [m] on the robot from which a pair of markers shows the unit. By judgement."""

    long: float = 0.1
    """The same from which it shows the size. By judgement."""

    near: int = 3
    """Joints between two links up to which they are neighbours: a hip has three. By judgement."""

    samples: int = 300
    """Samples that are looked at. By judgement."""


THRESHOLDS = RobotMarkerThresholds()


def of_robot(robot: Robot, capture: Capture) -> tuple[Capture, tuple[Finding, ...]]:
    """A capture whose labels and unit fit the markers of a robot, and what was noticed.

    Args:
        robot: The robot, whose file has markers as bodies.
        capture: The capture.
    """
    capture = replace(capture, names=names_of_bodies(robot, capture.names))
    places = _places(robot, capture.names)
    own = [k for k, name in enumerate(capture.names) if name in places]
    findings = [*_missing(robot, capture)]
    if len(own) < 3:
        return capture, tuple(findings)
    distances = _distances_of(robot, capture, own, places)
    ratio = distances.ratio(THRESHOLDS.apart)
    factor = 1e-3 if ratio > THRESHOLDS.scale else 1e3 if ratio < 1.0 / THRESHOLDS.scale else 1.0
    if factor != 1.0:
        capture, distances = replace(capture, markers=factor * capture.markers), distances.scaled(factor)
        findings.append(Finding.of("markers-not-to-scale", "markers", ratio=ratio, factor=factor))
    labels = [capture.names[k] for k in own]
    if (others := exchanged_sides(robot, labels, capture.markers[:, own])) is not None:
        capture = replace(capture, names=[others.get(name, name) for name in capture.names])
        own = [capture.names.index(name) for name in labels]
        distances = _distances_of(robot, capture, own, places)
        findings.append(Finding.of("marker-sides-exchanged", "markers", count=len(others)))
    order = label_order(distances)
    if order is not None:
        moved = [labels[k] for k, other in enumerate(order) if k != other]
        markers = capture.markers.copy()
        markers[:, own] = capture.markers[:, [own[other] for other in order]]
        capture = replace(capture, markers=markers)
        findings.append(Finding.of("markers-swapped", "markers", markers=moved))
    return capture, tuple(findings)


def size_ratio(robot: Robot, capture: Capture) -> float:
    """Distances between markers on segments over those of the robot's file, in the median; NaN where there are none."""
    places = _places(robot, capture.names)
    own = [k for k, name in enumerate(capture.names) if name in places]
    if len(own) < 2:
        return float("nan")
    return _distances_of(robot, capture, own, places).ratio(THRESHOLDS.long)


def _distances_of(
    robot: Robot, capture: Capture, own: Sequence[int], places: Mapping[str, tuple[int, Array]]
) -> MarkerDistances:
    """Distances between some markers, as they were seen and on the robot."""
    links = [places[capture.names[k]][0] for k in own]
    on_robot = np.array([places[capture.names[k]][1] for k in own])
    some = capture.markers[:: max(1, len(capture) // THRESHOLDS.samples)][:, own]
    steps = np.array([[_steps(robot, a, b) for b in links] for a in links])
    seen, spread = _distances(some)
    wanted = np.linalg.norm(on_robot[:, None] - on_robot[None], axis=2)
    apart = ~np.eye(len(own), dtype=bool)
    return MarkerDistances(seen, spread, wanted, (steps == 0) & apart, (steps <= THRESHOLDS.near) & apart)


def _steps(robot: Robot, one: int, other: int) -> int:
    """How many joints are between two links."""
    return len(set(robot.chain(one)) ^ set(robot.chain(other)))


def _places(robot: Robot, names: Sequence[str]) -> dict[str, tuple[int, Array]]:
    """Links that move and places on them [m] of the markers that a robot has."""
    bodies = marker_bodies(robot)
    return {name: bodies[name] for name in names if name in bodies and bodies[name][0] != WORLD}


def _missing(robot: Robot, capture: Capture) -> list[Finding]:
    """Markers of the human body that its file has and the capture lacks, or never saw."""
    from dynid.robot.human.skeleton import marker_rows

    of_body = _places(robot, [name for name, _, _ in marker_rows()])
    known = {name for k, name in enumerate(capture.names) if capture.is_seen[:, k].any()}
    absent = [name for name in of_body if name not in known]
    if not absent or len(absent) == len(of_body):
        return []
    code = "markers-missing"
    return [Finding.of(code, "markers", markers=absent, count=len(of_body) - len(absent), of=len(of_body))]


def _distances(markers: Array) -> tuple[Array, Array]:
    """Medians and standard deviations of the distances of all markers [m], shapes (markers, markers)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # markers that are never seen together
        count = markers.shape[1]
        middle, spread = np.full((count, count), np.nan), np.full((count, count), np.nan)
        for k in range(count):
            apart = np.linalg.norm(markers - markers[:, k : k + 1], axis=2)
            low, middle[k], high = np.nanquantile(apart, [0.16, 0.5, 0.84], axis=0)
            spread[k] = 0.5 * (high - low)
    return middle, spread
