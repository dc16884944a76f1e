"""The inertias that a URDF or MJCF text states, and where their numbers stand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import RobotFileError
from dynid.robot.formats.urdf_edit import ELEMENTS
from dynid.robot.formats.xml_edits import Node, Splice, set_numbers
from dynid.robot.numbers import LARGEST

DIAGONAL = ((0, 0), (1, 1), (2, 2))
"""Elements of the inertia matrix in `diaginertia` of MJCF."""

FULL = (*DIAGONAL, (0, 1), (0, 2), (1, 2))
"""Elements of the inertia matrix in `fullinertia` of MJCF."""


@dataclass(frozen=True)
class Numbers:
    """An attribute that holds elements of an inertia matrix."""

    node: Node
    attribute: str
    elements: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class StatedInertial:
    """Mass and inertia of a body as its file states them, along the axes of the file's inertial frame.

    Attributes:
        body: Name of the body.
        line: Line of the statement.
        mass: Mass [kg].
        matrix: Inertia about the centre of mass [kg m^2], shape (3, 3).
        distance: Distance of the centre of mass from the body's frame [m]: what rounding is depends on it.
        mass_at: Element and attribute of the mass.
        matrix_at: Attributes of the inertia.
        is_judged_to_the_last_digit: Whether a body that is a last digit outside of the possible is refused with the
            whole file, as MuJoCo does.
    """

    body: str
    line: int
    mass: float
    matrix: Array
    distance: float
    mass_at: tuple[Node, str]
    matrix_at: tuple[Numbers, ...]
    is_judged_to_the_last_digit: bool

    def splices(self, mass: float, matrix: Array) -> list[Splice]:
        """The edits that give the body another mass [kg] and inertia [kg m^2]; numbers that stay keep their text."""
        rounding = 1e-15 * float(np.abs(matrix).max())
        edits = set_numbers(*self.mass_at, [mass])
        for numbers in self.matrix_at:
            values = [float(matrix[at]) for at in numbers.elements]
            edits += set_numbers(numbers.node, numbers.attribute, values, rounding)
        return edits


def stated_inertials(root: Node, path: Path) -> Iterator[StatedInertial]:
    """All inertias that a robot file states itself.

    Args:
        root: Root element of a URDF or MJCF text.
        path: The file, for errors.

    Raises:
        RobotFileError: If a value is no number.
    """
    is_mjcf = root.tag == "mujoco"
    for body in _bodies(root, is_mjcf):
        inertial = body.find("inertial")
        if inertial is None:
            continue
        mass_at, matrix_at = _mjcf_places(inertial) if is_mjcf else _urdf_places(inertial)
        matrix = np.zeros((3, 3))
        for numbers in matrix_at:
            values = _values(numbers.node, numbers.attribute, len(numbers.elements), path)
            for (i, j), value in zip(numbers.elements, values, strict=True):
                matrix[i, j] = matrix[j, i] = value
        (mass,) = _values(*mass_at, 1, path)
        name = body.attributes.get("name") or "(unnamed)"
        distance = _distance(inertial, is_mjcf, path)
        yield StatedInertial(name, inertial.line, mass, matrix, distance, mass_at, matrix_at, is_mjcf)


def _bodies(root: Node, is_mjcf: bool) -> Iterator[Node]:
    if not is_mjcf:
        return root.findall("link")
    return (node for world in root.findall("worldbody") for node in world.iter() if node.tag == "body")


def _distance(inertial: Node, is_mjcf: bool, path: Path) -> float:
    node, attribute = (inertial, "pos") if is_mjcf else (inertial.find("origin"), "xyz")
    if node is None or attribute not in node.attributes:
        return 0.0
    return math.hypot(*_values(node, attribute, 3, path))


def _urdf_places(inertial: Node) -> tuple[tuple[Node, str], tuple[Numbers, ...]]:
    mass, matrix = inertial.find("mass"), inertial.find("inertia")
    assert mass is not None  # or the reader would have refused the file
    assert matrix is not None
    return (mass, "value"), tuple(Numbers(matrix, name, (at,)) for name, at in ELEMENTS.items())


def _mjcf_places(inertial: Node) -> tuple[tuple[Node, str], tuple[Numbers, ...]]:
    known = {"diaginertia": DIAGONAL, "fullinertia": FULL}
    stated = {name: elements for name, elements in known.items() if name in inertial.attributes}
    return (inertial, "mass"), tuple(Numbers(inertial, name, elements) for name, elements in stated.items())


def _values(node: Node, attribute: str, count: int, path: Path) -> list[float]:
    text = node.attributes.get(attribute, "")
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = [math.nan]
    if len(values) != count or not all(abs(value) <= LARGEST for value in values):
        expected = "one finite number" if count == 1 else f"{count} finite numbers"
        raise RobotFileError(path, f'<{node.tag}> has {attribute}="{text[:60]}"; expected {expected}', node.line)
    return values
