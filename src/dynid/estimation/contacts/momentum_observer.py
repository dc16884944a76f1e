"""The generalised-momentum observer over a log: external torques from positions, velocities and torques alone.

With the momentum p = M(q) v, `dp/dt = tau - friction + C' v - g + tau_ext`. The observer follows p with the gain K; its
residual r obeys `dr/dt = K (tau_ext - r)` for an exact model. The recursion is that of the generated C, by trapezoids
and implicit in r (A. De Luca, R. Mattone, "Sensorless robot collision detection and hybrid force/motion control",
2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.model import DynamicModel
from dynid.model.code.compiled_model import CompiledModel
from dynid.model.code.functions import CodeModel


@dataclass(frozen=True, eq=False)
class ObserverSignals:
    """What an observer is given, at the joints.

    Attributes:
        time: Time [s], shape (samples,).
        q: Positions [rad or m], shape (samples, nq).
        v: Velocities [rad/s or m/s], as a controller has them: no later sample counts; shape (samples, nv).
        tau: Measured torques [N m or N], shape (samples, nv).
        begins: Where the observer begins anew: at the first sample and after gaps, shape (samples,).
    """

    time: Array
    q: Array
    v: Array
    tau: Array
    begins: Flags

    def __len__(self) -> int:
        return len(self.time)

    @property
    def steps(self) -> Array:
        """Interval before each sample [s], shape (samples,); zero where the observer begins."""
        return np.where(self.begins, 0.0, np.diff(self.time, prepend=self.time[:1]))

    @property
    def seconds(self) -> float:
        """Time that is observed [s], without gaps."""
        return float(self.steps.sum())

    @property
    def rate(self) -> float:
        """Sampling rate [Hz]: one over the median step."""
        steps = self.steps[~self.begins]
        return 1.0 / float(np.median(steps)) if len(steps) else 0.0

    def part(self, keep: slice) -> ObserverSignals:
        """Some consecutive samples."""
        begins = self.begins[keep].copy()
        begins[:1] = True
        return ObserverSignals(self.time[keep], self.q[keep], self.v[keep], self.tau[keep], begins)


def observer_functions(model: DynamicModel, parameters: Array) -> CompiledModel:
    """Momentum and friction of a model, as code for controllers has them.

    Args:
        model: The model of joint torques.
        parameters: Standard parameters, shape (parameters,).

    Raises:
        InvalidRequestError: If a term has no form in code; it is named.
    """
    plain = DynamicModel(model.robot, model.terms)
    code = CodeModel(plain, parameters, None, has_links=False)
    return CompiledModel.of(code, ("momentum", "friction"))


def external_torques(functions: CompiledModel, signals: ObserverSignals, gain: float) -> Array:
    """What torques outside the model do to each joint [N m or N], behind a lag of 1 / gain, shape (samples, nv)."""
    momentum, rate = functions.momentum(signals.q, signals.v)
    return observed(momentum, rate + signals.tau - functions.friction(signals.q, signals.v), signals, gain)


def observed(momentum: Array, rate: Array, signals: ObserverSignals, gain: float) -> Array:
    """The residuals of momenta and of what is known of their rates, both of shape (samples, channels)."""
    from dynid.estimation.contacts.observer_loop import observe_samples

    require_gain(gain, signals.rate)
    found = np.empty(momentum.shape)
    gains = np.full(momentum.shape[1], float(gain))
    arrays = [np.ascontiguousarray(x, dtype=float) for x in (momentum, rate)]
    observe_samples(signals.steps, signals.begins, *arrays, gains, found)
    return found


def require_gain(gain: float, rate: float) -> None:
    """Refuse gains that the samples cannot follow."""
    if not (np.isfinite(gain) and gain > 0.0):
        raise InvalidRequestError(f"the gain of an observer is a positive number [1/s], not {gain!r}")
    if gain > rate:
        raise InvalidRequestError(
            f"a gain of {gain:g} 1/s is beyond the sampling rate of {rate:.4g} Hz: the residual would follow noise "
            f"within one sample; use at most {rate / 4.0:.3g}"
        )
