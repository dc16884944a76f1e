"""Excitation as a recipe: from an experiment to motions that tell what is to be known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation.factors.factors import Factors
from dynid.excitation.approach import PointToPoint
from dynid.excitation.design import Design, Progress, design, require_time, time_to_finish, warm_up
from dynid.excitation.expectation import Expectation, expected_stds
from dynid.excitation.information import condition_number
from dynid.excitation.limits.limit import Check
from dynid.excitation.limits.stated import joint_limits, per_joint, posture_of
from dynid.excitation.settings import ExcitationTable
from dynid.excitation.stacking import design_block_triangular, design_stack
from dynid.excitation.stated_problem import moving_of, problem_of
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import checked_table, is_experiment, read_experiment
from dynid.files import is_file
from dynid.findings import Finding, Severity, prose
from dynid.robot.robot import Robot

_UNTOLD = 1e6
"""Condition numbers above this mean that something is not excited at all."""
_LOOKED_AT = 2000
"""Samples at which the ways to a motion and home are checked."""
_NAMED = 12
"""How many parameters a warning names."""


class BrokenLimitError(DynidError):
    """A motion breaks a limit, and is not written."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """Motions for an experiment, and what they will tell.

    Attributes:
        experiment: The experiment.
        designs: The motions, in the order in which they are run.
        condition_number: Of the base regressor of all motions and of what was known before, its rows in units of their
            noise.
        expectations: How sure least squares on all of that will be of each base parameter.
        findings: What users should know.
        seconds: How long it took [s].
    """

    experiment: Experiment
    designs: tuple[Design, ...]
    condition_number: float
    expectations: tuple[Expectation, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.designs[0].problem.information.base.model.robot

    def ways(self, part: Design) -> dict[str, PointToPoint]:
        """The slow motions from home to a motion and back; none where no home is stated."""
        settings = self.experiment.excitation
        if settings.home is None:
            return {}
        limits = joint_limits(settings, self.robot)
        velocity = np.array([limit.velocity for limit in limits])
        acceleration = np.array([limit.acceleration for limit in limits])
        home, start = np.array(settings.home), part.trajectory.states(np.zeros(1))[0][0]
        return {
            "approach": PointToPoint.slow(home, start, velocity, acceleration),
            "return": PointToPoint.slow(start, home, velocity, acceleration),
        }

    @cached_property
    def broken(self) -> tuple[Check, ...]:
        """The limits that a motion, or a way to it or home, breaks."""
        found = []
        for part in self.designs:
            found += [check for check in part.checks if not check.is_kept]
            for name, way in self.ways(part).items():
                checks = part.problem.checks(way, np.linspace(0.0, way.duration, _LOOKED_AT))
                found += [replace(check, name=f"{name}: {check.name}") for check in checks if not check.is_kept]
        return tuple(found)

    def require_limits(self) -> None:
        """Refuse motions that break limits, on the way to them and home, too.

        Raises:
            BrokenLimitError: If one does; names the limit.
        """
        if not self.broken:
            return
        broken = self.broken[0]
        advice = "state another home" if ": " in broken.name else "design with more samples or a margin"
        raise BrokenLimitError(
            f"the {broken.name} reaches {broken.reached[0]:.4g} to {broken.reached[1]:.4g} {broken.unit}, and "
            f"{broken.limit[0]:.4g} to {broken.limit[1]:.4g} is allowed; {advice}, or add --force to write it "
            "nevertheless"
        )


def excite(
    experiment: Experiment,
    *,
    known: Sequence[Factors] = (),
    time_limit: float = 20.0,
    starts: int | None = None,
    segments: int = 1,
    block_triangular: bool = False,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Excitation:
    """Design exciting motions.

    Args:
        experiment: The experiment; it needs no logs.
        known: Factors of logs that exist already: the motions are for what these do not tell.
        time_limit: When to stop [s], with the best so far.
        starts: How many starts at most; as many as there is time for when None.
        segments: How many motions at most, each designed for what those before it do not tell.
        block_triangular: One motion for each joint instead: all joints move, then all but the first, and so on.
        seed: Seed of everything random.
        progress: Is told the best so far.
    """
    if block_triangular and segments > 1:
        raise InvalidRequestError("block-triangular motions are one for each joint; leave the number of segments out")
    require_time(time_limit)
    begin = time.monotonic()
    problem, findings = problem_of(experiment, known)
    robot = problem.information.base.model.robot
    prepared = time.monotonic() - begin
    warm_up(problem)
    moving = moving_of(experiment.excitation, robot) or [True] * robot.nv
    motions = sum(moving) if block_triangular else segments
    _require_enough_time(time_limit, prepared, motions * time_to_finish(problem))
    left = max(time_limit - (time.monotonic() - begin), 0.5 * time_limit)  # compiling, once, may take longer
    if block_triangular:
        posture = posture_of(experiment.excitation, robot)
        found = design_block_triangular(
            problem, posture, moving, time_limit=left, starts=starts, seed=seed, progress=progress
        )
    elif segments > 1:
        found = design_stack(problem, segments, time_limit=left, starts=starts, seed=seed, progress=progress)
    else:
        found = iter([design(problem, time_limit=left, starts=starts, seed=seed, progress=progress)])
    designs = tuple(found)
    M = _unscaled(designs[-1])
    condition = condition_number(M)
    noise = min(per_joint("noise", experiment.excitation.noise, robot))
    expectations = expected_stds(problem.information.base, M / noise**2)
    return Excitation(
        experiment,
        designs,
        condition,
        expectations,
        (*findings, *_untold(condition, expectations)),
        time.monotonic() - begin,
    )


def _require_enough_time(time_limit: float, prepared: float, to_finish: float) -> None:
    """Refuse a time limit [s] of which preparing and the checks at the end leave too little for the design."""
    needed = 2.0 * prepared + to_finish / 0.7
    if needed > time_limit:
        raise InvalidRequestError(
            f"a time limit of {time_limit:g} s is too short for this robot and motion, whose limits take about "
            f"{to_finish:.1f} s to check at the end; allow {math.ceil(1.2 * needed)} s or more"
        )


def _untold(condition: float, expectations: Sequence[Expectation]) -> Iterator[Finding]:
    """A warning where the motions leave parameters unknown; names them."""
    names = [expectation.name for expectation in expectations if not expectation.is_excited]
    if not names and condition <= _UNTOLD:
        return
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    which = f", and does not excite {', '.join(names[:_NAMED])}{more}" if names else ""
    text = (
        f"the motion cannot tell all base parameters apart{which}: its condition number is {condition:.2g}; "
        "let more joints move, add harmonics or widen limits"
    )
    yield prose(Severity.WARNING, "excitation", text)


def _unscaled(found: Design) -> Array:
    """Information of a design and of all before it, in the parameters' own units."""
    scales = found.problem.information.scales
    return found.matrix / np.outer(scales, scales)


