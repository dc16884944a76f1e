"""What real robots add that is no mistake: the verdict should bear it, and name no cause that is not there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tests.mistakes import vocabulary as codes
from tests.mistakes.recordings import Recording
from tests.mistakes.wrong_models import load_friction, stribeck


@dataclass(frozen=True, eq=False)
class Nuisance:
    """A difficulty.

    Attributes:
        name: What it is.
        apply: Adds it to a recording.
        named: Codes that name it rightly.
    """

    name: str
    apply: Callable[[Recording], Recording]
    named: frozenset[str]


NUISANCES: dict[str, Nuisance] = {}
"""All by name."""


def _enter(name: str, apply: Callable[[Recording], Recording], named: Iterable[str] = ()) -> None:
    NUISANCES[name] = Nuisance(name, apply, frozenset(named))


def _rng(r: Recording, salt: int) -> np.random.Generator:
    return np.random.default_rng((r.seed, salt))


def _friction(r: Recording) -> Recording:
    return r.but(effects=(*r.effects, stribeck(r, 0.02), load_friction(r, 0.03)))


def _constants(r: Recording) -> Recording:
    return r.but(gains=1.0 + 0.05 * _rng(r, 31).choice([-1.0, 1.0], r.robot.nv))


def _flexible(r: Recording) -> Recording:
    torque = r.but(effects=()).exact[1]
    return r.but(compliance=1e-3 / np.sqrt(np.mean(torque**2, axis=0)))


def _links(r: Recording) -> Recording:
    """Links that are 10 % unlike the file's, each by a factor of its own, so that they remain physical."""
    rng, p = _rng(r, 37), r.wanted(r.model.names)
    links = 10 * len(r.robot.solid_links)
    factors = np.repeat(1.0 + 0.1 * rng.uniform(-1.0, 1.0, links // 10), 10)
    p[:links] *= factors
    return r.but(bare=p)


_enter("Stribeck and load-dependent friction", _friction, codes.STRIBECK | codes.LOAD_FRICTION | codes.FRICTION)
_enter("torque constants 5 % off", _constants, codes.TORQUE_SCALE | codes.ALL_TORQUES)
_enter("jitter of stamps", lambda r: r.but(stamps=0.15), codes.JITTER)
_enter("encoders of 12 bits", lambda r: r.but(step=2 * np.pi / 4096))
_enter("50 Hz", lambda r: r.but(rate=50.0))
_enter("30 Hz", lambda r: r.but(rate=30.0))
_enter("links 10 % unlike the file", _links, codes.PAYLOAD | codes.ALL_TORQUES)
_enter("flexible gears", _flexible, {"gear-flexible"})


def combined(r: Recording, names: Iterable[str]) -> Recording:
    """A recording with several of them."""
    for name in names:
        r = NUISANCES[name].apply(r)
    return r


COMBINATIONS: tuple[tuple[str, ...], ...] = (
    *((name,) for name in NUISANCES),
    ("Stribeck and load-dependent friction", "torque constants 5 % off"),
    ("jitter of stamps", "encoders of 12 bits", "50 Hz"),
    ("Stribeck and load-dependent friction", "flexible gears", "jitter of stamps"),
    ("Stribeck and load-dependent friction", "torque constants 5 % off", "encoders of 12 bits", "30 Hz"),
    tuple(name for name in NUISANCES if name not in ("50 Hz", "30 Hz")),
)
"""Those that are tried: alone, and together."""
