"""Robots as tables in TOML: Denavit-Hartenberg, modified Denavit-Hartenberg, or plain frames.

One `[[joint]]` entry a row. With x and z the axes of the frames, Rz(theta) a rotation about z and Tz(d) a
translation along it, the pose of frame j in frame j-1 is

* standard: `Rz(theta) Tz(d) Tx(a) Rx(alpha)`. Frame j sits at the end of link j; the joint turns about z of
  frame j-1;
* modified: `Rx(alpha) Tx(a) Rz(theta) Tz(d)`. Frame j sits on the axis of joint j. (In the letters of Khalil
  and Dombre, a is d and d is r.)
* frames: `xyz`, `rpy` and `axis` as in URDF.

The joint's position is added to theta (revolute) or to d (prismatic). Inertial values of a link are in its own
frame j. `docs/tables.md` describes every key.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from dynid.arrays import Array, frozen
from dynid.errors import RobotFileError, UnknownNameError
from dynid.files import parse_toml, read_toml_text
from dynid.robot import inertia
from dynid.robot.description import (
    STANDARD_GRAVITY,
    BodyDescription,
    Description,
    Geometry,
    JointDescription,
    MimicDescription,
)
from dynid.robot.frames import elementary_rotation, pose, rotation_from_rpy
from dynid.robot.geometry import around_segment
from dynid.robot.joints import JointDynamics, JointKind, Limits, unlimited
from dynid.robot.rounded_frames import Frames
from dynid.settings import Name, Number, Table

Vector = tuple[Number, Number, Number]

_FRAME_KEYS = {"xyz", "rpy", "axis"}
_DH_KEYS = {"theta", "d", "a", "alpha"}


class _Inertia(Table):
    """Elements of an inertia matrix [kg m^2]."""

    xx: Number
    yy: Number
    zz: Number
    xy: Number = 0.0
    xz: Number = 0.0
    yz: Number = 0.0

    def matrix(self) -> Array:
        return np.array([[self.xx, self.xy, self.xz], [self.xy, self.yy, self.yz], [self.xz, self.yz, self.zz]])


class _Mimic(Table):
    joint: Name
    ratio: Number = 1.0
    offset: Number = 0.0


class _Shape(Table):
    """A capsule (all points within a radius of a segment) or a cylinder around a segment [m], in the link's frame."""

    kind: Literal["capsule", "cylinder"] = "capsule"
    begin: Vector
    end: Vector
    radius: Annotated[float, Field(gt=0.0)]


class _Link(Table):
    """Keys of the inertia and the shape of a link, which `[base]` and `[[joint]]` share."""

    link: Name | None = None
    mass: Number | None = None
    com: Vector = (0.0, 0.0, 0.0)
    inertia: _Inertia | None = None
    inertia_about: Literal["com", "frame"] | None = None
    shapes: tuple[_Shape, ...] = ()

    @model_validator(mode="after")
    def _is_complete(self) -> _Link:
        if self.mass is None and (self.inertia is not None or "com" in self.model_fields_set):
            raise ValueError("com and inertia need a mass beside them")
        return self

    def geometry(self) -> tuple[Geometry, ...]:
        """Its shapes, in its own frame."""
        ends = [(np.array(one.begin), np.array(one.end)) for one in self.shapes]
        return tuple(around_segment(*pair, one.radius, one.kind) for pair, one in zip(ends, self.shapes, strict=True))

    def parameters(self, about: Literal["com", "frame"]) -> Array | None:
        """The 10-vector in the link's own frame, shape (10,), or None where no mass is given."""
        if self.mass is None:
            return None
        matrix = np.zeros((3, 3)) if self.inertia is None else self.inertia.matrix()
        com = np.array(self.com)
        if (self.inertia_about or about) == "frame":
            return frozen(inertia.from_moments(self.mass, self.mass * com, matrix))
        return frozen(inertia.from_mass_com_inertia(self.mass, com, matrix))


class _Base(_Link):
    xyz: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)


