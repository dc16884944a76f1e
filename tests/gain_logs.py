"""Currents of simulated arms with known gains, with and without a known load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid import Log
from dynid.arrays import Array
from dynid.estimation import CurrentRows, carried_load
from dynid.estimation.current_rows import Block, blocks_of_log, rows_of_blocks, rows_of_pairs
from dynid.logs import PreparedLog, Processing
from dynid.model import BaseParameters, Chunk, find_base_parameters
from dynid.robot import Load
from tests.truth_logs import Motion, Truth, builtin

RATE = 50.0
"""Rows per second."""

MOTION = Motion(20.0, 0.1)

LOAD = Load(3.0, np.array([0.13, 0.02, 0.06]), np.diag([0.012, 0.010, 0.008]))


@dataclass(frozen=True, eq=False)
class CurrentCase:
    """A simulated arm with known gains and a known load.

    Attributes:
        truth: The arm.
        gains: Its gains, shape (motors,).
        load: The load.
        motion: The motion.
        seeds: Of the motions without and with the load.
        known: How much is known of the load: "mass", "center" (of mass) or "all".
        noise: Standard deviation of the currents' noise, relative to their root mean square.
        lasting: Correlation time of the noise [s]; zero for white noise.
        ratios: Transmission matrix where motors act on several joints.
    """

    truth: Truth
    gains: Array
    load: Load = LOAD
    motion: Motion = MOTION
    seeds: tuple[int, int] = (5, 5)
    known: str = "mass"
    noise: float = 0.02
    lasting: float = 0.0
    ratios: Array | None = None

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters."""
        return find_base_parameters(self.truth.model)

    @cached_property
    def times(self) -> Array:
        """Times of the samples [s]."""
        return np.arange(0.0, self.motion.seconds, 1.0 / RATE)

    @cached_property
    def exact(self) -> tuple[tuple[Array, Array, Array, Array], ...]:
        """Positions, velocities, accelerations and exact currents, without and with the load."""
        link, own = self.load.of_link(self.truth.robot)
        first = 10 * self.truth.robot.solid_links.index(link)
        found = []
        for k, seed in enumerate(self.seeds):
            q, v, a = self.motion.states(self.times, self.truth.robot.nv, seed)
            p = self.truth.parameters.copy()
            p[first : first + 10] += k * own
            torque = self.truth.model.inverse_dynamics(q, v, a, p)
            motors = torque if self.ratios is None else torque @ np.linalg.inv(self.ratios)
            found.append((q, v, a, motors / self.gains))
        return tuple(found)

    def currents(self, seed: int) -> list[Array]:
        """Noisy currents of the motors without and with the load, each of shape (samples, motors)."""
        rng = np.random.default_rng((seed, 3))
        return [i + self._noise(rng, i) for *_, i in self.exact]

    def logs(self, seed: int) -> tuple[Log, Log]:
        """The same as logs of positions and currents, the second with the load 'load'."""
        parts = zip(self.exact, self.currents(seed), strict=True)
        one, other = (Log(time=self.times, position=q, torque=i) for (q, *_), i in parts)
        return one, replace(other, load="load")

    def rows(self, seed: int, *, paired: bool | None = None) -> tuple[CurrentRows, ...]:
        """Rows for the estimation of gains, with other noise for each seed; paired where motions are the same."""
        center = None if self.known == "mass" else self.load.center_of_mass
        about = self.load.inertia if self.known == "all" else None
        load = carried_load(self.base, "load", self.load.mass, center, about)
        N = np.eye(self.truth.robot.nv) if self.ratios is None else self.ratios
        one, other = (self._blocks(k, i, N) for k, i in enumerate(self.currents(seed)))
        if self.seeds[0] == self.seeds[1] if paired is None else paired:
            return rows_of_pairs(one, other, self.base, N, load)
        return rows_of_blocks(one, self.base, N, None, 0), rows_of_blocks(other, self.base, N, load, 1)

    @cached_property
    def exact_blocks(self) -> tuple[list[Block], ...]:
        """Blocks of time of the exact logs: other currents have the same regressors."""
        N, size = np.eye(self.truth.robot.nv) if self.ratios is None else self.ratios, -(-2 * len(self.times) // 128)
        logs = (
            PreparedLog((Chunk(q, v, a, i @ N),), (self.times,), Processing(), RATE, 0.0, ())
            for q, v, a, i in self.exact
        )
        return tuple(list(blocks_of_log(log, self.base, size, N)) for log in logs)

    def _blocks(self, number: int, currents: Array, N: Array) -> Iterator[Block]:
        """The same blocks with other currents."""
        first = 0
        for block in self.exact_blocks[number]:
            part, found = slice(first, first + len(block[0][0])), []
            for j, (rows, kept) in enumerate(block):
                motors = np.flatnonzero(N[:, j])
                columns = currents[part, motors] * N[motors, j]
                found.append((np.concatenate([rows[:, : rows.shape[1] - len(motors)], columns], axis=1), kept))
            first = part.stop
            yield found

    def _noise(self, rng: np.random.Generator, currents: Array) -> Array:
        from scipy.signal import lfilter

        x = rng.normal(size=(len(currents) + 200, currents.shape[1]))
        if self.lasting:
            c = np.exp(-1.0 / (RATE * self.lasting))
            x = np.asarray(lfilter([np.sqrt(1.0 - c**2)], [1.0, -c], x, axis=0))
        return self.noise * np.sqrt(np.mean(currents**2, axis=0)) * x[200:]


def current_case(name: str, *terms: str) -> CurrentCase:
    """A built-in robot with random gains."""
    truth = builtin(name, *(terms or ("viscous", "coulomb", "offset")))
    return CurrentCase(truth, np.random.default_rng(1).uniform(5.0, 15.0, truth.robot.nv))
