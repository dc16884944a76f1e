"""The nearest physically consistent robot to an inconsistent one, in the user's own file.

A body is inconsistent if its mass is not positive, or if its principal moments about the centre of mass are negative or
violate the triangle inequality I1 + I2 >= I3. Each such body is changed as little as possible:

* its **inertia** becomes the nearest consistent one in the Frobenius norm (see `nearest_inertia`);
* a **mass** that is negative, or zero with an inertia, becomes `SMALLEST_MASS`, which is positive and yet too small to
  show in torques. It is a stand-in: the right mass cannot be known from the file, and the user should write it.

Centres of mass stay, and so do all other bodies.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.errors import RobotFileError
from dynid.files import write_bytes
from dynid.robot import inertia
from dynid.robot.description import FULL_INERTIA, INERTIA_ATTRIBUTES
from dynid.robot.formats.xacro_files import is_xacro
from dynid.robot.formats.xml_edits import Node, Splice, locate, set_numbers, spliced
from dynid.robot.formats.xml_files import read_xml, robot_bytes
from dynid.robot.inertia import Violation
from dynid.robot.joints import LARGEST_NUMBER
from dynid.robot.loading import BUILTIN_PREFIX, read_description, robot_file

CONSISTENT_MARGIN = 1e-6
"""How far inside the consistent set a repaired body is, as a fraction of its largest moment.

Simulators diagonalise the inertia again, some in single precision (1e-7), and refuse what is a digit outside; no log
of a real robot determines moments to six digits.
"""

SMALLEST_MASS = 1e-6
"""Mass [kg] of a repaired body that had none: a milligram."""

_Numbers: TypeAlias = tuple[Node, str, tuple[tuple[int, int], ...]]
"""An element, its attribute that holds elements of an inertia matrix, and their places in the matrix."""

_TRIANGLE = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


@dataclass(frozen=True)
class Change:
    """What was changed of a body.

    Attributes:
        what: "mass" or "principal moments".
        unit: Unit of the values.
        before: Values in the file.
        after: Values that replace them.
    """

    what: str
    unit: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def relative(self) -> float | None:
        """Size of the change as a fraction of the size of the old values; None if these are zero."""
        size = float(np.linalg.norm(self.before))
        return float(np.linalg.norm(np.subtract(self.after, self.before))) / size if size else None


@dataclass(frozen=True)
class BodyRepair:
    """What was wrong with a body, and what was changed.

    Attributes:
        body: Its name.
        line: Line of the file where its inertia is.
        violations: The physical laws that it broke.
        changes: What was changed.
    """

    body: str
    line: int
    violations: tuple[Violation, ...]
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON."""
        broken = [{"law": v.law, "amount": v.amount, "unit": v.unit} for v in self.violations]
        changes = [vars(change) | {"relative": change.relative} for change in self.changes]
        return {"body": self.body, "line": self.line, "violations": broken, "changes": changes}


@dataclass(frozen=True, repr=False)
class FileRepair:
    """A robot file and what was repaired in it.

    Attributes:
        source: The user's file.
        output: The file that was written; None if nothing was wrong.
        bodies: The bodies that were physically inconsistent.
    """

    source: Path
    output: Path | None
    bodies: tuple[BodyRepair, ...]

    def __repr__(self) -> str:
        written = "nothing to repair" if self.output is None else f"written to '{self.output}'"
        return f"FileRepair('{self.source}': {len(self.bodies)} inconsistent bodies, {written})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON."""
        output = None if self.output is None else str(self.output)
        return {"robot": str(self.source), "output": output, "bodies": [body.to_dict() for body in self.bodies]}


