"""`excite` for robots that stand on the ground: what options and experiment files ask for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.excitation import (
    BALANCE_TIME_LIMIT,
    BalancedExcitation,
    BalanceSettings,
    ExcitationSettings,
    excite_balanced,
)
from dynid.experiment import is_experiment, read_experiment
from dynid.identification.task import robot_of
from dynid.model import Term
from dynid.robot import Robot, as_robot
from dynid.settings import checked

_REFUSED = ("known", "segments", "block_triangular", "starts", "move")
"""Options of other designs that have no meaning here."""


def asks_for_balance(source: Robot | str | PathLike[str], options: dict[str, Any]) -> bool:
    """Whether the robot stands on the ground, and keeps its balance."""
    if options.get("stands_on") is not None:
        return True
    settings = options.get("settings")
    if settings is not None:
        return (settings.balance if isinstance(settings, ExcitationSettings) else settings.get("balance")) is not None
    if isinstance(source, Robot) or not is_experiment(source):
        return False
    return read_experiment(source, needs_logs=False).excitation.balance is not None


def excite_standing(
    source: Robot | str | PathLike[str],
    terms: str | Sequence[str | Term] = (),
    *,
    settings: ExcitationSettings | Mapping[str, Any] | None = None,
    lock: Mapping[str, float | None] | Iterable[str] = (),
    time_limit: float | None = None,
    seed: int = 0,
    exact_frames: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    **changes: Any,
) -> BalancedExcitation:
    """Design postures and motions between them for a robot that stands on the ground and keeps its balance.

    What is measured is the wrench between ground and robot, so terms of friction and motors have no part in it.

    Args:
        source: The robot: a path, `builtin:NAME`, or a loaded one; its base is left free. Or the path of an experiment
            file, whose `[excitation.balance]` says the rest.
        terms: None: they have no effect on the ground's wrench.
        settings: Keys of `[excitation]`, with a table `balance`.
        lock: Joints, by name or number, that are held still, with their positions [rad or m].
        time_limit: When choosing postures stops [s], with the best so far; 300 s when None.
        seed: Seed of everything random.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.
        progress: Callback; receives a short description of each step.
        changes: Keys of `[excitation.balance]`, such as `stands_on`, `identify`, `balance`, `margin` and `postures`;
            all others are keys of `[excitation]`, such as `velocity`.

    Raises:
        InvalidRequestError: If the robot cannot stand so, or what is asked for contradicts itself.
        NoBalanceError: If hardly any posture is in balance within the limits.
    """
    if terms:
        raise InvalidRequestError(
            "friction and motors act between links, and not on the ground: leave terms out of a design in balance"
        )
    odd = next((key for key in _REFUSED if changes.pop(key, None)), None)
    if odd is not None:
        raise InvalidRequestError(f"'{odd}' is not for designs in balance; leave it out, or leave out stands_on")
    of_balance = {key: changes.pop(key) for key in tuple(changes) if key in BalanceSettings.model_fields}
    if isinstance(of_balance.get("stands_on"), str):
        of_balance["stands_on"] = (of_balance["stands_on"],)
    stated = _as_dict(settings)
    if isinstance(source, Robot) or not is_experiment(source):
        robot = as_robot(source, lock=_held(source, lock), exact_frames=exact_frames)
    else:
        experiment = read_experiment(source, needs_logs=False)
        experiment = experiment.model_copy(update={"exact_frames": experiment.exact_frames or exact_frames})
        stated = {**experiment.excitation.model_dump(exclude_unset=True), **stated}
        robot = robot_of(experiment)
        robot = as_robot(robot, lock=_held(robot, lock))
    table = _as_dict(stated.pop("balance", None))
    table |= _given(of_balance)
    return excite_balanced(
        robot,
        table,
        settings=checked(ExcitationSettings, {**stated, **_given(changes), "balance": table}, "excitation"),
        time_limit=BALANCE_TIME_LIMIT if time_limit is None else time_limit,
        seed=seed,
        progress=progress,
    )


def _as_dict(settings: ExcitationSettings | BalanceSettings | Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys that are stated."""
    if settings is None or isinstance(settings, Mapping):
        return dict(settings or {})
    return settings.model_dump(exclude_unset=True)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _held(source: Robot | str | PathLike[str], lock: Mapping[str, float | None] | Iterable[str]) -> dict[str, float]:
    """Locked joints with their positions: at rest where none is stated."""
    wanted: dict[str, float | None] = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys(lock)
    robot = as_robot(source) if None in wanted.values() else None
    return {
        name: robot.joint(name).limits.rest if robot and at is None else float(at or 0.0) for name, at in wanted.items()
    }