class _Joint(_Link):
    name: Name
    type: Literal["revolute", "continuous", "prismatic", "spherical", "free_flyer", "fixed"] = "revolute"
    parent: Name | None = None
    theta: Number = 0.0
    d: Number = 0.0
    a: Number = 0.0
    alpha: Number = 0.0
    xyz: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    lower: Number | None = None
    upper: Number | None = None
    velocity: Number | None = None
    acceleration: Number | None = None
    jerk: Number | None = None
    effort: Number | None = None
    damping: Number | None = None
    friction: Number | None = None
    armature: Number | None = None
    mimic: _Mimic | None = None


class _Table(Table):
    name: Name
    convention: Literal["standard", "modified", "frames"]
    angles: Literal["rad", "deg"] = "rad"
    inertia_about: Literal["com", "frame"] = "com"
    gravity: Vector = STANDARD_GRAVITY
    couplings: tuple[tuple[str, str], ...] = ()
    no_contacts: tuple[tuple[str, str], ...] = ()
    source: str | None = None
    base: _Base = _Base()
    joint: tuple[_Joint, ...] = Field(min_length=1)


def read_table(path: Path, *, exact_frames: bool = False) -> Description:
    """Read a robot table in TOML.

    Raises:
        RobotFileError: If the file cannot be read or is no valid table.
    """
    return parse_table(read_toml_text(path, RobotFileError), str(path), exact_frames=exact_frames)


def parse_table(text: str, source: str, *, exact_frames: bool = False) -> Description:
    """Read a robot table from text; `source` is named in errors; right angles that it rounds are made exact or kept."""
    values = parse_toml(text, source, RobotFileError)
    try:
        table = _Table.model_validate(values)
    except ValidationError as error:
        raise RobotFileError(source, _first_problem(error)) from error
    _check_keys(table, source)
    angle, frames = math.pi / 180.0 if table.angles == "deg" else 1.0, Frames(exact_frames)
    base_name = table.base.link or "base"
    foot = pose(_rpy(table.base.rpy, angle, frames, "base"), np.array(table.base.xyz))
    base = BodyDescription(base_name, table.base.parameters(table.inertia_about), geometry=_placed(table.base, foot))
    bodies, joints = [base], []
    link_of = {"base": base_name}
    previous = "base"
    for row in table.joint:
        parent = row.parent or previous
        if parent not in link_of:
            where = f" (the parent of joint '{row.name}'; parents come first)"
            raise RobotFileError(source, str(UnknownNameError("joint", parent, link_of, where)))
        if row.name == "base":
            raise RobotFileError(source, "a joint is named 'base', which stands for the base; choose another name")
        if row.name in link_of:
            raise RobotFileError(source, f"a second joint is named '{row.name}'; names must differ")
        before, after = _frames(table.convention, row, angle, frames)
        link = row.link or f"{row.name}_link"
        own = row.parameters(table.inertia_about)
        bodies.append(BodyDescription(link, own, frozen(after), row.geometry(), unweighed=own is None))
        placement = foot @ before if parent == "base" else before
        joints.append(_joint(row, link_of[parent], link, placement, angle, frames))
        link_of[row.name] = link
        previous = row.name
    _check_links(bodies, source)
    for name in (name for pair in table.couplings for name in pair):
        if name not in link_of or name == "base":
            raise RobotFileError(source, str(UnknownNameError("joint", name, list(link_of)[1:], " (in couplings)")))
    names = [body.name for body in bodies]
    for name in (name for pair in table.no_contacts for name in pair if name not in names):
        raise RobotFileError(source, str(UnknownNameError("link", name, names, " (in no_contacts)")))
    return Description(
        name=table.name,
        source=source,
        bodies=tuple(bodies),
        joints=tuple(joints),
        gravity=frozen(table.gravity),
        couplings=table.couplings,
        no_contacts=table.no_contacts,
        findings=frames.findings(),
        exact_frames=exact_frames,
    )


def _placed(base: _Base, foot: Array) -> tuple[Geometry, ...]:
    """The base's shapes in the world: its own frame is `foot`."""
    return tuple(replace(shape, placement=frozen(foot @ shape.placement)) for shape in base.geometry())


def _rpy(angles: Vector, unit: float, frames: Frames, joint: str) -> Array:
    return rotation_from_rpy(*(frames.angle(unit * angle, joint) for angle in angles))