def repair(
    source: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> FileRepair:
    """Write the nearest physically consistent robot as another file; nothing is written if all bodies are consistent.

    Args:
        source: The URDF or MJCF file.
        out: The file to write; `NAME_repaired` beside the source when None.
        overwrite: Whether an existing file, the source among them, may be replaced.

    Raises:
        RobotFileError: If the file cannot be read, or is a table.
        OutputExistsError: If the output exists and may not be replaced.
    """
    path = _editable_file(source)
    suffix = ".urdf" if is_xacro(path) else path.suffix
    stem = path.stem.removesuffix(".urdf") if is_xacro(path) else path.stem
    target = path.with_name(f"{stem}_repaired{suffix}") if out is None else Path(out)
    if target.suffix.lower() != suffix.lower():
        raise RobotFileError(target, f"the repaired file keeps its format; give it a name that ends in {suffix}")
    content, bodies = repaired(robot_bytes(path), path)
    if not bodies:
        return FileRepair(path, None, ())
    write_bytes(target, content, overwrite=overwrite, check=lambda written: _check_physical(written, path))
    return FileRepair(path, target, bodies)


def _editable_file(source: str | os.PathLike[str]) -> Path:
    text = str(source)
    if text.startswith(BUILTIN_PREFIX) or text.lower().endswith(".toml"):
        name = Path(text.removeprefix(BUILTIN_PREFIX)).stem
        advice = f"dynid convert {text} {name}.urdf; dynid repair {name}.urdf"
        raise RobotFileError(text, f"is a table, and only URDF and MJCF files are repaired; convert it first: {advice}")
    path = robot_file(source)
    if read_xml(path).tag != "mujoco":  # MuJoCo refuses inconsistent bodies: it cannot read an MJCF file as a robot yet
        read_description(path)
    return path


def repaired(content: bytes, path: Path) -> tuple[bytes, tuple[BodyRepair, ...]]:
    """The text of a URDF or MJCF file with physically consistent bodies, and what was repaired; errors name it."""
    splices, bodies = [], []
    for stated in stated_inertials(locate(content, path), path):
        broken = tuple(_broken_laws(stated))
        if broken:
            mended = _mended(stated)
            splices += stated.splices(mended.mass, mended.matrix)
            bodies.append(BodyRepair(stated.body, stated.line, broken, tuple(_changes(stated, mended))))
    return spliced(content, splices), tuple(bodies)


def nearest_inertia(matrix: Array, margin: float = CONSISTENT_MARGIN) -> Array:
    """The nearest consistent inertia matrix about the centre of mass, in the Frobenius norm; (3, 3) to (3, 3).

    The set of consistent matrices does not depend on axes, so the nearest one has the same principal axes, and its
    principal moments are the nearest in the Euclidean norm of the form A s with A = [[0,1,1], [1,0,1], [1,1,0]] and
    s >= margin * (the largest moment), where s are the second moments of mass along the axes: a non-negative least
    squares problem in three variables.
    """
    from scipy.optimize import nnls

    moments, axes = np.linalg.eigh(matrix)
    scale = float(np.abs(moments).max())  # the solver's tolerances are made for numbers around one
    s = margin + nnls(_TRIANGLE, moments / scale - _TRIANGLE @ np.full(3, margin))[0]
    return (axes * (scale * _TRIANGLE @ s)) @ axes.T


def _broken_laws(stated: StatedInertial) -> Iterator[Violation]:
    com = np.array([stated.distance, 0.0, 0.0])
    failed = inertia.violations(inertia.from_mass_com_inertia(stated.mass, com, stated.matrix), tolerance=0.0)
    yield from failed
    if stated.mass <= 0.0 and failed:
        yield from inertia.violations(inertia.from_moments(1.0, np.zeros(3), stated.matrix), tolerance=0.0)
    elif stated.is_judged_to_the_last_digit and not failed and stated.mass > 0.0:
        I1, I2, I3 = np.linalg.eigvalsh(stated.matrix)
        if I1 + I2 < I3:
            yield Violation("I1 + I2 >= I3 (triangle inequality)", float(I3 - I1 - I2), "kg m^2")


def _mended(stated: StatedInertial) -> StatedInertial:
    mended = replace(stated, mass=stated.mass if stated.mass > 0.0 else SMALLEST_MASS)
    return replace(mended, matrix=nearest_inertia(stated.matrix)) if any(_broken_laws(mended)) else mended


def _changes(before: StatedInertial, after: StatedInertial) -> Iterator[Change]:
    if after.mass != before.mass:
        yield Change("mass", "kg", (before.mass,), (after.mass,))
    if after.matrix is not before.matrix:
        old, new = (tuple(np.linalg.eigvalsh(stated.matrix).tolist()) for stated in (before, after))
        yield Change("principal moments", "kg m^2", old, new)


def _check_physical(written: Path, source: Path) -> None:
    """Load what was written, and see that it is physically consistent."""
    try:
        bodies = read_description(written).bodies
    except RobotFileError as error:
        raise RobotFileError(source, f"cannot be read after its repair: {error.problem}", error.line) from error
    for body in bodies:
        if body.inertia is not None and not inertia.is_physical(body.inertia):
            problem = f"body '{body.name}' is still inconsistent after the repair; is its inertia in an included file?"
            raise RobotFileError(source, problem, body.line)


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
        matrix_at: Elements and attributes of the inertia, each with its places in the matrix.
        is_judged_to_the_last_digit: Whether a body that is a last digit outside of the possible is refused with the
            whole file, as MuJoCo does.
    """

    body: str
    line: int
    mass: float
    matrix: Array
    distance: float
    mass_at: tuple[Node, str]
    matrix_at: tuple[_Numbers, ...]
    is_judged_to_the_last_digit: bool

    def splices(self, mass: float, matrix: Array) -> list[Splice]:
        """The edits that give the body another mass [kg] and inertia [kg m^2]; numbers that stay keep their text."""
        rounding = 1e-15 * float(np.abs(matrix).max())
        edits = set_numbers(*self.mass_at, [mass])
        for node, attribute, places in self.matrix_at:
            edits += set_numbers(node, attribute, [float(matrix[at]) for at in places], rounding)
        return edits


def stated_inertials(root: Node, path: Path) -> Iterator[StatedInertial]:
    """All inertias that a URDF or MJCF text states itself, given its root element; errors name the path."""
    is_mjcf = root.tag == "mujoco"
    in_worlds = [node for world in root.findall("worldbody") for node in world.iter() if node.tag == "body"]
    for body in in_worlds if is_mjcf else root.findall("link"):
        inertial = body.find("inertial")
        if inertial is None:
            continue
        mass_at, matrix_at = _mjcf_places(inertial) if is_mjcf else _urdf_places(inertial)
        matrix = np.zeros((3, 3))
        for node, attribute, places in matrix_at:
            for (i, j), value in zip(places, _values(node, attribute, len(places), path), strict=True):
                matrix[i, j] = matrix[j, i] = value
        (mass,) = _values(*mass_at, 1, path)
        name = body.attributes.get("name") or "(unnamed)"
        distance = _distance(inertial, is_mjcf, path)
        yield StatedInertial(name, inertial.line, mass, matrix, distance, mass_at, matrix_at, is_mjcf)


def _distance(inertial: Node, is_mjcf: bool, path: Path) -> float:
    node, attribute = (inertial, "pos") if is_mjcf else (inertial.find("origin"), "xyz")
    if node is None or attribute not in node.attributes:
        return 0.0
    return math.hypot(*_values(node, attribute, 3, path))


def _urdf_places(inertial: Node) -> tuple[tuple[Node, str], tuple[_Numbers, ...]]:
    mass, matrix = inertial.find("mass"), inertial.find("inertia")
    assert mass is not None  # or the reader would have refused the file
    assert matrix is not None
    return (mass, "value"), tuple((matrix, name, (at,)) for name, at in INERTIA_ATTRIBUTES.items())


def _mjcf_places(inertial: Node) -> tuple[tuple[Node, str], tuple[_Numbers, ...]]:
    known = {"diaginertia": FULL_INERTIA[:3], "fullinertia": FULL_INERTIA}
    stated = tuple((inertial, name, places) for name, places in known.items() if name in inertial.attributes)
    return (inertial, "mass"), stated


def _values(node: Node, attribute: str, count: int, path: Path) -> list[float]:
    text = node.attributes.get(attribute, "")
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = [math.nan]
    if len(values) != count or not all(abs(value) <= LARGEST_NUMBER for value in values):
        expected = "one finite number" if count == 1 else f"{count} finite numbers"
        raise RobotFileError(path, f'<{node.tag}> has {attribute}="{text[:60]}"; expected {expected}', node.line)
    return values
