"""The choice of terms: a short search over what may be chosen, and the rule that decides.

Linear terms are tried in all combinations, nonlinear ones on top of the best of these, and then single terms are added
or left out once more. The rule: of all that are within half a standard error of the best, the one with the fewest
parameters. Errors are compared block by block, so what makes a block difficult for all cancels.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.term_choice.block_moments import blocks_of
from dynid.estimation.term_choice.held_out_trials import Trial, Trials
from dynid.estimation.term_choice.term_options import LINEAR, Option, joints_with_data, of_some_joints, options_for
from dynid.findings import Finding
from dynid.logs import PreparedLog
from dynid.machine import single_threaded_blas
from dynid.model import DynamicModel, Role, matches, stored_inertia
from dynid.robot import Robot


@dataclass(frozen=True)
class TermChoiceThresholds:
    """Which terms are chosen.

    Shown by `benchmarks/term_choice.py` (terms of simulated robots) and `benchmarks/real_logs.py` (held-out errors of
    real logs, table in `docs/accuracy.md`).
    """

    worth: float = 0.01
    """Part of the held-out error by which viscous, Coulomb, offset, armature or coupling must lower it: less may be
    chance, and each term has as many parameters as joints."""

    worth_of_rare_terms: float = 0.03
    """The same for terms that few robots have, or that have nonlinear parameters."""

    impossible_cost: float = 0.1
    """Part of the held-out error that a parameter costs that is clearly negative and cannot be, and a term that can
    only brake (or have inertia) and has no parameter that is clearly positive."""

    close_errors: float = 0.5
    """Standard errors of the difference up to which fewer parameters are preferred: a whole one, on top of what terms
    must be worth, left out friction of the UR10 that the rest of its log shows."""

    clear_armatures: float = 0.5
    """Share of the motor inertias that must be clearly positive for them to be kept without a gain: without them, links
    of the UR10e weigh 142 kg instead of 26 kg."""


THRESHOLDS = TermChoiceThresholds()

COMMON = dict.fromkeys((*LINEAR, "coupling"), 1.0) | {"asymmetric_coulomb": 2.1}
"""Terms that are worth a small gain, each with how many such gains; asymmetric friction is Coulomb and offset."""


Reason = Literal["best", "simplest", "armature", "default"]


@dataclass(frozen=True, eq=False)
class TermChoice:
    """Terms that were chosen, and what was tried.

    Attributes:
        terms: The terms, as users write them.
        reason: Why: the least held-out error; the fewest parameters within half a standard error of it; the same with
            motor inertia that is identifiable and positive; or none, where logs are too short to choose.
        chosen: The trial of these terms; None where nothing was tried.
        tried: All trials, in their order.
        margins: For each trial how much larger its held-out error is than that of the best, in parts of it, and the
            standard error of this.
        blocks: Number of blocks of time.
        samples: Number of samples in them.
        seconds: Time that the choice took.
        findings: The choice in words.
    """

    terms: tuple[str, ...]
    reason: Reason
    chosen: Trial | None
    tried: tuple[Trial, ...]
    margins: tuple[tuple[float, float], ...]
    blocks: int
    samples: int
    seconds: float
    findings: tuple[Finding, ...]


def choose_terms(
    robot: Robot,
    logs: Sequence[PreparedLog],
    known: Mapping[str, float],
    matrix: Array | None = None,
    estimator: str = "torque",
    progress: Callable[[str], None] = lambda _: None,
) -> TermChoice:
    """Choose friction and actuator terms by the error on held-out blocks of time.

    Args:
        robot: The robot.
        logs: The logs, with temperatures where they were logged.
        known: Parameters that are known beforehand, by name or pattern: their terms are chosen in any case.
        matrix: Transmission matrix of the drives, whose couplings bring their columns.
        estimator: Which rows will be estimated from; terms that do not go with them are not tried.
        progress: Callback; receives a short description of each step.
    """
    start = time.perf_counter()
    progress("Choosing terms: reducing blocks of time")
    options = options_for(robot, logs, matrix, known)
    options = {name: option for name, option in options.items() if _goes_with(option, robot, estimator)}
    required = _required(robot, options, known)
    blocks = () if joints_with_data(robot, logs) == [] else blocks_of(logs)
    with single_threaded_blas():
        trials = Trials(robot, options, blocks, known) if blocks else None
        if trials is None or trials.blocks_with_rows < 2:
            default = [options[name] for name in default_options(options, required)]
            named = tuple(s for option in default if option.parameters(robot) for s in option.specifications)
            finding = Finding.of("terms-default-short", "terms", terms=list(named))
            return TermChoice(named, "default", None, (), (), 0, 0, time.perf_counter() - start, (finding,))
        search = _Search(trials, required, progress)
        chosen, reason = search.run()
    tried = tuple(search.trials.done.values())
    best = min(tried, key=merit)
    margins = tuple(_margin(trial, best) for trial in tried)
    finding = _finding(chosen, reason, best, len(blocks))
    samples = sum(block.log.samples for block in blocks)
    seconds = time.perf_counter() - start
    return TermChoice(chosen.terms, reason, chosen, tried, margins, len(blocks), samples, seconds, (finding,))


def _goes_with(option: Option, robot: Robot, estimator: str) -> bool:
    """Whether a term goes with the rows that will be estimated from."""
    if estimator == "torque":
        return True
    try:
        stored_inertia(DynamicModel(robot, option.terms))
    except InvalidRequestError:
        return False
    return True


def _required(robot: Robot, options: Mapping[str, Option], known: Mapping[str, float]) -> tuple[str, ...]:
    """Options that are chosen in any case: those of known parameters, and motor inertia that the file states.

    Raises:
        UnknownNameError: If a known name is that of no parameter.
    """
    stated = any(joint.dynamics.armature for joint in robot.independent_joints)
    found = {"armature"} if stated and "armature" in options else set[str]()
    links = DynamicModel(robot).names
    for pattern in known:
        if matches(pattern, links):
            continue
        own = next((name for name, option in options.items() if matches(pattern, option.all_names(robot))), None)
        if own is None:
            raise UnknownNameError("parameter", pattern, links)
        found.add(own)
    return tuple(found)


def default_options(options: Iterable[str], required: Iterable[str] = ()) -> list[str]:
    """What is chosen where nothing can be tried."""
    wanted = {*LINEAR, "coupling", *required}
    return [name for name in options if name in wanted]


def merit(trial: Trial) -> float:
    """Logarithm of the held-out error with what each term, and each impossible value, must be worth; less is better."""
    common, rare = THRESHOLDS.worth, THRESHOLDS.worth_of_rare_terms
    worth = sum(rare if name not in COMMON else common * COMMON[name] for name in trial.options)
    return trial.log_error + worth + THRESHOLDS.impossible_cost * (len(trial.negative) + len(trial.unsupported))


def _margin(trial: Trial, best: Trial) -> tuple[float, float]:
    """How much larger the error of a trial is than the best, in parts of it, and the standard error over blocks."""
    ratios = trial.log_errors - best.log_errors
    return float(np.expm1(ratios.mean())), float(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))


def simplest(trials: Iterable[Trial]) -> tuple[Trial, Reason]:
    """The one with the fewest parameters of all that are within half a standard error of the best."""
    trials = list(trials)
    best = min(trials, key=merit)
    least, factor = merit(best), THRESHOLDS.close_errors
    close = [trial for trial in trials if merit(trial) - least <= factor * _margin(trial, best)[1]]
    chosen = min(close, key=lambda trial: (trial.parameters, merit(trial)))
    return chosen, "best" if chosen is best else "simplest"


@dataclass
class _Search:
    """A search over combinations of options."""

    trials: Trials
    required: tuple[str, ...]
    progress: Callable[[str], None]

    def run(self) -> tuple[Trial, Reason]:
        """Try what is worth trying, and decide."""
        if any(self.trials.options[name].is_nonlinear for name in self.required):
            self.trials.with_nonlinear(self.trials.of(*default_options(LINEAR)))
            self.trials.done.clear()
        self._linear()
        start, _ = self._with_armature(*simplest(self.trials.done.values()))
        nonlinear = [name for name, option in self.trials.options.items() if option.is_nonlinear]
        if nonlinear:
            self.progress("Choosing terms: columns of nonlinear friction")
            self.trials.with_nonlinear(start)
            self._nonlinear(start)
        best = min(self.trials.done.values(), key=merit)
        for name in self.trials.options:  # what is left out, or in, once more
            if not self.trials.options[name].is_nonlinear and name != "asymmetric_coulomb":
                others = tuple(other for other in best.options if other != name)
                self._try(*(others if name in best.options else (*best.options, name)))
        chosen, reason = self._with_armature(*simplest(self.trials.done.values()))
        for more in (
            ("offset",),
            ("armature",),
            ("offset", "armature"),
        ):  # what links may need and torques not show
            if set(more) <= set(self.trials.options):
                self._try(*chosen.options, *more)
        return chosen, reason

    def _try(self, *options: str) -> Trial | None:
        """Try options with those that are required, unless two of them exclude each other."""
        wanted = {*options, *self.required}
        for name in tuple(wanted):
            wanted -= set(self.trials.options[name].replaces) - set(self.required)
        named = self.trials.options
        if any(other in wanted for name in wanted for other in named[name].replaces):
            return None
        if "coupling" in wanted and not {"viscous", "armature"} <= wanted:
            return None
        self.progress(f"Choosing terms: {', '.join(name for name in named if name in wanted) or 'none'}")
        return self.trials.of(*wanted)

    def _linear(self) -> None:
        """All combinations of the plain linear terms; couplings and further terms beside all of them."""
        for count in range(len(LINEAR) + 1):
            for options in itertools.combinations(LINEAR, count):
                self._try(*options)
        self._try("viscous", "asymmetric_coulomb")
        self._try("viscous", "asymmetric_coulomb", "armature")
        if "coupling" in self.trials.options:
            self._try(*LINEAR, "coupling")
            self._try("viscous", "coulomb", "armature", "coupling")

    def _nonlinear(self, start: Trial) -> None:
        """Nonlinear terms in the place of linear ones, with and without friction that depends on load."""
        options, has_dry = self.trials.options, {"coulomb", "asymmetric_coulomb"} & set(start.options)
        loads = [name for name, option in options.items() if option.terms[0].needs_links and has_dry]
        dry = [n for n, o in options.items() if o.grids is not None and ("coulomb" not in o.replaces or has_dry)]
        beside = tuple(name if name != "asymmetric_coulomb" else "offset" for name in start.options)
        for name in (*loads, *dry):
            self._try(*beside, name)
            for load in loads if name not in loads else ():
                self._try(*beside, name, load)
        for name in (*dry, *loads):
            self._on_some_joints(name)

    def _on_some_joints(self, name: str) -> None:
        """A nonlinear option on those joints only that show it, beside whatever goes best with it."""
        own = [trial for trial in self.trials.done.values() if name in trial.options]
        best = min(own, key=merit, default=None)
        if best is None:
            return
        owners = self.trials.joints_that_show(best, name)
        some = of_some_joints(self.trials.options[name], self.trials.robot, owners)
        if some is not None:
            self.trials.options[some.name] = some
            for trial in own:
                self._try(*(other for other in trial.options if other != name), some.name)

    def _with_armature(self, chosen: Trial, reason: Reason) -> tuple[Trial, Reason]:
        """The same with motor inertia where that is identifiable and positive: it decides the links' masses."""
        if "armature" in chosen.options or "armature" not in self.trials.options:
            return chosen, reason
        more = self._try(*chosen.options, "armature")
        if more is None or more.parameters == chosen.parameters:
            return chosen, reason
        roles = {p.name for p in self.trials.model.parameters if p.role is Role.ARMATURE}
        own = [name for name in more.fit.names if name in roles]
        margin, error = _margin(more, chosen)
        clear = [name for name in own if name in more.positive]
        is_unclear = len(clear) < THRESHOLDS.clear_armatures * len(own)
        if any(name in roles for name in more.negative) or is_unclear or margin > max(error, THRESHOLDS.worth):
            return chosen, reason
        return more, "armature"


def _finding(chosen: Trial, reason: Reason, best: Trial, blocks: int) -> Finding:
    margin, error = _margin(chosen, best)
    return Finding.of(
        f"terms-chosen-{reason}",
        "terms",
        terms=list(chosen.terms) or ["none"],
        error=chosen.relative_error,
        parameters=chosen.parameters,
        blocks=blocks,
        best=list(best.terms),
        best_error=best.relative_error,
        best_parameters=best.parameters,
        margin=margin,
        standard_error=error,
    )
