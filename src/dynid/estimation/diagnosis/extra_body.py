"""A body that the robot's file does not have: one that explains how the file's links and the data differ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import weighed
from dynid.model import BaseParameters
from dynid.robot import Robot, inertia

SHARE = 0.9
"""Share of the difference between file and data that one body must explain."""

CLEAR = 20.0
"""The difference, in squared standard deviations per parameter, from which it is one."""


@dataclass(frozen=True)
class Extra:
    """A body that is not in the robot's file.

    Attributes:
        link: Name of the link that carries it.
        mass: Its mass [kg].
        share: Share of the difference between file and data that it explains.
    """

    link: str
    mass: float
    share: float


def extra_body(base: BaseParameters, logs: Sequence[Factors]) -> Extra | None:
    """Find a body on one of the last links that explains how the file's links and the data differ.

    Friction and motors are left free: files seldom have them right. Nothing is said where the file has no inertia.

    Args:
        base: The base parameters.
        logs: Factors of the logs.
    """
    model = base.model
    links = inertia.SIZE * len(model.robot.solid_links)
    if not any(model.robot.links[i].has_inertia for i in model.robot.solid_links):
        return None
    factor = weighed(logs, base)
    free = [k for k, column in enumerate(base.columns) if column >= links]
    reference = model.reference.copy()
    reference[links:] = 0.0
    z = factor.z - factor.R @ base.to_base(np.nan_to_num(reference))
    terms = factor.R[:, free]
    without = _squares(terms, z)[0]
    known = len(base) - len(free)
    if known == 0 or without < CLEAR * known:
        return None
    best = None
    for position, link in enumerate(model.robot.solid_links):
        if not _is_last(model.robot, link):
            continue
        own = factor.R @ base.regrouping[:, inertia.SIZE * position : inertia.SIZE * (position + 1)]
        squares, body = _squares(np.concatenate([own, terms], axis=1), z)
        found = Extra(model.robot.links[link].name, float(body[0]), 1.0 - squares / without)
        if found.mass > 0.0 and (best is None or found.share > best.share):
            best = found
    return best if best is not None and best.share >= SHARE else None


def _is_last(robot: Robot, link: int) -> bool:
    return all(joint.parent != link for joint in robot.joints)


def _squares(W: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray]:
    x = np.linalg.lstsq(W, z, rcond=1e-10)[0]
    error = z - W @ x
    return float(error @ error), x