def experiment_of(source: str, terms: Sequence[str], settings: Mapping[str, Any]) -> Experiment:
    """The experiment to design for, from a robot or from an experiment file.

    Args:
        source: A robot, or the path of an experiment.
        terms: What a robot's joints add.
        settings: Keys of `[excitation]` that replace the experiment's; those that are None do not.

    Raises:
        InvalidRequestError: If a value is none that it can have, or terms are given for an experiment.
    """
    is_toml = is_experiment(Path(source))
    if is_toml and terms:
        raise InvalidRequestError(f"'{source}' states its terms itself; change them there")
    experiment = (
        read_experiment(Path(source), needs_logs=False) if is_toml else Experiment(robot=source, terms=tuple(terms))
    )
    given = {key: value for key, value in settings.items() if value is not None}
    stated = experiment.excitation.model_dump(exclude_defaults=True)
    if "period" in given:
        stated.pop("frequency", None)
    return experiment.model_copy(update={"excitation": checked_table(ExcitationTable, {**stated, **given})})


def known_factors(path: Path, experiment: Experiment) -> Iterator[Factors]:
    """Factors of logs that exist: of a folder that `dynid identify` saved, or of one file of factors.

    Raises:
        ResultError: If the folder holds no result, or one of another model; names the key that differs.
    """
    from dynid.identification.result import ResultError, load_result

    if not path.is_dir():
        yield Factors.load(path)
        return
    result = load_result(path)
    theirs, mine = _with_whole_path(result.experiment), _with_whole_path(experiment)
    key = theirs.difference(mine)
    if key:
        raise ResultError(
            path,
            f"is about another model than the motion: its {key} is {getattr(theirs, key)!r} instead of "
            f"{getattr(mine, key)!r}; design for its own experiment, or make both alike",
        )
    yield from result.logs


def _with_whole_path(experiment: Experiment) -> Experiment:
    """With the whole path of a robot that is a file."""
    path = Path(experiment.robot)
    return experiment.model_copy(update={"robot": str(path.resolve())}) if is_file(path) else experiment
