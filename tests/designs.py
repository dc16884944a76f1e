"""Exciting trajectories that tests share: each is designed once a process, since that takes seconds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import dynid
from dynid.excitation import design
from dynid.identification import requests

_FOUND: dict[str, Any] = {}
_PAGES: dict[int, tuple[Any, Any]] = {}


def design_once(patch: pytest.MonkeyPatch) -> None:
    """Let `excite` and `dynid excite` answer the same request for a built-in robot with the same trajectory.

    Robots of files are left out, since files change. What tests put in the place of `within_limits` makes it another
    request. The page of a trajectory is drawn once, too.
    """
    pages = import_module("dynid.report.trajectory_page")  # the room gives its function by that name
    by_command, by_robot, draw = requests.excite_experiment, dynid.excite, pages.trajectory_page

    def of_experiment(experiment: Any, known: Any = (), *, progress: Any = None, **options: Any) -> Any:
        def work() -> Any:
            return by_command(experiment, known, **({"progress": progress} if progress else {}), **options)

        return _once(f"{experiment!r} {options}", work) if _is_builtin(experiment.robot) and not known else work()

    def of_robot(robot: Any, *arguments: Any, **options: Any) -> Any:
        def work() -> Any:
            return by_robot(robot, *arguments, **options)

        source = f"{robot.description.source} {robot.locked}" if isinstance(robot, dynid.Robot) else str(robot)
        return _once(f"{source} {arguments} {options}", work) if _is_builtin(source) else work()

    def page(found: Any) -> Any:
        if id(found) not in _PAGES:
            _PAGES[id(found)] = found, draw(found)
        return _PAGES[id(found)][1]

    patch.setattr(pages, "trajectory_page", page)
    patch.setattr(requests, "excite_experiment", of_experiment)
    patch.setattr(dynid, "excite", of_robot)


def _is_builtin(source: str) -> bool:
    return source.startswith("builtin:")


def _once(key: str, work: Any) -> Any:
    key = f"{design.within_limits!r} {key}"
    if key not in _FOUND:
        _FOUND[key] = work()
    return _FOUND[key]