def _frames(convention: str, row: _Joint, angle: float, frames: Frames) -> tuple[Array, Array]:
    """Poses of the joint frame in the parent link's frame, and of the link's frame in the joint frame."""
    theta = pose(elementary_rotation("z", frames.angle(angle * row.theta, row.name)))
    alpha = pose(elementary_rotation("x", frames.angle(angle * row.alpha, row.name)))
    along_x = pose(translation=np.array([row.a, 0.0, 0.0]))
    along_z = pose(translation=np.array([0.0, 0.0, row.d]))
    if convention == "modified":
        return alpha @ along_x @ theta @ along_z, np.eye(4)
    if convention == "standard":
        if row.type == "prismatic":
            return theta @ along_z, along_x @ alpha
        return theta, along_z @ along_x @ alpha
    return pose(_rpy(row.rpy, angle, frames, row.name), np.array(row.xyz)), np.eye(4)


def _joint(row: _Joint, parent: str, link: str, placement: Array, angle: float, frames: Frames) -> JointDescription:
    kind = JointKind(row.type)
    scale = angle if kind.is_angular else 1.0

    def limit(value: float | None, without: float) -> float:
        return without if value is None else unlimited(scale * value)

    mimic = row.mimic and MimicDescription(row.mimic.joint, row.mimic.ratio, scale * row.mimic.offset)
    return JointDescription(
        name=row.name,
        kind=kind,
        parent=parent,
        child=link,
        placement=frozen(placement),
        axis=frozen(frames.axis(np.array(row.axis) / np.linalg.norm(row.axis), row.name)),
        limits=Limits(
            lower=limit(row.lower, -math.inf),
            upper=limit(row.upper, math.inf),
            velocity=limit(row.velocity, math.inf),
            acceleration=limit(row.acceleration, math.inf),
            jerk=limit(row.jerk, math.inf),
            effort=math.inf if row.effort is None else unlimited(row.effort),
        ),
        dynamics=JointDynamics(row.damping, row.friction, row.armature),
        mimic=mimic,
    )


def _check_keys(table: _Table, source: str) -> None:
    """Keys of the other convention would be ignored silently: refuse them. Check axes and limits, too."""
    foreign = _DH_KEYS if table.convention == "frames" else _FRAME_KEYS
    for row in table.joint:
        wrong = sorted(foreign & row.model_fields_set)
        if wrong:
            problem = f"joint '{row.name}' has '{wrong[0]}', which the convention '{table.convention}' does not use"
            raise RobotFileError(source, problem)
        if np.linalg.norm(row.axis) < 1e-9:
            raise RobotFileError(source, f"the axis of joint '{row.name}' is zero; expected a direction")
        if row.lower is not None and row.upper is not None and row.lower > row.upper:
            problem = f"joint '{row.name}' has lower = {row.lower:g} above upper = {row.upper:g}; swap them"
            raise RobotFileError(source, problem)


def _check_links(bodies: list[BodyDescription], source: str) -> None:
    names = [body.name for body in bodies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RobotFileError(source, f"a second link is named '{twice}'; names must differ")


def _first_problem(error: ValidationError) -> str:
    """The first problem of a validation, in one sentence that names the entry and the key."""
    problem = error.errors()[0]
    path = list(problem["loc"])
    where = ""
    if path[:1] == ["joint"] and len(path) > 1:
        where, path = f"[[joint]] entry {int(path[1]) + 1}: ", path[2:]
    elif path[:1] == ["base"] and len(path) > 1:
        where, path = "[base]: ", path[1:]
    key = ".".join(str(part) for part in path)
    if problem["type"] == "extra_forbidden":
        model = {"[[": _Joint, "[b": _Base}.get(where[:2], _Table)
        model = {"inertia": _Inertia, "mimic": _Mimic, "shapes": _Shape}.get(str(path[0]), model)
        return where + str(UnknownNameError("key", str(path[-1]), model.model_fields))
    if problem["type"] == "missing":
        return f"{where}the key '{key}' is missing"
    message = problem["msg"].removeprefix("Value error, ").replace(" or instance of _Inertia", " of xx, yy, zz, ...")
    if not key:
        return f"{where}{message}"
    found = repr(problem["input"])
    return f"{where}the key '{key}' is {found if len(found) <= 60 else found[:57] + '...'}: {message}"
