"""Logs of another stance than a result's: what its base parameters say of them.

Base parameters describe the states in which they were found: those of a robot that stood on its left foot leave out
what never shows there, such as the vertical first moment of that foot. On the other foot this shows. How much of a log
they cannot describe follows from its states and the links of the robot file, whatever errors it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.identification.task import observed_by
from dynid.logs import Log, LogSource, PreparedLog, StoredLog
from dynid.logs.floating_body import FloatingBody
from dynid.model import TORQUES, WRENCH, BaseParameters, DynamicModel, Observed, loaded
from dynid.model.observed import BASE
from dynid.robot import Robot, place_of_body


@dataclass(frozen=True)
class OtherStanceThresholds:
    """When a log counts as one of another stance."""

    beyond: float = 1e-3
    """Share of a log that base parameters of a stance cannot describe, from which on it is another stance: less than
    force sensors err by. Shown by `tests/identification/test_other_stances.py`: the other foot leaves 1.2 %, and a
    sole that is tilted by 0.01 rad, as rests alike in all logs of one stance, 0.007 %."""


THRESHOLDS = OtherStanceThresholds()

LOOKED_AT = 200
"""Samples of each segment that are looked at."""

_WORDS = {WRENCH: "the wrench of the surroundings", TORQUES: "joint torques"}


def problem_of_stance(observed: Observed, robot: Robot, logs: Sequence[Log | LogSource]) -> str:
    """Why base parameters of a result do not describe logs that are to be added, by what these say; or nothing.

    Args:
        observed: What the result was identified from, and where the robot stood.
        robot: The robot.
        logs: The logs that are to be added.
    """
    if not robot.has_floating_base or any(_contacts(log) is None for log in logs):
        return ""  # logs without contacts are refused when they are read
    for log in logs:
        more = [word for word in observed_by([log], robot).measured if word not in observed.measured]
        if more:
            return (
                f"has {_named(log)} with {_WORDS[more[0]]}, and the result that it adds to was identified "
                f"{observed.text}: these would not count; identify all logs together"
            )
        resting = {_link_of(robot, stance.body) for stance in log.standing}
        other = next((body for body in observed.stands_on if _link_of(robot, body) not in resting), None)
        if other is not None:
            return (
                f"has {_named(log)}, which does not say that '{other}' rests (stance), and the base parameters of the "
                f"result that it adds to hold for a robot that stands on {_bodies(observed)}; identify all logs "
                "together, which finds those of both"
            )
    return ""


def problem_of_posture(base: BaseParameters, logs: Sequence[PreparedLog]) -> str:
    """Why base parameters of a result do not describe logs in which the same bodies rest, by their states; or nothing.

    Args:
        base: The base parameters of the result.
        logs: The logs that are to be added, ready for its model.
    """
    share = max((share_beyond(base, log) for log in logs), default=0.0)
    if share <= THRESHOLDS.beyond:
        return ""
    observed = base.model.observed
    return (
        f"has a log in which {_bodies(observed)} rest{'s' if len(observed.stands_on) == 1 else ''} otherwise (tilted, "
        "or in another place) than in the logs of the result that it adds to, whose base parameters cannot describe "
        f"{share:.1%} of it; identify all logs together, which finds those of both"
    )


def problem_of_rows(model: DynamicModel, log: Log | StoredLog) -> str:
    """Why a log cannot validate a result, of which it measures no row that the result predicts; or nothing."""
    if not model.robot.has_floating_base:
        return ""
    measured = FloatingBody(model).measured(log[:])
    if measured is None or measured.any():
        return ""
    return (
        f"measures nothing that the result predicts, which was identified {model.observed.text}; use a log in which "
        "that was measured"
    )


def share_beyond(base: BaseParameters, log: PreparedLog, parameters: Array | None = None) -> float:
    """Share of a log that base parameters cannot describe, because the robot stood elsewhere when they were found.

    Args:
        base: The base parameters.
        log: The log, ready for their model.
        parameters: Standard parameters of the robot, shape (parameters,); those of its file when None.

    Returns:
        Norm of what the left-out combinations of these parameters do to the measured rows, over that of all.
    """
    if not base.model.observed.stands_on:
        return 0.0
    names = base.model.names
    p = np.nan_to_num(base.model.reference if parameters is None else parameters)
    p[[names.index(name) for name in base.known]] = list(base.known.values())
    count = len(base.model.robot.parameters)  # links come first; friction shows in all stances alike
    sets = np.stack([p - base.to_standard(base.to_base(p)), p])[:, :count]
    model, squares = _links_alone(base.model), np.zeros(2)
    for segment in log.segments:
        chunk = loaded(segment)
        some = slice(None, None, max(1, len(chunk) // LOOKED_AT))
        rows = np.einsum("rsk,ck->csr", model.regressor(chunk.q[some], chunk.v[some], chunk.a[some]), sets)
        rows = rows if chunk.keep is None else rows * chunk.keep[some]
        squares += np.square(rows).sum(axis=(1, 2))
    return float(np.sqrt(squares[0] / squares[1])) if squares[1] > 0.0 else 0.0


def findings_on_stances(
    base: BaseParameters, links: Array | None, logs: Sequence[tuple[str, Log | StoredLog, PreparedLog]]
) -> Iterator[Finding]:
    """Findings on logs of other stances than the result's, and on what they measure beyond it.

    Args:
        base: The base parameters of the result.
        links: Its physical standard parameters, shape (parameters,), which describe every stance; None if it has none.
        logs: Held-out logs with their names.
    """
    observed, robot = base.model.observed, base.model.robot
    if not robot.has_floating_base:
        return
    for name, log, prepared in logs:
        share = share_beyond(base, prepared, links)
        if share > THRESHOLDS.beyond:
            severity = Severity.WARNING if links is None else Severity.NOTE
            values = {"log": name, "bodies": list(observed.stands_on), "share": share}
            yield Finding.of("validated-on-another-stance", "base parameters", severity, **values)
        more = [_WORDS[word] for word in observed_by([log[:]], robot).measured if word not in observed.measured]
        if more:
            used = [_WORDS[word] for word in observed.measured if word in _WORDS]
            yield Finding.of("log-measures-more", "validation", log=name, more=more, used=used)


@cache
def of_any_stance(model: DynamicModel) -> DynamicModel:
    """The model of a robot that may stand anywhere, or move: its rows keep what a stance leaves out."""
    if not model.observed.stands_on:
        return model
    return DynamicModel(model.robot, model.terms, replace(model.observed, stands_on=(), posture=()))


@cache
def _links_alone(model: DynamicModel) -> DynamicModel:
    """The model without friction, motors and offsets."""
    return DynamicModel(model.robot, (), model.observed)


def _contacts(log: Log | LogSource) -> Sequence[object] | None:
    return log.contacts if isinstance(log, Log) else log.contact


def _link_of(robot: Robot, body: str) -> int:
    """The link that a body belongs to: bodies that are welded together rest together."""
    return 0 if body == BASE else place_of_body(robot, body)[0]


def _named(log: Log | LogSource) -> str:
    return f"the log '{log.name}'" if log.name else "a log"


def _bodies(observed: Observed) -> str:
    return " and ".join(f"'{body}'" for body in observed.stands_on)
