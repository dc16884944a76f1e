"""What happened and what was logged of it, with everything that real robots add and that is no mistake."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid import DynamicModel, Log, Robot
from dynid.arrays import Array
from tests.mistakes.machines import machine, middle

States = tuple[Array, Array, Array]
Effect = Callable[[Array, States, Array], Array]
"""Torques, shape (samples, joints), that come on top: of times, states, and the torques of the model."""

REST = 1.5
"""Time [s] for which motions stand still at both ends, where they do, and in which they then start and stop."""

HARMONICS = np.array([1.0, 2.0, 3.0, 5.0, 7.0])
SHARES = 1.0 / np.array([1.5, 2.0, 3.0, 4.0, 6.0])


@dataclass(frozen=True, eq=False)
class Recording:
    """A robot that moves, and how that is measured.

    Attributes:
        name: One of `machines.NAMES`.
        seed: Of the motion and of the noise.
        rate: Sampling rate [Hz].
        seconds: Length [s].
        rests: Whether the motion begins and ends at rest; else it begins and ends in motion.
        size: Amplitudes, as a share of what is usual here.
        noise: Standard deviation of the torques' noise over that of each joint's torque.
        position_noise: Standard deviation of the positions' noise [rad or m].
        bare: Standard parameters of the robot itself, which users want to know; those of its file when None.
        parameters: Standard parameters of what moves, such as the robot with a payload; those of the robot when None.
        effects: Torques that come on top of the model's.
        gains: What each joint's torque is multiplied with when it is logged, shape (joints,); 1 when None.
        stamps: Standard deviation of errors of the time stamps, in periods.
        step: Step of the encoders [rad or m]; 0 where there is none.
        compliance: By how much each gear yields [rad/(N m)], shape (joints,); rigid when None.
        velocity: Whether velocities are logged, too.
    """

    name: str
    seed: int
    rate: float = 200.0
    seconds: float = 24.0
    rests: bool = False
    size: float = 1.0
    noise: float = 0.02
    position_noise: float = 2e-5
    bare: Array | None = None
    parameters: Array | None = None
    effects: tuple[Effect, ...] = ()
    gains: Array | None = None
    stamps: float = 0.0
    step: float = 0.0
    compliance: Array | None = None
    velocity: bool = False

    def but(self, **changes: object) -> "Recording":
        """The same with something changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def robot(self) -> Robot:
        """The robot, as its file should be."""
        return machine(self.name).robot

    @property
    def model(self) -> DynamicModel:
        """Its model."""
        return machine(self.name).model

    @property
    def truth(self) -> dict[str, float]:
        """Standard parameters of the bare robot by name: what users want to know."""
        p = machine(self.name).parameters if self.bare is None else self.bare
        return dict(zip(self.model.names, p.tolist(), strict=True))

    @property
    def joints(self) -> list[str]:
        """Names of the joints."""
        return [joint.name for joint in self.robot.joints]

    @cached_property
    def times(self) -> Array:
        """Times of the samples [s]."""
        return np.arange(round(self.seconds * self.rate)) / self.rate

    def states(self, t: Array) -> States:
        """True positions, velocities and accelerations at times, each of shape (samples, joints)."""
        rng = np.random.default_rng((self.seed, 5))
        limits = [joint.limits for joint in self.robot.joints]
        w = 2 * np.pi * rng.uniform(0.08, 0.12) * HARMONICS
        sizes = rng.uniform(0.3, 1.0, (len(limits), len(w))) * SHARES * rng.choice([-1.0, 1.0], (len(limits), len(w)))
        room = np.array([0.45 * (one.upper - one.lower) for one in limits])
        sizes *= np.minimum(1.0, room / np.abs(sizes).sum(1))[:, None]
        speeds = np.array([0.9 * one.velocity for one in limits])
        sizes *= self.size * np.minimum(1.0, speeds / np.abs(sizes * w).sum(1))[:, None]
        angle = np.multiply.outer(t, w)[:, None] + rng.uniform(0, 2 * np.pi, sizes.shape)
        q = (sizes * np.sin(angle)).sum(2)
        v = (sizes * w * np.cos(angle)).sum(2)
        a = -(sizes * w**2 * np.sin(angle)).sum(2)
        if self.rests:
            g, dg, ddg = (x[:, None] for x in _window(t, self.seconds))
            q, v, a = g * q, g * v + dg * q, g * a + 2 * dg * v + ddg * q
        return q + middle(self.robot), v, a

    @cached_property
    def exact(self) -> tuple[States, Array]:
        """True states and torques at the times of the samples."""
        states = self.states(self.times)
        p = self.wanted(self.model.names) if self.parameters is None else self.parameters
        torque = self.model.inverse_dynamics(*states, p)
        return states, torque + sum((effect(self.times, states, torque) for effect in self.effects), 0.0)

    @cached_property
    def log(self) -> Log:
        """What was logged."""
        rng = np.random.default_rng((self.seed, 17))
        (q, v, a), torque = self.exact
        measured = torque + self.noise * torque.std(axis=0) * rng.normal(size=q.shape)
        measured = measured * (1.0 if self.gains is None else self.gains)
        if self.compliance is not None:
            of_links = [parameter.link is not None for parameter in self.model.parameters]
            load = self.model.inverse_dynamics(q, v, a, self.wanted(self.model.names) * of_links)
            q = q + self.compliance * load  # friction and rotors act on the motor's side of the gear
        q = q + self.position_noise * rng.normal(size=q.shape)
        q = self.step * np.round(q / self.step) if self.step else q
        stamps = self.times + np.clip(self.stamps * rng.normal(size=len(q)), -0.45, 0.45) / self.rate
        speeds = v + 0.002 * np.abs(v).max(0) * rng.normal(size=v.shape) if self.velocity else None
        return Log(time=stamps, position=q, torque=measured, velocity=speeds)

    def wanted(self, names: tuple[str, ...] | list[str]) -> Array:
        """True standard parameters in the order of names; zero where the robot has no such thing."""
        return np.array([self.truth.get(name, 0.0) for name in names])


def _window(t: Array, seconds: float) -> States:
    """A factor that is 0 at both ends and 1 between, with two derivatives: a polynomial with two at rest."""
    g, dg, ddg = np.ones_like(t), np.zeros_like(t), np.zeros_like(t)
    for x, sign in (((t - REST / 2) / REST, 1.0), ((seconds - REST / 2 - t) / REST, -1.0)):
        s = np.clip(x, 0.0, 1.0)
        part = x < 1.0
        g[part] = (10 * s**3 - 15 * s**4 + 6 * s**5)[part]
        dg[part] = (sign * (30 * s**2 - 60 * s**3 + 30 * s**4) / REST)[part]
        ddg[part] = ((60 * s - 180 * s**2 + 120 * s**3) / REST**2)[part]
    return g, dg, ddg


def recording(name: str, motion: int, **changes: object) -> Recording:
    """One of the motions of a robot: the even ones begin and end in motion, the odd ones at rest."""
    rates = (200.0, 100.0, 125.0, 200.0, 100.0)
    seconds = (22.0, 24.0, 26.0, 20.0, 28.0)
    k = motion % len(rates)
    made = Recording(name, seed=motion, rate=rates[k], seconds=seconds[k], rests=bool(motion % 2))
    return made.but(**changes)
