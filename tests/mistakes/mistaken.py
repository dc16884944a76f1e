"""What identification is given by users who make a mistake, and what it should say."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np

from dynid import Log, Robot
from tests.mistakes.machines import TERMS
from tests.mistakes.recordings import Recording

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments of `dynid.identify`.

    Attributes:
        robot: The robot.
        log: The log.
        terms: Friction and actuator terms.
        drive: Settings of the drive.
        processing: Settings of the processing; chosen by what the log shows where nothing is stated.
    """

    robot: Robot
    log: Log
    terms: tuple[str, ...] = TERMS
    drive: Mapping[str, object] = field(default_factory=dict)
    processing: Mapping[str, object] = field(default_factory=dict)

    @staticmethod
    def of(recording: Recording) -> "Given":
        """What users give who make no mistake."""
        return Given(recording.robot, recording.log)

    def with_log(self, **changes: object) -> "Given":
        """The same with signals of the log changed."""
        return replace(self, log=replace(self.log, **changes))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Mistaken:
    """A mistake that was made.

    Attributes:
        given: What identification is given.
        joints: Joints that it is about: a finding on any of them is right; all when empty.
        untellable: Why no data can show it; empty where they can.
        recording: What really happened.
    """

    given: Given
    recording: Recording
    joints: tuple[str, ...] = ()
    untellable: str = ""


Make = Callable[[Recording, Rng], Mistaken]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of mistake.

    Attributes:
        name: What is wrong, in a few words.
        expected: Codes of findings that name it; several where names are equivalent.
        make: Makes it on a recording.
        why: Why several codes are right.
    """

    name: str
    expected: frozenset[str]
    make: Make
    why: str = ""

    def on(self, recording: Recording) -> Mistaken:
        """The mistake on a recording; another joint on another motion, the same whenever it is asked for."""
        seed = (crc32(f"{recording.name} {self.name}".encode()), recording.seed)
        return self.make(recording, np.random.default_rng(seed))


KINDS: dict[str, Kind] = {}
"""All kinds by name."""


def kind(
    name: str, expected: Iterable[str], **fixed: object
) -> Callable[[Callable[..., Mistaken]], Callable[..., Mistaken]]:
    """Enter a function as a kind of mistake; `fixed` are further arguments of it."""

    def enter(make: Callable[..., Mistaken]) -> Callable[..., Mistaken]:
        if name in KINDS:
            raise ValueError(f"the kind '{name}' is there already")
        why = " ".join((make.__doc__ or "").split())
        KINDS[name] = Kind(name, frozenset(expected), lambda r, rng: make(r, rng, **fixed), why)
        return make

    return enter
