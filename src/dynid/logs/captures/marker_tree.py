"""Markers on a tree of links: where they are in a posture, and how they move with its joints.

The normal equations of marker positions are those of mechanics: the matrix is the mass matrix of a tree whose only
masses are the weights of its markers, and the right-hand side is the torques of forces at them. So they are built like
a mass matrix, from the tips to the base, for all samples at once, and no Jacobian is ever formed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model import link_poses
from dynid.robot import WORLD, Robot

SEPARATOR = ":"
"""What stands between the name of a subject and a label in captures: `Anna:LASI`."""


@dataclass(frozen=True, eq=False)
class MarkerTree:
    """A robot with markers on its links.

    Attributes:
        robot: The robot.
        names: Bodies of the robot's file that stand for the markers: each marker is at the origin of its body.
        links: Index of the link of each marker, `WORLD` where it does not move.
        places: Where each is in the joint frame of its link [m], shape (markers, 3).
    """

    robot: Robot
    names: tuple[str, ...]
    links: tuple[int, ...]
    places: Array

    @classmethod
    def of(cls, robot: Robot, names: Sequence[str]) -> MarkerTree:
        """The tree of some bodies of a robot's file."""
        bodies = marker_bodies(robot)
        links, places = zip(*(bodies[name] for name in names), strict=True) if names else ((), ())
        return cls(robot, tuple(names), tuple(links), np.array(places).reshape(-1, 3))

    def positions(self, q: Array) -> Array:
        """Where the markers are in the world [m] at positions (samples, nq), shape (samples, markers, 3)."""
        return self._at(*link_poses(self.robot, q))

    def _at(self, R: Array, p: Array) -> Array:
        links = list(self.links)
        return (np.einsum("msij,mj->msi", R[links], self.places) + p[links]).transpose(1, 0, 2)

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """Column of each motion of each joint, joint by joint; those of mimic joints are their leaders'."""
        return np.concatenate([np.arange(joint.v.start, joint.v.stop) for joint in self.robot.joints])

    @cached_property
    def motions(self) -> tuple[slice, ...]:
        """Where the motions of each joint stand among those of all."""
        ends = np.cumsum([0, *(joint.kind.nv for joint in self.robot.joints)]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @cached_property
    def moving(self) -> tuple[list[int], ...]:
        """Which motions move the link of each joint, by their places among those of all: its own first."""
        every = np.arange(len(self.columns))
        return tuple(
            [int(k) for joint in self.robot.chain(i) for k in every[self.motions[joint]]]
            for i in range(len(self.robot.joints))
        )

    def jacobian(self, q: Array) -> Array:
        """Velocities of the markers [m/s] per velocity of the joints, shape (samples, markers, 3, nv)."""
        R, p = link_poses(self.robot, q)
        at, screws = self._at(R, p), self._screws(R, p, np.zeros((len(q), 3)))
        J = np.zeros((len(q), len(self.names), 3, self.robot.nv))
        for m, link in enumerate(self.links):
            for k in self.moving[link] if link != WORLD else ():
                J[:, m, :, self.columns[k]] += screws[:, k, :3] + _cross(screws[:, k, 3:], at[:, m])
        return J

    def normal_equations(self, q: Array, seen: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Errors of the markers, and the normal equations of a step that makes them smaller.

        Args:
            q: Positions, shape (samples, nq).
            seen: Where the markers were seen [m], shape (samples, markers, 3); any number where the weight is zero.
            weights: Weights of the markers, shape (samples, markers).

        Returns:
            Errors, seen less modelled [m], shape (samples, markers, 3), the matrices `J' w J`, shape (samples, nv, nv),
            and the right-hand sides `J' w errors`, shape (samples, nv).
        """
        R, p = link_poses(self.robot, q)
        at, origin = self._at(R, p), p[0]
        errors, around = seen - at, at - origin[:, None]
        screws = self._screws(R, p, origin)
        masses, forces = self._gathered(around, weights), self._forces(around, errors, weights)
        H = np.zeros((len(q), len(self.columns), len(self.columns)))
        g = np.zeros((len(q), len(self.columns)))
        for i in range(len(self.robot.joints)):
            own, below = self.motions[i], self.moving[i]
            momentum = _momentum([part[i] for part in masses], screws[:, own])
            g[:, own] = (screws[:, own] @ forces[i][:, :, None])[:, :, 0]
            block = screws[:, below] @ momentum.transpose(0, 2, 1)
            H[:, below, own] = block
            H[:, own, below] = block.transpose(0, 2, 1)
        return errors, *self._by_column(H, g)

    def _by_column(self, H: Array, g: Array) -> tuple[Array, Array]:
        """Motions of mimic joints added to those of their leaders."""
        if len(self.columns) == self.robot.nv:
            return H, g
        fold = np.eye(self.robot.nv)[self.columns]
        return fold.T @ H @ fold, g @ fold

    def _screws(self, R: Array, p: Array, origin: Array) -> Array:
        """Unit motions of the joints in the world: velocity at an origin, then turn, shape (samples, motions, 6)."""
        screws = np.zeros((R.shape[1], len(self.columns), 6))
        for i, joint in enumerate(self.robot.joints):
            S, own = joint.subspace, self.motions[i]
            turn = (R[i] @ S[3:]).transpose(0, 2, 1)
            screws[:, own, 3:] = turn
            screws[:, own, :3] = _cross((p[i] - origin)[:, None], turn)
            if S[:3].any():
                screws[:, own, :3] += (R[i] @ S[:3]).transpose(0, 2, 1)
        return screws

    def _gathered(self, around: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Weights of the markers that each joint moves: their sum, first and second moments about the origin."""
        samples, moments = len(around), weights[:, :, None] * around
        second = np.einsum("smi,smj->smij", moments, around)
        found = tuple(np.zeros((len(self.robot.joints), samples, *shape)) for shape in ((), (3,), (3, 3)))
        for k, link in enumerate(self.links):
            if link != WORLD:
                for total, part in zip(found, (weights, moments, second), strict=True):
                    total[link] += part[:, k]
        for part in found:
            self._carry_down(part)
        m, h, second = found
        return m, h, np.trace(second, axis1=2, axis2=3)[:, :, None, None] * np.eye(3) - second

    def _forces(self, around: Array, errors: Array, weights: Array) -> Array:
        """Forces `w errors` at the markers that each joint moves, then their moments, shape (joints, samples, 6)."""
        force = np.where(weights[:, :, None] > 0.0, weights[:, :, None] * errors, 0.0)
        wrench = np.concatenate([force, _cross(around, force)], axis=2)
        found = np.zeros((len(self.robot.joints), len(around), 6))
        for k, link in enumerate(self.links):
            if link != WORLD:
                found[link] += wrench[:, k]
        self._carry_down(found)
        return found

    def _carry_down(self, values: Array) -> None:
        """Add the values of each joint to those of its parent."""
        for i in reversed(range(len(self.robot.joints))):
            if self.robot.joints[i].parent != WORLD:
                values[self.robot.joints[i].parent] += values[i]


def _momentum(masses: Sequence[Array], screws: Array) -> Array:
    """Linear and angular momentum of the markers beyond a joint, for unit motions, (samples, motions, 6) both."""
    m, h, J = masses
    v, w, h = screws[:, :, :3], screws[:, :, 3:], h[:, None]
    return np.concatenate([m[:, None, None] * v + _cross(w, h), _cross(h, v) + w @ J], axis=2)


def _cross(a: Array, b: Array) -> Array:
    """Cross products over the last axis: `numpy.cross` takes longer for small arrays."""
    a, b = np.broadcast_arrays(a, b)
    found = np.empty(a.shape)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return found


def marker_bodies(robot: Robot) -> dict[str, tuple[int, Array]]:
    """All bodies of a robot's file by name: the index of their link, and their origin in its frame [m], shape (3,)."""
    found = {body.name: (WORLD, body.placement[:3, 3]) for body in robot.base.bodies}
    return found | {b.name: (i, b.placement[:3, 3]) for i, link in enumerate(robot.links) for b in link.bodies}


def names_of_bodies(robot: Robot, labels: Sequence[str]) -> tuple[str, ...]:
    """Labels as the robot's file writes them, where none is a body of it in the case that the capture has."""
    bodies = marker_bodies(robot)
    if any(label.rpartition(SEPARATOR)[2] in bodies for label in labels):
        return tuple(labels)
    alike = {body.casefold(): body for body in bodies}
    found = tuple(alike.get(label.casefold(), label) for label in labels)
    return found if len(alike) == len(bodies) and len(set(found)) == len(found) else tuple(labels)


def matched_labels(
    robot: Robot, labels: Sequence[str], stated: Mapping[str, str] | None = None
) -> tuple[dict[int, str], list[str]]:
    """Which markers of a capture are which bodies of a robot's file.

    A label is the name of its body, also behind the name of a subject (`Anna:LASI`), or what was stated for it. Where
    no label is one, upper and lower case do not count.

    Args:
        robot: The robot.
        labels: Labels of the capture.
        stated: Bodies by labels, where they are called otherwise.

    Returns:
        Bodies by indices of labels, and the labels that no body is called by.

    Raises:
        InvalidRequestError: If no label is one, two are the same, or a stated one does not exist.
    """
    bodies, stated = marker_bodies(robot), stated or {}
    for label, body in stated.items():
        if label not in labels or body not in bodies:
            what = f"the capture has no marker '{label}'" if label not in labels else f"'{robot.name}' has no '{body}'"
            raise InvalidRequestError(f"labels state '{label}' for body '{body}', but {what}")
    found: dict[int, str] = {}
    for k, (label, alike) in enumerate(zip(labels, names_of_bodies(robot, labels), strict=True)):
        names = [stated[label]] if label in stated else [label, label.rpartition(SEPARATOR)[2], alike]
        body = next((name for name in names if name in bodies), None)
        if body in found.values():
            raise InvalidRequestError(f"two markers of the capture are '{body}' of '{robot.name}'; leave one out")
        if body is not None:
            found[k] = body
    if not found:
        raise InvalidRequestError(
            f"no marker of the capture ({', '.join(labels[:6])}, ...) is a body of '{robot.name}'; name massless "
            "bodies of the robot's file after the markers, or state labels = {'LABEL': 'BODY'}"
        )
    return found, [label for k, label in enumerate(labels) if k not in found]
