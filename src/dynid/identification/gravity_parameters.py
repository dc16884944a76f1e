"""Gravity parameters from static postures or slow motion, and parameters from g(q) and M(q) that a controller gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.static_estimate import SLOW_MOTION, RowGroup, StaticEstimate, estimate_static
from dynid.findings import Finding
from dynid.identification.log_reading import read
from dynid.identification.static_logs import at_joints, without_weight
from dynid.identification.task import Task, experiment_file, require_single_axes
from dynid.logs import Log, Rests, find_rests
from dynid.model import BaseParameters, DynamicModel, Observed, Term, find_base_parameters, known_base
from dynid.robot import JointKind, Robot, as_robot


def identify_gravity(
    robot: Robot | str | Path,
    source: Log | Sequence[Log] | Array | None = None,
    torque: Array | None = None,
    *,
    terms: Sequence[str | Term] = (),
    known: Mapping[str, float] | None = None,
    slow: bool = False,
    confidence: float = 0.95,
    progress: Callable[[str], None] = lambda _: None,
) -> StaticEstimate:
    """Identify the gravity parameters of a robot: masses and first moments, as far as gravity torques determine them.

    Args:
        robot: The robot, a path, or "builtin:NAME"; or the path of an experiment file, which states robot, terms, known
            parameters, drives and logs. Of its logs those count that are static, or all where none is.
        source: Postures [rad or m], shape (postures, joints), with their torques; or logs, in which the robot stands
            still at postures (`dynid excite --postures`), or moves slowly.
        torque: Torques at the postures [N m or N], shape (postures, joints): measured ones, or g(q) of a controller.
        terms: Offsets and springs, which act at rest; with `slow` friction terms, too.
        known: Parameters that are known beforehand, by name or pattern.
        slow: Whether logs are of slow motion: all samples count, each joint moves in both directions, and friction is
            estimated besides; accelerations are neglected.
        confidence: Of intervals, and of what is called significant.
        progress: Callback; receives a short description of each step.

    Raises:
        NotIdentifiableError: If the postures do not determine the gravity parameters.
        DynidError: If something does not fit together.

    >>> import dynid
    >>> import numpy as np
    >>> robot = dynid.load_robot("builtin:two_link")
    >>> q = np.random.default_rng(0).uniform(-2, 2, (10, 2))
    >>> g = dynid.DynamicModel(robot).inverse_dynamics(q)
    >>> found = dynid.identify_gravity(robot, q, g)
    >>> found.expressions
    ('mx1 + 0.5*m2', 'mz1 + 0.25*m2', 'mx2', 'mz2')
    """
    if source is None:
        task = experiment_file(robot, tuple(terms), known).task
        robot, source, known = task.model.robot, _logs_of(task, progress), task.known
        terms = task.model.terms
    robot = as_robot(robot)
    if torque is None:
        require_single_axes(robot, "gravity parameters from logs are identified")
    progress("Finding gravity parameters")
    if slow:
        return _from_slow_motion(robot, source, terms, known, confidence)
    base = gravity_base(robot, terms, known)
    if torque is not None:
        q, tau = _postures(robot, source, torque)
        return from_postures(base, q, tau, confidence, f"{len(q)} static postures")
    logs = _logs(source, robot)
    rests = [find_rests(log) for log in logs]
    q, tau = (np.concatenate([getattr(one, key) for one in rests]) for key in ("position", "torque"))
    found = from_postures(base, q, tau, confidence, _words(rests))
    from_logs = [one for one, log in zip(rests, logs, strict=True) if log.static != "rows"]
    sided = np.array([bool(joints.all()) for one in from_logs for joints in one.both_sides], dtype=bool)
    if sided.all():
        return found
    note = Finding.of("rests-from-one-side", "postures", count=int((~sided).sum()), of=len(sided))
    return replace(found, findings=(note,))


def _logs_of(task: Task, progress: Callable[[str], None]) -> list[Log]:
    """The static logs of a task, or all where none is, on the side of the joints."""
    found = list[Log]()
    chosen = [log for log in task.logs if log.static] or list(task.logs)
    for k, source in enumerate(chosen, start=1):
        progress(f"Reading log {k} of {len(chosen)}")
        log = read(source, task.model.robot, progress, task.drive, task.processing)
        found.append(at_joints(log, task.drive, task.model.robot))
    return found


def gravity_base(
    robot: Robot, terms: Sequence[str | Term] = (), known: Mapping[str, float] | None = None
) -> BaseParameters:
    """The gravity parameters: base parameters of the regressor at rest, with offsets and springs."""
    return known_base(DynamicModel(robot, terms, Observed.GRAVITY), known or {})


def from_postures(
    base: BaseParameters, q: Array, tau: Array, confidence: float = 0.95, source: str = "static postures"
) -> StaticEstimate:
    """Least squares on torques at rest, for gravity parameters that were found before.

    Args:
        base: The gravity parameters (`gravity_base`).
        q: Postures [rad or m], shape (postures, joints).
        tau: Torques [N m or N], shape (postures, joints).
        confidence: Of intervals.
        source: What was measured, in words.
    """
    W = base.regressor(q)
    y = tau.T - base.known_torques(q)
    names, units = _rows(base.model.robot)
    groups = [RowGroup(*row) for row in zip(names, W, y, units, strict=True)]
    return estimate_static(base, groups, confidence=confidence, source=source)


def _from_slow_motion(
    robot: Robot,
    source: object,
    terms: Sequence[str | Term],
    known: Mapping[str, float] | None,
    confidence: float,
) -> StaticEstimate:
    """Gravity and friction from samples of slow motion, in blocks of time that are alike within."""
    base = gravity_base(robot, terms, known)
    whole = DynamicModel(robot, terms)
    first = 10 * len(robot.solid_links)
    friction = [k for k in range(first, len(whole.names)) if whole.names[k] in base.no_effect]
    names, units = _rows(robot)
    parts: list[list[tuple[Array, Array]]] = [[] for _ in names]
    for log in _logs(source, robot):
        v = np.gradient(log.position, log.time, axis=0) if log.velocity is None else log.velocity
        extra = whole.regressor(log.position, v)[..., friction]
        W = np.concatenate([base.regressor(log.position), extra], axis=2)
        y = log.torque.T - base.known_torques(log.position)
        for row, part in enumerate(parts):
            part.append((W[row], y[row]))
    groups = [
        RowGroup(name, np.concatenate([W for W, _ in part]), np.concatenate([y for _, y in part]), unit)
        for name, part, unit in zip(names, parts, units, strict=True)
    ]
    nuisance = [whole.names[k] for k in friction]
    return estimate_static(base, groups, nuisance=nuisance, confidence=confidence, source=SLOW_MOTION, serial=True)


def identify_from_matrices(
    robot: Robot | str | Path,
    q: Array,
    *,
    gravity: Array | None = None,
    mass_matrix: Array | None = None,
    terms: Sequence[str | Term] = (),
    known: Mapping[str, float] | None = None,
    confidence: float = 0.95,
) -> StaticEstimate:
    """Identify base parameters from the gravity torques g(q) and mass matrices M(q) that a controller gives.

    M(q) alone determines the base parameters of the robot without gravity, and both together all base parameters of its
    dynamics: Coriolis and centrifugal torques follow from M. The columns for M(q) are those of torques at rest without
    gravity with the acceleration of one joint at a time.

    Args:
        robot: The robot, a path, or "builtin:NAME".
        q: Postures [rad or m], shape (postures, joints).
        gravity: g(q) [N m or N], shape (postures, joints).
        mass_matrix: M(q) [kg m^2, kg m or kg], shape (postures, joints, joints).
        terms: Terms that are part of these, such as "armature" of M or "offset" of g.
        known: Parameters that are known beforehand, by name or pattern.
        confidence: Of intervals, and of what is called significant.

    Raises:
        NotIdentifiableError: If the postures do not determine the parameters.
        DynidError: If something does not fit together.
    """
    robot = as_robot(robot)
    if mass_matrix is None:
        if gravity is None:
            raise InvalidRequestError("there is nothing to identify from; give gravity, mass_matrix or both")
        return identify_gravity(robot, q, gravity, terms=terms, known=known, confidence=confidence)
    weightless = replace(robot, gravity=np.zeros(3))
    model = DynamicModel(weightless if gravity is None else robot, terms)
    _require_conservative(model, with_gravity=gravity is not None)
    base = find_base_parameters(model, known=dict(known or {}))
    q = np.asarray(q, dtype=float)
    groups = _mass_groups(base, weightless, q, np.asarray(mass_matrix, dtype=float))
    if gravity is not None:
        q, g = _postures(robot, q, gravity)
        names, units = _rows(robot)
        W, y = base.regressor(q), g.T - base.known_torques(q)
        groups += [RowGroup(*row) for row in zip(names, W, y, units, strict=True)]
    source = f"{'M(q)' if gravity is None else 'g(q) and M(q)'} at {len(q)} postures"
    return estimate_static(base, groups, confidence=confidence, source=source)


def _mass_groups(base: BaseParameters, weightless: Robot, q: Array, M: Array) -> list[RowGroup]:
    """Rows of the elements of mass matrices, those below the diagonal with the mean of both."""
    n = weightless.nv
    if M.shape != (len(q), n, n) or not np.isfinite(M).all():
        raise InvalidRequestError(
            f"expected mass matrices of shape ({len(q)}, {n}, {n}) with finite elements, not {M.shape}"
        )
    model = DynamicModel(weightless, base.model.terms)
    known = np.array([base.known.get(name, 0.0) for name in base.model.names])
    rest = model.regressor(q)
    M = 0.5 * (M + M.swapaxes(1, 2))
    names, units = _rows(weightless)
    groups = []
    for j in range(n):
        a = np.zeros((len(q), n))
        a[:, j] = 1.0
        W = model.regressor(q, None, a) - rest  # (joints, postures, parameters)
        for i in range(j, n):
            unit = {0: "kg m^2", 1: "kg m", 2: "kg"}[(units[i] == "N") + (units[j] == "N")]
            y = M[:, i, j] - W[i] @ known
            groups.append(RowGroup(f"M[{names[i]}, {names[j]}]", W[i][:, list(base.columns)], y, unit))
    return groups


def _require_conservative(model: DynamicModel, *, with_gravity: bool) -> None:
    """Refuse terms that neither g(q) nor M(q) has."""
    rng = np.random.default_rng(0)
    robot = model.robot
    q, v = np.repeat(robot.neutral[None], 4, axis=0), rng.normal(size=(4, robot.nv))
    first = 10 * len(robot.solid_links)
    rest, moving = model.regressor(q)[..., first:], model.regressor(q, v)[..., first:]
    refused = np.abs(moving - rest).max(axis=(0, 1), initial=0.0) > 0.0
    if not with_gravity:
        refused |= np.abs(rest).max(axis=(0, 1), initial=0.0) > 0.0
    if refused.any():
        name = model.names[first + int(np.flatnonzero(refused)[0])]
        where = "neither g(q) nor M(q)" if with_gravity else "M(q)"
        raise InvalidRequestError(f"'{name}' is not part of {where}; leave its term out (armature is part of M)")


def _postures(robot: Robot, q: object, torque: object) -> tuple[Array, Array]:
    """Positions and torques of postures, checked."""
    positions = robot.states(np.asarray(q, dtype=float))[0]
    tau = np.asarray(torque, dtype=float)
    if tau.shape != (len(positions), robot.nv) or not np.isfinite(tau).all():
        raise InvalidRequestError(
            f"expected finite torques of shape ({len(positions)}, {robot.nv}), a row for each posture, not {tau.shape}"
        )
    return positions, tau


def _logs(source: object, robot: Robot) -> list[Log]:
    """Logs that were given, without the weight of known loads."""
    logs = [source] if isinstance(source, Log) else list(source) if isinstance(source, Sequence) else []
    if not logs or any(not isinstance(log, Log) for log in logs):
        raise InvalidRequestError("give logs (dynid.Log, dynid.read_log), or postures with their torques")
    return [without_weight(log, robot) for log in logs]


def _rows(robot: Robot) -> tuple[tuple[str, ...], list[str]]:
    """Names and units of the rows of the dynamics."""
    units: list[str] = []
    for joint in robot.independent_joints:
        forces = 3 if joint.kind.nv == 6 else int(joint.kind is JointKind.PRISMATIC)
        units += ["N"] * forces + ["N m"] * (joint.kind.nv - forces)
    return DynamicModel(robot).row_names, units


def _words(rests: Sequence[Rests]) -> str:
    count = sum(map(len, rests))
    sided = sum(int(one.both_sides.all(axis=1).sum()) for one in rests)
    return f"{count} static postures" + (f", {sided} of them from both sides" if sided else "")
