"""All cases of the sweep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.mistakes import wrong_models, wrong_signals  # noqa: F401  (they enter their kinds)
from tests.mistakes.machines import NAMES
from tests.mistakes.mistaken import KINDS, Given, Kind, Mistaken
from tests.mistakes.nuisance import COMBINATIONS, NUISANCES, combined
from tests.mistakes.recordings import Recording, recording

GOOD = "good"
GOOD_LOGS = 20
MOTIONS = 5
RATES = (100.0, 125.0, 200.0, 250.0, 500.0, 1000.0)

CROSSED = (
    "sign of one torque",
    "sign of one position",
    "torques of two joints swapped",
    "two whole joints swapped",
    "gear ratio x 1.3",
    "one torque x 0.8",
    "torques 20 ms late",
    "time stamps x 1.1",
    "gravity inverted",
    "encoder zero 0.3 rad off",
    "joint 10 cm elsewhere",
    "payload of 3 kg",
    "all friction missing",
    "motor inertia missing",
    "torque saturated",
    "angles wrapped at pi",
)
"""Mistakes that are tried with nuisance, too."""


@dataclass(frozen=True)
class Case:
    """A case by name, so that it can be sent to another process.

    Attributes:
        robot: The robot.
        kind: The mistake, or "good".
        motion: The motion's number.
        nuisance: What comes on top.
    """

    robot: str
    kind: str
    motion: int
    nuisance: tuple[str, ...] = ()

    def made(self) -> Mistaken:
        """The case itself."""
        r = self.recording()
        return Mistaken(Given.of(r), r) if self.kind == GOOD else KINDS[self.kind].on(r)

    def recording(self) -> Recording:
        """What happened."""
        more = {"rate": RATES[self.motion % len(RATES)]} if self.motion >= 100 else {}
        return combined(recording(self.robot, self.motion, **more), self.nuisance)

    @property
    def named_by_nuisance(self) -> frozenset[str]:
        """Codes that name its nuisance rightly."""
        return frozenset().union(*(NUISANCES[name].named for name in self.nuisance))


def mistakes(
    robots: Sequence[str] = NAMES, kinds: Sequence[str] = (), motions: Sequence[int] = range(MOTIONS)
) -> Iterator[Case]:
    """Every mistake on every robot and motion; all kinds when none is stated."""
    for name in kinds or KINDS:
        yield from (Case(robot, name, motion) for robot in robots for motion in motions)


def good_logs(robots: Sequence[str] = NAMES, count: int = GOOD_LOGS) -> Iterator[Case]:
    """Logs without any mistake, at rates from 100 to 1000 Hz."""
    for robot in robots:
        yield from (Case(robot, GOOD, 100 + k) for k in range(count))


def nuisances(robots: Sequence[str] = NAMES, motions: Sequence[int] = range(MOTIONS)) -> Iterator[Case]:
    """Logs without a mistake but with nuisance, and some mistakes with nuisance."""
    for names in COMBINATIONS:
        yield from (Case(robot, GOOD, motion, names) for robot in robots for motion in motions)
    for k, name in enumerate(CROSSED):
        for i, robot in enumerate(robots):
            yield Case(robot, name, motions[(k + i) % len(motions)], COMBINATIONS[(k + 3 * i) % len(COMBINATIONS)])


def expected(kind: str) -> frozenset[str]:
    """Codes that name a kind of mistake."""
    return KINDS[kind].expected if kind != GOOD else frozenset()


__all__ = ["CROSSED", "GOOD", "KINDS", "Case", "Kind", "expected", "good_logs", "mistakes", "nuisances"]
