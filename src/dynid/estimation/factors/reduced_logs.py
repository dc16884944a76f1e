"""From logs to factors: all that estimation needs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.estimation.factors.accumulation import Blocks
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.factors.lazy_sequences import chained, mapped
from dynid.estimation.factors.noisy_columns import without_column_noise
from dynid.estimation.factors.row_forms import TORQUES, RowForm, block_rows
from dynid.estimation.least_squares import merge_logs
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.settings import EstimationSettings
from dynid.findings import Finding
from dynid.logs import PreparedLog
from dynid.model import (
    BaseParameters,
    Coulomb,
    DynamicModel,
    JointTerm,
    Observed,
    Role,
    Viscous,
    driven_along,
    of_joint,
)
from dynid.robot import JointKind

FOLDS = 10
"""Parts that all logs together are cut into, to see how they differ and to predict each from the others."""

FOLD_GAP = 0.06
"""Part of a fold that is left out where the next one begins: errors last, and must not reach from one into the next."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A part of a log: a stretch of time.

    Attributes:
        log: Number of the log.
        factors: Its factors.
    """

    log: int
    factors: Factors


@dataclass(frozen=True, eq=False)
class EarlierLogs:
    """Logs that were reduced before, and count, too.

    Attributes:
        model: The model that they were reduced with, whose nonlinear parameters are held.
        torques: The factors of each log's torques.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
    """

    model: DynamicModel
    torques: Sequence[Factors] = ()
    rows: Sequence[Factors] = ()


@dataclass(frozen=True, eq=False)
class ReducedLog:
    """The factors of one log.

    Attributes:
        torques: Those of its torques, weighted, with friction that the model lacks.
        rows: Those that are estimated from, weighted, where they are not torques; else None.
        blocks: Blocks of time, without its weight; of the rows that are estimated from.
    """

    torques: Factors
    rows: Factors | None
    blocks: Blocks

    @staticmethod
    def joined(parts: Sequence[ReducedLog]) -> ReducedLog:
        """The factors of a log from those of its parts in time."""
        first, *others = parts
        rows = None if first.rows is None else first.rows.merged(*(part.rows for part in others if part.rows))
        blocks = Blocks.joined([part.blocks for part in parts])
        return ReducedLog(first.torques.merged(*(part.torques for part in others)), rows, blocks)

    def estimated_from(self, names: tuple[str, ...]) -> Factors:
        """The factors that are estimated from, over the parameters of the model."""
        return self.torques.restricted(names) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class ReducedLogs:
    """The factors of all logs, those that were reduced before first.

    Attributes:
        torques: The factors of each log's torques, with the derivatives over nonlinear parameters that were found.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
        folds: Parts of the logs; logs that were reduced before are one each. None where they are not asked for.
        probes: The factors of the torques of each log that was read now, with friction that the model lacks.
        blocks: Blocks of time of each log that was read now, without its weight; of the rows that are estimated from,
            with friction that the model lacks where these are torques.
        block_rows: Rows of a block.
    """

    torques: Sequence[Factors]
    rows: Sequence[Factors]
    folds: tuple[Fold, ...]
    probes: Sequence[Factors]
    blocks: Sequence[Blocks] = ()
    block_rows: int = 1


def reduce_logs(
    logs: Sequence[PreparedLog],
    nonlinear: NonlinearFit,
    settings: EstimationSettings,
    earlier: EarlierLogs | None = None,
    *,
    folds: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ReducedLogs:
    """Reduce logs to factors.

    Args:
        logs: The logs, ready for the model.
        nonlinear: The nonlinear parameters of the model, found or held.
        settings: How to estimate: which rows.
        earlier: Logs that were reduced before.
        folds: Whether factors of parts of the logs are wanted, too.
        progress: Callback; receives a short description of each step.
    """
    form, size, parts = RowForm.of(settings), block_rows(logs, RowForm.of(settings)), list[ReducedLog]()
    with_probes = probed(nonlinear.linear.model)
    for k, log in enumerate(logs, start=1):
        progress(f"Reducing log {k} of {len(logs)}")
        parts.append(reduce_log(log, nonlinear.linear.model, with_probes, form, size))
    return joined_logs(parts, [log.weight for log in logs], nonlinear, size, earlier, folds=folds)


def reduce_log(
    log: PreparedLog, model: DynamicModel, with_probes: DynamicModel, form: RowForm, size: int
) -> ReducedLog:
    """Reduce one log to factors.

    Args:
        log: The log, ready for the model.
        model: The model.
        with_probes: The same with friction on all joints, as `probed` gives it.
        form: The rows that are estimated from.
        size: Rows of a block of time.
    """
    if form.name == "torque":
        of_torques, blocks = form.blocks(with_probes, log, size)
        if log.replicas:
            blocks = without_column_noise(blocks, log, form)
            of_torques = blocks.factors(0, len(blocks))
        return ReducedLog(of_torques.weighted(log.weight), None, blocks)
    of_torques = TORQUES.factors(with_probes, log.segments, log.processing, log.sampling)
    of_form, blocks = form.blocks(model, log, size)
    return ReducedLog(of_torques.weighted(log.weight), of_form.weighted(log.weight), blocks)


def joined_logs(
    parts: Sequence[ReducedLog],
    weights: Sequence[float],
    nonlinear: NonlinearFit,
    size: int,
    earlier: EarlierLogs | None = None,
    *,
    folds: bool = False,
) -> ReducedLogs:
    """The factors of all logs.

    Args:
        parts: Those of each log; where they are made when they are asked for, so are the results.
        weights: The weight of each log.
        nonlinear: The nonlinear parameters of the model, found or held.
        size: Rows of a block of time.
        earlier: Logs that were reduced before.
        folds: Whether factors of parts of the logs are wanted, too.
    """
    names = nonlinear.linear.model.names
    before = EarlierLogs(nonlinear.linear.model) if earlier is None else earlier
    torques = mapped(parts, lambda part: part.torques.restricted(names))
    rows = torques
    if len(parts) and parts[0].rows is not None:
        rows = mapped(parts, lambda part: part.estimated_from(names))
    all_rows, blocks = chained(before.rows, rows), mapped(parts, lambda part: part.blocks)
    found = _folds(all_rows, blocks, weights, nonlinear.base.model.names) if folds else ()
    all_torques = all_rows if rows is torques and before.rows is before.torques else chained(before.torques, torques)
    return ReducedLogs(all_torques, all_rows, found, mapped(parts, lambda part: part.torques), blocks, size)


def _folds(
    rows: Sequence[Factors], blocks: Sequence[Blocks], weights: Sequence[float], names: tuple[str, ...]
) -> tuple[Fold, ...]:
    """Parts of logs from the blocks of time that they were reduced in: runs of these, with gaps between them.

    Of more than `FOLDS` logs, consecutive ones share a fold.

    Args:
        rows: The factors of each log; those without blocks are the first, and one fold each.
        blocks: The blocks of each of the others.
        weights: Their weights.
        names: Parameters of the folds' factors.
    """
    if len(rows) > FOLDS:
        ends = [len(rows) * k // FOLDS for k in range(FOLDS + 1)]
        together = ((rows[i].restricted(names) for i in range(*pair)) for pair in pairwise(ends))
        return tuple(Fold(k, merge_logs(each)) for k, each in enumerate(together))
    earlier, total = len(rows) - len(blocks), sum(map(len, blocks))
    found = [Fold(k, rows[k].restricted(names)) for k in range(earlier)]
    for k, (own, weight) in enumerate(zip(blocks, weights, strict=True), start=earlier):
        count = max(1, round(FOLDS * len(own) / total))
        ends = [len(own) * i // count for i in range(count + 1)]
        gap = max(1, round(FOLD_GAP * len(own) / count)) if len(own) >= 4 * count else 0
        for i, (first, last) in enumerate(pairwise(ends)):
            factors = own.factors(first + (gap if i else 0), last)
            found.append(Fold(k, factors.weighted(weight).restricted(names)))
    return tuple(found)


@dataclass(frozen=True)
class FrictionThresholds:
    """Where friction is said to be missing from the model.

    Shown by `tests/estimation/test_friction_probes.py`: simulated robots with and without friction, and the logs of
    TX40 and Panda without their friction terms.
    """

    explained_share: float = 0.3
    """Share of a joint's squared residual that viscous and Coulomb friction must explain: other errors follow velocity
    a little, too."""

    explained_torque: float = 0.01
    """Root mean square of what they explain, relative to the joint's torque, below which it does not matter."""


THRESHOLDS = FrictionThresholds()


@dataclass(frozen=True)
class Probe:
    """What friction would explain on one joint.

    Attributes:
        joint: Name of the joint.
        terms: Terms that the model lacks there.
        share: Share of the squared residual that they would explain.
        torque: Root mean square of the torque that they would explain.
        unit: Its unit.
    """

    joint: str
    terms: tuple[str, ...]
    share: float
    torque: float
    unit: str


def probed(model: DynamicModel) -> DynamicModel:
    """The model with friction on all joints: its own parameters first, then the probes'."""
    if model.observed != Observed.TORQUES:
        return model
    joints = [joint for joint in model.robot.independent_joints if joint.kind.nv == 1]
    extra: list[JointTerm] = []
    for term, roles in ((Viscous, (Role.VISCOUS,)), (Coulomb, (Role.COULOMB, Role.COULOMB_FORWARD))):
        driven = driven_along(model, term)
        own = [joint.name for joint in joints if of_joint(model.parameters, joint.name, *roles)]
        lacking = [joint.name for joint in joints if joint.name not in own and joint.name not in driven]
        if lacking:
            extra.append(term(lacking))
    return DynamicModel(model.robot, (*model.terms, *extra)) if extra else model


def findings_on_friction(logs: Sequence[Factors], base: BaseParameters) -> tuple[Finding, ...]:
    """A finding that names the joints where friction is missing from the model.

    Args:
        logs: Factors of the logs, with probes.
        base: The base parameters of the model, without.
    """
    found = [probe for probe in _probes(logs, base) if probe.share >= THRESHOLDS.explained_share]
    if not found:
        return ()
    return (
        Finding.of(
            "friction-missing",
            "friction",
            joints={probe.joint: probe.share for probe in found},
            torques={probe.joint: f"{probe.torque:.3g} {probe.unit}" for probe in found},
            terms=sorted({term for probe in found for term in probe.terms}, reverse=True),
        ),
    )


def _probes(logs: Sequence[Factors], base: BaseParameters) -> Iterator[Probe]:
    """What friction would explain on each joint, where it is large and brakes."""
    if not logs or logs[0].names == base.model.names:
        return
    whole = merge_logs(logs)
    own = set(base.model.names)
    roles = {parameter.name: parameter.role for parameter in probed(base.model).parameters}
    for joint, factor in whole.joints.items():
        free = factor.without(base.known) if base.known else factor
        extra = [name for name in free.names if name not in own]  # probes, and changes of nonlinear parameters
        terms = tuple(roles[name].value for name in extra if name in roles)
        if not terms or not free.rows:
            continue
        without = free.select([name for name in free.names if name in own])
        x, y = free.solve(), without.solve()
        errors, more = free.residual_squares(x), without.residual_squares(y)
        total = free.residual_squares(np.zeros(len(free.names)))
        if more - errors < THRESHOLDS.explained_torque**2 * total or not _brakes(free, extra, x):
            continue
        unit = "N" if base.model.robot.joint(joint).kind is JointKind.PRISMATIC else "N m"
        yield Probe(joint, terms, 1.0 - errors / more, float(np.sqrt((more - errors) / free.rows)), unit)


def _brakes(factor: Factor, extra: Sequence[str], x: np.ndarray) -> bool:
    """Whether the probe that explains most has a positive value, as friction has."""
    columns = [factor.names.index(name) for name in extra]
    sizes = np.linalg.norm(factor.R[:, columns], axis=0) * np.abs(x[columns])
    return bool(x[columns[int(np.argmax(sizes))]] > 0.0)
