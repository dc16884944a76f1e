"""Whether the signs of all torques are flipped: the fit is as good then, but friction drives and masses lift."""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.bench_samples import links_alone
from dynid.findings import Finding, Severity
from dynid.model import Sign


@dataclass(frozen=True)
class TorqueSignThresholds:
    """When all torques are said to have the opposite sign."""

    clear_std: float = 4.0
    """Standard deviations from which a parameter has a sign. By judgement: chance makes it once in 16,000 cases."""

    negative_share: float = 0.8
    """Share of the parameters with a sign, weighed by their torques, that must be negative. By judgement; with flipped
    torques of `benchmarks/verdict_sweep.py` nearly all are, in good logs nearly none."""

    correlation: float = 0.3
    """Correlation of measured torques with those of the robot file's masses from which both agree; below minus this
    they contradict each other, below twice that they do without friction, too. By judgement: files are seldom so wrong
    that gravity does not show."""


TORQUE_SIGN_THRESHOLDS = TorqueSignThresholds()


def all_signs_flipped(bench: Bench, stds: Array) -> Finding | None:
    """A finding where friction and motor inertia are negative on all joints, and masses do not contradict that.

    Args:
        bench: The model on samples.
        stds: Standard deviations of the base parameters, shape (base,).
    """
    model, base, limits = bench.model, bench.base, TORQUE_SIGN_THRESHOLDS
    signed = [
        k
        for k, column in enumerate(base.columns)
        if model.parameters[column].link is None and model.parameters[column].sign is Sign.NONNEGATIVE
    ]
    values = bench.base_values(bench.fit.solution)
    clear = [k for k in signed if abs(values[k]) > limits.clear_std * stds[k]]
    joints = {model.parameters[base.columns[k]].joint for k in clear}
    agreement = correlation_with_file(bench)
    if len(joints) > 0.5 * model.row_count:
        rows = base.regressor(bench.samples.q, bench.samples.v, bench.samples.a)[..., clear]
        sizes = np.sqrt((rows**2).mean(axis=1)) / bench.stds[:, None]
        torques = sizes.sum(axis=0) * np.abs(values[clear])
        negative = float(torques[values[clear] < 0.0].sum() / torques.sum())
        if negative < limits.negative_share or agreement > limits.correlation:
            return None
    elif agreement > -2.0 * limits.correlation:
        return None
    return Finding.of("torque-signs-all-flipped", "all joints", Severity.ERROR, parameters=len(clear))


def correlation_with_file(bench: Bench) -> float:
    """Correlation of measured torques, weighed, with those of the file's masses; 0 where it has none."""
    model = bench.model
    reference = links_alone(model, np.nan_to_num(model.reference))
    if not reference.any():
        return 0.0
    s = bench.samples
    of_file = model.inverse_dynamics(s.q, s.v, s.a, reference)
    of_file, measured = (
        np.where(s.keep, x, 0.0) / np.sqrt((s.torque**2).mean(axis=0) + 1e-24) for x in (of_file, s.torque)
    )
    sizes = float(np.linalg.norm(of_file) * np.linalg.norm(measured))
    return float((of_file * measured).sum()) / sizes if sizes else 0.0
