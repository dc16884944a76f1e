"""A small result that was identified from commands, with numbers that are made up: what screens and reports show."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dynid import Log, Result, identify
from dynid.identification.records import (
    CommandParameter,
    CommandRecord,
    Confounded,
    DelayTrial,
    JointRollout,
    LogAgreement,
    RolloutRecord,
)
from dynid.identification.verdict import judge
from tests.commanded_logs import Controller, commanded_log, multisine
from tests.commanded_robots import slider

JOINTS = ("rail", "swing", "elbow")


def rollout(
    error: float = 0.002, *, command: float = 0.05, file: float | None = 0.01, ended: tuple[str, ...] = ()
) -> RolloutRecord:
    """Rollouts of a slider with a pendulum of two links: three joints with one and the same error."""
    joints = tuple(
        JointRollout(name=name, rmse=error, robot_file=file, command=command, unit="m" if k == 0 else "rad")
        for k, name in enumerate(JOINTS)
    )
    return RolloutRecord(rmse=error, joints=joints, robot_file=file, command=command, ended=ended)


def parameter(name: str, value: float, std: float, owner: str = "", unit: str = "", **more: object) -> CommandParameter:
    return CommandParameter.model_validate(
        {"name": name, "owner": owner, "unit": unit, "value": value, "std": std}
        | {"lower": value - 2.0 * std, "upper": value + 2.0 * std, **more}
    )


def commands(own: RolloutRecord | None = None, std: float = 0.01, bound: str = "") -> CommandRecord:
    """What was identified of it: all kinds of parameters, each with so large a standard deviation, in parts of it."""
    units = {"Ia": "kg m^2", "fv": "N m s/rad", "fs": "N m", "off": "N m", "bias": "rad or m"}
    states = {bound: "bound"}
    rows = [
        parameter(name, 0.1 * k, 0.1 * k * std, joint, unit, state=states.get(name, "determined"))
        for symbol, unit in units.items()
        for k, joint in enumerate(JOINTS, start=1)
        for name in (f"{symbol}{k}",)
    ]
    values = {row.name: row.value for row in rows if not row.name.startswith("bias")}
    trials = [DelayTrial(delay=1e-3 * k, rmse=1e-3 * (3 + abs(k - 2)), values=values) for k in range(5)]
    return CommandRecord(
        law="continuous",
        delay=7.3e-3,
        delay_std=7.3e-3 * std,
        kp=(800.0, 30.0, 15.0),
        kd=(40.0, 0.8, 0.4),
        bias=(0.0, 0.02, 0.02),
        parameters=(*rows, parameter("delay", 7.3e-3, 7.3e-3 * std, unit="s")),
        correlations=tuple(tuple(float(i == j) for j in range(16)) for i in range(16)),
        confounded=(Confounded(one="fv3", other="fs3", correlation=-0.95, slope=-2.0),),
        profile=tuple(trials),
        rollout=own or rollout(),
        agreement=(LogAgreement(name="log 0", share=0.95, worst="off1", standard_deviations=2.2),) * 2,
        output_error=True,
        iterations=3,
        regression_seconds=0.5,
        output_error_seconds=2.0,
    )


@cache
def small_logs() -> tuple[Log, ...]:
    """Two logs of two seconds, simulated with long steps."""
    robot = slider()
    return tuple(commanded_log(robot, Controller(), multisine(robot, k), 2.0, f"log {k}", 1e-3) for k in range(2))


@cache
def small_result() -> Result:
    """A result of one of them, by regression, that says what `commands` says."""
    logs = small_logs()
    found = identify(slider().robot, logs[:1], control={"output_error": False, "law": "continuous", "delay": 0.0073})
    record = found.record.model_copy(update={"commands": commands()})
    return replace(found, record=record.model_copy(update={"verdict": judge(record, ())}), findings=())
