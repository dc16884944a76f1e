"""The robot in MuJoCo: the same joints and links, built from our own tree.

Whatever the robot's file is, MuJoCo gets the frozen tree of `dynid.robot`, so tables, mimic and locked joints work as
files do, and link parameters may be any. There are no shapes, contacts, limits, and no friction of MuJoCo's own:
friction and actuator terms are applied by us, so that they are exactly the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.robot import WORLD, JointKind, Robot, inertia


def require_simple_joints(robot: Robot) -> None:
    """Refuse robots with joints of several degrees of freedom.

    Raises:
        InvalidRequestError: If there is one; names it.
    """
    joint = next((joint for joint in robot.joints if joint.kind.nv != 1), None)
    if joint is not None:
        raise InvalidRequestError(
            f"joint '{joint.name}' of '{robot.name}' is {joint.kind.value}, and only joints of one degree of freedom "
            "can be simulated; lock it"
        )


class PlantSpring(NamedTuple):
    """A linear spring between two points.

    Attributes:
        links: Index of the link of each end, or `WORLD`.
        points: The points about these links' joint frames [m], two of shape (3,).
        stiffness: [N/m].
        rest: Length at which it is free of force [m].
    """

    links: tuple[int, int]
    points: tuple[Array, Array]
    stiffness: float
    rest: float


@dataclass(frozen=True, eq=False)
class Plant:
    """Rigid bodies to simulate.

    Attributes:
        robot: The robot, whose joints all have one degree of freedom.
        parameters: Its inertial parameters p, shape (10 * solid links,), as `Robot.parameters`. They need not be
            physical, but a link that has first moments needs a mass.
        springs: Springs between points of its links.
    """

    robot: Robot
    parameters: Array
    springs: tuple[PlantSpring, ...] = ()

    def __post_init__(self) -> None:
        require_simple_joints(self.robot)
        if self.parameters.shape != self.robot.parameters.shape:
            raise ShapeError("parameters", f"{self.robot.parameters.shape}", self.parameters.shape)
        for i, p in zip(self.robot.solid_links, self._blocks, strict=True):
            if not np.isfinite(p).all() or (p[0] == 0.0 and p[1:4].any()):
                raise InvalidRequestError(
                    f"link '{self.robot.links[i].name}' cannot be simulated: its parameters are not finite, or it has "
                    "first moments but no mass; choose standard parameters near the robot file's"
                )

    @cached_property
    def _blocks(self) -> Array:
        return self.parameters.reshape(-1, inertia.SIZE)

    def compile(self) -> Any:
        """The `mujoco.MjModel`, with one joint for each of the robot's, mimic ones among them."""
        import mujoco

        spec = mujoco.MjSpec()
        spec.option.gravity = self.robot.gravity
        bodies: dict[int, Any] = {WORLD: spec.worldbody}
        for i, joint in enumerate(self.robot.joints):
            bodies[i] = body = bodies[joint.parent].add_body(
                name=str(i), pos=joint.placement[:3, 3], quat=_quaternion(joint.placement[:3, :3])
            )
            # A body in general position, so that MuJoCo takes no short cuts; the true one follows.
            body.mass, body.ipos, body.iquat = 1.0, [0.1, 0.2, 0.3], [0.5, 0.1, 0.7, 0.5]
            body.inertia, body.explicitinertial = [1.0, 1.1, 1.2], True
            slides = joint.kind is JointKind.PRISMATIC
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=str(i), type=kind, axis=joint.axis)
        for k, spring in enumerate(self.springs):
            _add_spring(spec, bodies, k, spring)
        model = spec.compile()
        self._set_inertias(model)
        return model

    def _set_inertias(self, model: Any) -> None:
        for i in range(len(self.robot.joints)):
            body = model.body(str(i)).id
            solid = i in self.robot.solid_links
            p = self._blocks[self.robot.solid_links.index(i)] if solid else np.zeros(inertia.SIZE)
            mass, com, about_com = inertia.to_mass_com_inertia(p)
            moments, axes = np.linalg.eigh(about_com)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            model.body_mass[body], model.body_ipos[body] = mass, np.nan_to_num(com)
            model.body_inertia[body], model.body_iquat[body] = moments, _quaternion(axes)
        # MuJoCo takes the centre of a subtree as its point of reference: any will do, as long as its mass is positive.
        masses = np.maximum(model.body_mass, 0.0)
        for body in range(model.nbody - 1, 0, -1):
            masses[model.body_parentid[body]] += masses[body]
        model.body_subtreemass[:] = masses

    @cached_property
    def _order(self) -> np.ndarray:
        """Indices of our joints in the order of MuJoCo's: depth first."""
        children: dict[int, list[int]] = {}
        for i, joint in enumerate(self.robot.joints):
            children.setdefault(joint.parent, []).append(i)
        order: list[int] = []
        waiting = [*reversed(children[WORLD])]
        while waiting:
            order.append(waiting.pop())
            waiting += reversed(children.get(order[-1], []))
        return np.array(order)

    @property
    def columns(self) -> np.ndarray:
        """Our coordinate of each of MuJoCo's, shape (joints,)."""
        return np.array([self.robot.joints[i].v.start for i in self._order])

    @property
    def ratios(self) -> Array:
        """What each of MuJoCo's coordinates moves per unit of ours, shape (joints,)."""
        return np.array([self.robot.joints[i].ratio for i in self._order])

    @property
    def offsets(self) -> Array:
        """Where each of MuJoCo's coordinates is when ours is zero [rad or m], shape (joints,)."""
        return np.array([self.robot.joints[i].offset for i in self._order])


def _add_spring(spec: Any, bodies: Mapping[int, Any], number: int, spring: PlantSpring) -> None:
    """A spring as MuJoCo has it: a tendon between two sites."""
    tendon = spec.add_tendon(name=f"spring {number}", stiffness=[spring.stiffness], springlength=[spring.rest] * 2)
    for end, (link, point) in enumerate(zip(spring.links, spring.points, strict=True)):
        bodies[link].add_site(name=f"{number} {end}", pos=point)
        tendon.wrap_site(f"{number} {end}")


def _quaternion(rotation: Array) -> Array:
    """The quaternion (w, x, y, z) of a rotation, shape (3, 3)."""
    import mujoco

    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion
